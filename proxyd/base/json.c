/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>

#include "base/json.h"

void
json_init(struct json *j, struct buf *out)
{
	*j = (struct json){ .out = out };
}

static void
before_value(struct json *j)
{
	if (j->after_key)
		j->after_key = false;
	else if (j->more[j->depth])
		buf_put_byte(j->out, ',');
	j->more[j->depth] = true;
}

static void
open_with(struct json *j, uint8_t c)
{
	before_value(j);
	buf_put_byte(j->out, c);
	assert(j->depth + 1 < JSON_DEPTH_MAX);
	j->more[++j->depth] = false;
}

static void
close_with(struct json *j, uint8_t c)
{
	assert(j->depth > 0);
	j->depth--;
	buf_put_byte(j->out, c);
}

void
json_object_begin(struct json *j)
{
	open_with(j, '{');
}

void
json_object_end(struct json *j)
{
	close_with(j, '}');
}

void
json_array_begin(struct json *j)
{
	open_with(j, '[');
}

void
json_array_end(struct json *j)
{
	close_with(j, ']');
}

/* Length of the valid UTF-8 sequence at the front, 0 if there is none. */
static size_t
utf8_length(struct slice s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint8_t c = s.p[0];
	size_t n = c < 0x80 ? 1 :
	    c >> 5 == 6	    ? 2 :
	    c >> 4 == 14    ? 3 :
	    c >> 3 == 30    ? 4 :
			      0;

	if (n <= 1 || n > s.n)
		return n <= 1 ? n : 0;
	uint32_t v = c & (0xffU >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((s.p[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (s.p[i] & 0x3f);
	}
	if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return 0;
	/* C1 controls, line and paragraph separators, and the signs that turn
	 * the direction of writing would change how a terminal shows a line. */
	if (v < 0xa0 || (v >= 0x2028 && v <= 0x202e) ||
	    (v >= 0x2066 && v <= 0x2069))
		return 0;
	return n;
}

static void
put_escaped(struct buf *out, uint8_t c)
{
	switch (c) {
	case '"':
	case '\\':
		buf_put_byte(out, '\\');
		buf_put_byte(out, c);
		break;
	case '\n':
		buf_put_str(out, "\\n");
		break;
	case '\r':
		buf_put_str(out, "\\r");
		break;
	case '\t':
		buf_put_str(out, "\\t");
		break;
	default:
		buf_putf(out, "\\u%04x", c);
	}
}

static void
put_string(struct json *j, struct slice s)
{
	buf_put_byte(j->out, '"');
	while (s.n != 0) {
		uint8_t c = s.p[0];
		size_t n = utf8_length(s);
		if (n == 0 || c < 0x20 || c == 0x7f || c == '"' || c == '\\') {
			put_escaped(j->out, c);
			n = 1;
		} else {
			buf_put(j->out, slice_first(s, n));
		}
		s = slice_from(s, n);
	}
	buf_put_byte(j->out, '"');
}

void
json_key(struct json *j, const char *key)
{
	before_value(j);
	put_string(j, slice_of_str(key));
	buf_put_byte(j->out, ':');
	j->after_key = true;
}

void
json_text(struct json *j, struct slice s)
{
	before_value(j);
	put_string(j, s);
}

void
json_str(struct json *j, const char *s)
{
	json_text(j, slice_of_str(s));
}

void
json_number(struct json *j, uint64_t v)
{
	before_value(j);
	buf_putf(j->out, "%" PRIu64, v);
}

void
json_bool(struct json *j, bool v)
{
	before_value(j);
	buf_put_str(j->out, v ? "true" : "false");
}

void
json_none(struct json *j)
{
	before_value(j);
	buf_put_str(j->out, "null");
}

void
json_made(struct json *j, struct slice value)
{
	before_value(j);
	buf_put(j->out, value);
}

void
json_key_text(struct json *j, const char *key, struct slice s)
{
	json_key(j, key);
	json_text(j, s);
}

void
json_key_str(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_str(j, s);
}

void
json_key_number(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_number(j, v);
}

void
json_key_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}
