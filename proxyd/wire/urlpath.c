/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/urlpath.h"
#include "base/ascii.h"

/* Where we are in a character of several escaped bytes (RFC 3629 section 4). */
struct utf8 {
	unsigned left;	   /* continuation bytes to come */
	uint8_t low, high; /* range of the next one */
};

static enum parse
bad(struct parse_fail *fail, const char *detail, size_t at)
{
	*fail = (struct parse_fail){ REASON_HTTP_PATH_INVALID, detail, at };
	return PARSE_BAD;
}

static bool
is_unreserved(uint8_t c)
{
	return ascii_is_alnum(c) || c == '-' || c == '.' || c == '_' ||
	    c == '~';
}

static bool
utf8_begin(struct utf8 *u, uint8_t c)
{
	*u = (struct utf8){ .low = 0x80, .high = 0xbf };
	if (c < 0x80)
		return true;
	if (c >= 0xc2 && c <= 0xdf) {
		u->left = 1;
	} else if (c >= 0xe0 && c <= 0xef) {
		u->left = 2;
		if (c == 0xe0)
			u->low = 0xa0; /* shorter forms exist */
		else if (c == 0xed)
			u->high = 0x9f; /* surrogates */
	} else if (c >= 0xf0 && c <= 0xf4) {
		u->left = 3;
		if (c == 0xf0)
			u->low = 0x90;
		else if (c == 0xf4)
			u->high = 0x8f; /* above U+10FFFF */
	} else {
		return false;
	}
	return true;
}

/* Take one decoded byte; false if it cannot stand here. */
static bool
utf8_take(struct utf8 *u, uint8_t c)
{
	if (u->left == 0)
		return utf8_begin(u, c);
	if (c < u->low || c > u->high)
		return false;
	u->left--;
	u->low = 0x80;
	u->high = 0xbf;
	return true;
}

/* The escape at `at`; -1 if there are no two hex digits behind the sign. */
static int
escape_at(struct slice in, size_t at)
{
	if (in.n - at < 3)
		return -1;
	int high = ascii_hex(in.p[at + 1]), low = ascii_hex(in.p[at + 2]);
	return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Why the byte may not stand in a path, or NULL. */
static const char *
byte_fault(uint8_t c, bool escaped)
{
	if (c == '\\')
		return "backslash";
	if (c < 0x20 || c == 0x7f)
		return "control";
	if (escaped)
		return NULL;
	if (c == ' ' || c >= 0x80)
		return "byte that must be escaped";
	if (c == '#' || c == '?')
		return "end of a path inside of it";
	return NULL;
}

static size_t
put_escape(uint8_t *out, uint8_t c)
{
	static const char hex[] = "0123456789ABCDEF";

	out[0] = '%';
	out[1] = (uint8_t)hex[c >> 4];
	out[2] = (uint8_t)hex[c & 15];
	return 3;
}

/* First pass: bytes and escapes.  Sets the length of `path`, judges no dots. */
static enum parse
decode(struct slice in, uint8_t *out, struct urlpath *path,
    struct parse_fail *fail)
{
	struct utf8 utf8 = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < in.n; i++) {
		bool escaped = in.p[i] == '%';
		int value = escaped ? escape_at(in, i) : in.p[i];
		if (value < 0)
			return bad(fail, "escape without two hex digits", i);
		uint8_t c = (uint8_t)value;
		const char *fault = byte_fault(c, escaped);
		if (fault != NULL)
			return bad(fail, fault, i);
		if (!utf8_take(&utf8, c))
			return bad(fail, "escapes are not UTF-8", i);
		if (escaped && !is_unreserved(c))
			n += put_escape(out + n, c);
		else
			out[n++] = c;
		i += escaped ? 2 : 0;
	}
	if (utf8.left != 0)
		return bad(fail, "escapes are not UTF-8", in.n);
	path->text = slice_of(out, n);
	return PARSE_DONE;
}

/* "." or "..", with or without parameters: some servers strip those first. */
static bool
is_dot_segment(struct slice s)
{
	size_t dots = 0;

	while (dots < s.n && s.p[dots] == '.')
		dots++;
	if (dots == 0 || dots > 2)
		return false;
	struct slice rest = slice_from(s, dots);
	return rest.n == 0 || rest.p[0] == ';' ||
	    slice_has_prefix(rest, SLICE("%3B"));
}

/* Second pass, over the canonical text; offsets in `fail` are of that text. */
static enum parse
check_segments(struct slice t, struct parse_fail *fail)
{
	for (size_t from = 1; from <= t.n;) {
		size_t to = from;
		while (to < t.n && t.p[to] != '/')
			to++;
		struct slice segment = { t.p + from, to - from };
		/* Only what follows the last slash may be empty. */
		if (segment.n == 0 && to < t.n)
			return bad(fail, "empty segment", from);
		if (is_dot_segment(segment))
			return bad(fail, "dot segment", from);
		from = to + 1;
	}
	return PARSE_DONE;
}

enum parse
urlpath_canon(struct slice in, size_t max, uint8_t *out, struct urlpath *path,
    struct parse_fail *fail)
{
	struct urlpath p = { 0 };

	if (in.n > max) {
		*fail = (struct parse_fail){ REASON_LIMIT_BYTES,
			URLPATH_TOO_LONG, max };
		return PARSE_BAD;
	}
	if (in.n == 0 || in.p[0] != '/')
		return bad(fail, "path does not begin with a slash", 0);
	if (decode(in, out, &p, fail) != PARSE_DONE ||
	    check_segments(p.text, fail) != PARSE_DONE)
		return PARSE_BAD;
	p.has_encoded_slash = urlpath_has_encoded_slash(p.text);
	p.has_encoded_dots = urlpath_has_encoded_dots(p.text);
	*path = p;
	return PARSE_DONE;
}

static bool
is_encoded_slash(struct slice t, size_t at)
{
	return slice_has_prefix(slice_from(t, at), SLICE("%2F"));
}

bool
urlpath_has_encoded_slash(struct slice canonical)
{
	for (size_t i = 0; i < canonical.n; i++)
		if (is_encoded_slash(canonical, i))
			return true;
	return false;
}

/* Both kinds of slash end a part here, as for an origin that decodes first. */
bool
urlpath_has_encoded_dots(struct slice canonical)
{
	size_t from = 0;

	for (size_t i = 0; i < canonical.n; i++) {
		bool escaped = is_encoded_slash(canonical, i);
		if (!escaped && canonical.p[i] != '/')
			continue;
		struct slice part = { canonical.p + from, i - from };
		if (is_dot_segment(part))
			return true;
		i += escaped ? 2 : 0;
		from = i + 1;
	}
	return is_dot_segment(slice_from(canonical, from));
}

int
urlpath_take_char(struct slice *rest)
{
	if (rest->n == 0)
		return -1;
	int c = rest->p[0];
	size_t n = 1;
	if (c == '%' && escape_at(*rest, 0) >= 0) {
		c = escape_at(*rest, 0);
		n = 3;
		if (c == '/')
			c = URLPATH_ENCODED_SLASH;
	}
	*rest = slice_from(*rest, n);
	return c;
}
