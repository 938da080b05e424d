/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/field.h"
#include "base/ascii.h"

#define LENGTH_DIGITS 18 /* below 10^18: sums of two never overflow */

struct row {
	struct slice name; /* lower case; a whole name, or a prefix */
	unsigned bits;
};

#define NAME(text)                                      \
	{                                               \
		(const uint8_t *)text, sizeof(text) - 1 \
	}
#define WHOLE(text, bits)        \
	{                        \
		NAME(text), bits \
	}
#define ROW(text, bits) WHOLE(text, (bits)),
#define LENGTH(text, bits) sizeof(text) - 1,

/*
 * Of the forwarding kind is whatever some server or framework takes as the
 * name, path, scheme or address that a proxy before it saw.
 */
#define NAMES(X)                                                         \
	X("connection", FIELD_IS_HOP)                                    \
	X("keep-alive", FIELD_IS_HOP)                                    \
	X("te", FIELD_IS_HOP)                                            \
	X("trailer", FIELD_IS_HOP)                                       \
	X("upgrade", FIELD_IS_HOP)                                       \
	X("http2-settings", FIELD_IS_HOP)                                \
	X("transfer-encoding",                                           \
	    FIELD_IS_HOP | FIELD_IS_FRAMING | FIELD_IS_SINGLE |          \
		FIELD_IS_SINGLE_ANSWER)                                  \
	X("content-length",                                              \
	    FIELD_IS_FRAMING | FIELD_IS_SINGLE | FIELD_IS_SINGLE_ANSWER) \
	X("host", FIELD_IS_HOST | FIELD_IS_SINGLE)                       \
	X("forwarded", FIELD_IS_FORWARDED)                               \
	X("x-rewrite-url", FIELD_IS_FORWARDED)                           \
	X("x-host", FIELD_IS_FORWARDED)                                  \
	X("x-http-host-override", FIELD_IS_FORWARDED)                    \
	X("x-url-scheme", FIELD_IS_FORWARDED)                            \
	X("x-scheme", FIELD_IS_FORWARDED)                                \
	X("front-end-https", FIELD_IS_FORWARDED)                         \
	X("x-real-ip", FIELD_IS_FORWARDED)                               \
	X("x-client-ip", FIELD_IS_FORWARDED)                             \
	X("client-ip", FIELD_IS_FORWARDED)                               \
	X("true-client-ip", FIELD_IS_FORWARDED)                          \
	X("cf-connecting-ip", FIELD_IS_FORWARDED)                        \
	X("fastly-client-ip", FIELD_IS_FORWARDED)                        \
	X("x-cluster-client-ip", FIELD_IS_FORWARDED)                     \
	X("x-remote-ip", FIELD_IS_FORWARDED)                             \
	X("x-remote-addr", FIELD_IS_FORWARDED)                           \
	X("x-proxyuser-ip", FIELD_IS_FORWARDED)                          \
	X("x-http-method", FIELD_IS_OVERRIDE)                            \
	X("x-http-method-override", FIELD_IS_OVERRIDE)                   \
	X("x-method-override", FIELD_IS_OVERRIDE)                        \
	X("alt-svc", FIELD_IS_ALT_SVC)                                   \
	X("alt-used", FIELD_IS_ALT_SVC)                                  \
	X("content-type", FIELD_IS_SINGLE | FIELD_IS_SINGLE_ANSWER)      \
	X("content-range", FIELD_IS_SINGLE | FIELD_IS_SINGLE_ANSWER)     \
	X("authorization", FIELD_IS_SINGLE)                              \
	X("proxy-authorization", FIELD_IS_PROXY | FIELD_IS_SINGLE)       \
	X("x-api-key", FIELD_IS_SINGLE)                                  \
	X("api-key", FIELD_IS_SINGLE)                                    \
	X("x-goog-api-key", FIELD_IS_SINGLE)                             \
	X("x-auth-token", FIELD_IS_SINGLE)                               \
	X("private-token", FIELD_IS_SINGLE)                              \
	X("job-token", FIELD_IS_SINGLE)                                  \
	X("ocp-apim-subscription-key", FIELD_IS_SINGLE)                  \
	X("expect", FIELD_IS_SINGLE)                                     \
	X("range", FIELD_IS_SINGLE)                                      \
	X("if-range", FIELD_IS_SINGLE)                                   \
	X("if-modified-since", FIELD_IS_SINGLE)                          \
	X("if-unmodified-since", FIELD_IS_SINGLE)                        \
	X("max-forwards", FIELD_IS_SINGLE)                               \
	X("user-agent", FIELD_IS_SINGLE)                                 \
	X("referer", FIELD_IS_SINGLE)                                    \
	X("origin", FIELD_IS_SINGLE)                                     \
	X("date", FIELD_IS_SINGLE)                                       \
	X("from", FIELD_IS_SINGLE)

static const struct row names[] = { NAMES(ROW) };

/* Of the same rows: most names of a head have a length that few rows have. */
static const uint8_t lengths[] = { NAMES(LENGTH) };

static const struct row prefixes[] = {
	WHOLE("proxy-", FIELD_IS_PROXY),
	WHOLE("x-forwarded-", FIELD_IS_FORWARDED),
	WHOLE("x-original-", FIELD_IS_FORWARDED),
};

static enum parse
bad(struct parse_fail *fail, const char *detail, size_t at)
{
	*fail = (struct parse_fail){ REASON_HTTP_MALFORMED, detail, at };
	return PARSE_BAD;
}

/* `name` begins with the row's text, case ignored, `_` read as `-`. */
static bool
begins_with(struct slice name, struct slice text)
{
	if (name.n < text.n)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		uint8_t c = ascii_lower(name.p[i]);
		if ((c == '_' ? '-' : c) != text.p[i])
			return false;
	}
	return true;
}

unsigned
field_class(struct slice name)
{
	const uint8_t *at = lengths, *end = lengths + COUNT_OF(lengths);

	for (; name.n <= UINT8_MAX; at++) {
		at = memchr(at, (int)name.n, (size_t)(end - at));
		if (at == NULL)
			break;
		if (begins_with(name, names[at - lengths].name))
			return names[at - lengths].bits;
	}
	for (size_t i = 0; i < COUNT_OF(prefixes); i++)
		if (begins_with(name, prefixes[i].name))
			return prefixes[i].bits;
	return 0;
}

bool
field_may_trail(struct slice name, bool of_answer)
{
	static const struct slice never[] = { NAME("authorization"),
		NAME("cookie"), NAME("set-cookie"), NAME("www-authenticate"),
		NAME("content-encoding"), NAME("content-location"),
		NAME("cache-control"), NAME("pragma"), NAME("age"),
		NAME("expires"), NAME("date"), NAME("location"),
		NAME("retry-after"), NAME("vary"), NAME("warning") };
	unsigned bits = FIELD_IS_HOP | FIELD_IS_PROXY | FIELD_IS_FORWARDED |
	    FIELD_IS_OVERRIDE | FIELD_IS_ALT_SVC | FIELD_IS_FRAMING |
	    FIELD_IS_HOST;

	bits |= of_answer ? FIELD_IS_SINGLE_ANSWER : FIELD_IS_SINGLE;
	if (field_class(name) & bits || begins_with(name, SLICE("if-")))
		return false;
	for (size_t i = 0; i < COUNT_OF(never); i++)
		if (name.n == never[i].n && begins_with(name, never[i]))
			return false;
	return true;
}

/* Inline here: each byte of a head is asked about. */
static inline bool
is_token_char(uint8_t c)
{
	static const char marks[] = { '!', '#', '$', '%', '&', '\'', '*', '+',
		'-', '.', '^', '_', '`', '|', '~' };

	return ascii_is_alnum(c) || c == '-' ||
	    memchr(marks, c, sizeof(marks)) != NULL;
}

static inline bool
is_value_char(uint8_t c)
{
	return c == '\t' || (c >= ' ' && c != 0x7f);
}

bool
field_is_token_char(uint8_t c)
{
	return is_token_char(c);
}

bool
field_is_token(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!field_is_token_char(s.p[i]))
			return false;
	return s.n != 0;
}

bool
field_is_value_char(uint8_t c)
{
	return is_value_char(c);
}

bool
field_is_ascii(struct slice value)
{
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] >= 0x80)
			return false;
	return true;
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

static struct slice
trim(struct slice s)
{
	while (s.n != 0 && is_blank(s.p[0]))
		s = slice_from(s, 1);
	while (s.n != 0 && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

/* The name and its colon; `n` is set to the bytes of the name. */
static enum parse
take_name(struct slice in, size_t *n, struct parse_fail *fail)
{
	size_t i = 0;

	while (i < in.n && is_token_char(in.p[i]))
		i++;
	if (i == in.n)
		return PARSE_MORE;
	if (i == 0 && is_blank(in.p[0]))
		return bad(fail, "folded line", 0);
	if (is_blank(in.p[i]))
		return bad(fail, "blank in or behind a field name", i);
	if (in.p[i] == '\r' || in.p[i] == '\n')
		return bad(fail, "line without a colon", i);
	if (in.p[i] != ':')
		return bad(fail, "byte that no field name has", i);
	if (i == 0)
		return bad(fail, "empty field name", 0);
	*n = i;
	return PARSE_DONE;
}

enum parse
field_take(struct slice in, struct field *f, size_t *used,
    struct parse_fail *fail)
{
	size_t name;
	enum parse answer = take_name(in, &name, fail);

	if (answer != PARSE_DONE)
		return answer;
	size_t end = name + 1;
	while (end < in.n && is_value_char(in.p[end]))
		end++;
	if (end == in.n)
		return PARSE_MORE;
	if (in.p[end] == '\n')
		return bad(fail, "bare LF", end);
	if (in.p[end] != '\r')
		return bad(fail, "control in a field value", end);
	if (end + 1 == in.n)
		return PARSE_MORE;
	if (in.p[end + 1] != '\n')
		return bad(fail, "bare CR", end);
	f->name = slice_first(in, name);
	f->value = trim(slice_of(in.p + name + 1, end - name - 1));
	*used = end + 2;
	return PARSE_DONE;
}

bool
field_add(struct field_list *list, struct slice name, struct slice value)
{
	if (list->n == FIELD_MAX)
		return false;
	list->at[list->n++] = (struct field){ .name = name, .value = value };
	return true;
}

struct field *
field_find(struct field_list *list, struct slice name)
{
	for (size_t i = 0; i < list->n; i++)
		if (ascii_eq_fold(list->at[i].name, name))
			return &list->at[i];
	return NULL;
}

size_t
field_count(const struct field_list *list, struct slice name)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		n += ascii_eq_fold(list->at[i].name, name);
	return n;
}

size_t
field_remove(struct field_list *list, struct slice name)
{
	size_t kept = 0, before = list->n;

	for (size_t i = 0; i < list->n; i++)
		if (!ascii_eq_fold(list->at[i].name, name))
			list->at[kept++] = list->at[i];
	list->n = kept;
	return before - kept;
}

static enum parse
misframed(struct parse_fail *fail, const char *detail, size_t at)
{
	*fail = (struct parse_fail){ REASON_HTTP_FRAMING, detail, at };
	return PARSE_BAD;
}

enum parse
field_check(struct slice in, const struct field_list *list, unsigned single,
    struct parse_fail *fail)
{
	for (size_t i = 0; i < list->n; i++) {
		struct slice name = list->at[i].name;
		unsigned bits = field_class(name);
		size_t at = (size_t)(name.p - in.p);
		if (bits & FIELD_IS_FRAMING &&
		    memchr(name.p, '_', name.n) != NULL)
			return misframed(fail, "name like a framing field", at);
		if (!(bits & single))
			continue;
		for (size_t j = 0; j < i; j++) {
			if (!ascii_eq_fold(list->at[j].name, name))
				continue;
			(void)bad(fail, "field that may stand once", at);
			if (bits & FIELD_IS_FRAMING)
				fail->reason = REASON_HTTP_FRAMING;
			return PARSE_BAD;
		}
	}
	return PARSE_DONE;
}

enum parse
field_length(struct slice in, struct slice value, uint64_t *length,
    struct parse_fail *fail)
{
	uint64_t v = 0;
	size_t at = (size_t)(value.p - in.p);

	if (value.n == 0)
		return misframed(fail, "empty length", at);
	for (size_t i = 0; i < value.n; i++) {
		if (!ascii_is_digit(value.p[i]))
			return misframed(fail, "length is not a number",
			    at + i);
		if (i >= LENGTH_DIGITS + 1)
			return misframed(fail, "length out of range", at);
		v = v * 10 + (uint64_t)(value.p[i] - '0');
	}
	if (value.n > 1 && value.p[0] == '0')
		return misframed(fail, "length begins with a zero", at);
	if (v > INT64_MAX)
		return misframed(fail, "length out of range", at);
	*length = v;
	return PARSE_DONE;
}

bool
field_take_element(struct slice *rest, struct slice *element)
{
	while (rest->n != 0) {
		size_t n = 0;
		while (n < rest->n && rest->p[n] != ',')
			n++;
		*element = trim(slice_first(*rest, n));
		*rest = slice_from(*rest, n + 1);
		if (element->n != 0)
			return true;
	}
	return false;
}

bool
field_is_named(const struct field_list *list, struct slice name)
{
	for (size_t i = 0; i < list->n; i++) {
		struct slice rest = list->at[i].value, element;
		if (!ascii_eq_fold(list->at[i].name, SLICE("connection")))
			continue;
		while (field_take_element(&rest, &element))
			if (ascii_eq_fold(element, name))
				return true;
	}
	return false;
}

void
field_remove_named(struct field_list *list)
{
	size_t kept = 0, n = list->n;

	/* What names them is kept until the end. */
	for (size_t i = 0; i < n; i++)
		if (ascii_eq_fold(list->at[i].name, SLICE("connection")) ||
		    !field_is_named(list, list->at[i].name))
			list->at[kept++] = list->at[i];
	list->n = kept;
	field_remove(list, SLICE("connection"));
}

bool
field_wants_trailers(const struct field_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct slice rest = list->at[i].value, element;
		if (!ascii_eq_fold(list->at[i].name, SLICE("te")))
			continue;
		while (field_take_element(&rest, &element))
			if (ascii_eq_fold(element, SLICE("trailers")))
				return true;
	}
	return false;
}

/* The next field `Trailer` of this hop's message, not of this hop alone. */
static bool
take_trailer_field(const struct field_list *list, struct field_walk *walk)
{
	while (walk->next < list->n) {
		const struct field *f = &list->at[walk->next++];
		if (!ascii_eq_fold(f->name, SLICE("trailer")) ||
		    field_is_named(list, f->name))
			continue;
		walk->rest = f->value;
		return true;
	}
	return false;
}

bool
field_take_announced(const struct field_list *list, struct field_walk *walk,
    bool of_answer, struct slice *name)
{
	do {
		while (field_take_element(&walk->rest, name))
			if (field_is_token(*name) &&
			    field_may_trail(*name, of_answer))
				return true;
	} while (take_trailer_field(list, walk));
	return false;
}

void
field_put_name(struct slice name, uint8_t *out)
{
	bool begin = true;

	for (size_t i = 0; i < name.n; i++) {
		out[i] =
		    begin ? ascii_upper(name.p[i]) : ascii_lower(name.p[i]);
		begin = name.p[i] == '-';
	}
}
