/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/query.h"
#include "base/ascii.h"

static enum parse
bad(struct parse_fail *fail, const char *detail, size_t at)
{
	*fail = (struct parse_fail){ REASON_HTTP_PATH_INVALID, detail, at };
	return PARSE_BAD;
}

/* The escape at the front of `in`; -1 if none is whole there. */
static int
escape(struct slice in)
{
	if (in.n < 3 || in.p[0] != '%')
		return -1;
	int high = ascii_hex(in.p[1]), low = ascii_hex(in.p[2]);
	return high < 0 || low < 0 ? -1 : high * 16 + low;
}

enum parse
query_check(struct slice in, struct parse_fail *fail)
{
	for (size_t i = 0; i < in.n; i++) {
		uint8_t c = in.p[i];
		if (c <= ' ' || c >= 0x7f)
			return bad(fail, "byte that must be escaped", i);
		if (c == '#' || c == '\\')
			return bad(fail, "byte that no query has", i);
		if (c != '%')
			continue;
		int value = escape(slice_from(in, i));
		if (value < 0)
			return bad(fail, "escape without two hex digits", i);
		/* Origins in C would cut the value there. */
		if (value == 0)
			return bad(fail, "escaped NUL", i);
	}
	return PARSE_DONE;
}

static size_t
find_byte(struct slice in, uint8_t c)
{
	size_t n = 0;

	while (n < in.n && in.p[n] != c)
		n++;
	return n;
}

bool
query_take(struct slice *rest, struct query_pair *pair)
{
	while (rest->n != 0) {
		size_t n = find_byte(*rest, '&');
		struct slice whole = slice_first(*rest, n);
		*rest = slice_from(*rest, n + 1);
		if (whole.n == 0)
			continue;
		size_t equals = find_byte(whole, '=');
		*pair = (struct query_pair){
			.key = slice_first(whole, equals),
			.value = slice_from(whole, equals + 1),
			.has_value = equals < whole.n,
		};
		return true;
	}
	return false;
}

int
query_take_char(struct slice *rest)
{
	if (rest->n == 0)
		return -1;
	int c = escape(*rest);
	size_t n = c < 0 ? 1 : 3;
	if (c < 0)
		c = rest->p[0] == '+' ? ' ' : rest->p[0];
	*rest = slice_from(*rest, n);
	return c;
}

bool
query_eq(struct slice a, struct slice b)
{
	int c;

	do {
		c = query_take_char(&a);
		if (c != query_take_char(&b))
			return false;
	} while (c >= 0);
	return true;
}

static bool
is_unreserved(int c)
{
	return c >= 0 && c < 0x80 &&
	    (ascii_is_alnum((uint8_t)c) || c == '-' || c == '.' || c == '_' ||
		c == '~');
}

bool
query_is_fold(struct slice raw, struct slice plain)
{
	for (size_t i = 0; i < plain.n; i++) {
		int c = query_take_char(&raw);
		if (c < 0 || ascii_lower((uint8_t)c) != ascii_lower(plain.p[i]))
			return false;
	}
	return raw.n == 0;
}

void
query_put_pair(struct wr *w, const struct query_pair *pair)
{
	if (w->n != 0)
		wr_u8(w, '&');
	wr_bytes(w, pair->key);
	if (pair->has_value) {
		wr_u8(w, '=');
		wr_bytes(w, pair->value);
	}
}

static void
put_escaped(struct wr *w, struct slice text)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < text.n; i++) {
		uint8_t c = text.p[i];
		if (is_unreserved(c)) {
			wr_u8(w, c);
			continue;
		}
		wr_u8(w, '%');
		wr_u8(w, (uint8_t)hex[c >> 4]);
		wr_u8(w, (uint8_t)hex[c & 15]);
	}
}

void
query_put(struct wr *w, struct slice name, struct slice value)
{
	put_escaped(w, name);
	wr_u8(w, '=');
	put_escaped(w, value);
}

static size_t
escaped_size(struct slice text)
{
	size_t n = text.n;

	for (size_t i = 0; i < text.n; i++)
		n += is_unreserved(text.p[i]) ? 0 : 2;
	return n;
}

size_t
query_put_size(struct slice name, struct slice value)
{
	return escaped_size(name) + 1 + escaped_size(value);
}

bool
query_is(struct slice raw, struct slice plain)
{
	for (size_t i = 0; i < plain.n; i++)
		if (query_take_char(&raw) != plain.p[i])
			return false;
	return raw.n == 0;
}

bool
query_is_canonical(struct slice raw)
{
	for (size_t i = 0; i < raw.n; i++) {
		int value = escape(slice_from(raw, i));
		if (value < 0) {
			if (!is_unreserved(raw.p[i]))
				return false;
			continue;
		}
		if (is_unreserved(value) || ascii_is_lower(raw.p[i + 1]) ||
		    ascii_is_lower(raw.p[i + 2]))
			return false;
		i += 2;
	}
	return true;
}

size_t
query_count(struct slice query, struct slice plain_key)
{
	struct query_pair pair;
	size_t n = 0;

	while (query_take(&query, &pair))
		n += query_is(pair.key, plain_key);
	return n;
}
