/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/escape.h"
#include "base/ascii.h"
#include "base/utf8.h"

#define BYTE_BASE 0xef00U /* OPTU: a byte b of 0x80.. that is no UTF-8 */
#define BYTE_FIRST 0xef80U
#define BYTE_LAST 0xefffU

#define SURROGATE_HIGH 0xd800U
#define SURROGATE_LOW 0xdc00U
#define SURROGATE_END 0xe000U

static void
put_unit(struct buf *out, uint32_t v)
{
	buf_putf(out, "\\u%04x", v);
}

static void
put_ascii(struct buf *out, uint8_t c)
{
	if (c == '"' || c == '\\')
		buf_put_byte(out, '\\');
	if (c < 0x20 || c == 0x7f)
		put_unit(out, c);
	else
		buf_put_byte(out, c);
}

void
escape_put(struct buf *out, struct slice text)
{
	while (text.n != 0) {
		uint32_t v;
		size_t n = ascii_plain(text);
		if (n != 0) {
			buf_put(out, slice_first(text, n));
			text = slice_from(text, n);
			continue;
		}
		bool valid = utf8_first(text, &v, &n);
		if (!valid || (v >= BYTE_FIRST && v <= BYTE_LAST)) {
			put_unit(out, BYTE_BASE | text.p[0]);
			n = 1;
		} else if (v < 0x80) {
			put_ascii(out, text.p[0]);
		} else if (v < 0x10000) {
			put_unit(out, v);
		} else {
			put_unit(out, SURROGATE_HIGH + ((v - 0x10000) >> 10));
			put_unit(out, SURROGATE_LOW + ((v - 0x10000) & 0x3ff));
		}
		text = slice_from(text, n);
	}
}

/* Four digits behind `\u`. */
static bool
take_unit(struct slice *in, uint32_t *v)
{
	if (in->n < 6 || in->p[0] != '\\' || in->p[1] != 'u')
		return false;
	*v = 0;
	for (size_t i = 2; i < 6; i++) {
		int digit = ascii_hex(in->p[i]);
		if (digit < 0)
			return false;
		*v = *v << 4 | (uint32_t)digit;
	}
	*in = slice_from(*in, 6);
	return true;
}

static size_t
put_utf8(uint8_t *out, uint32_t v)
{
	size_t n = v < 0x80 ? 1 : v < 0x800 ? 2 : v < 0x10000 ? 3 : 4;
	static const uint8_t head[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = n; i-- > 1; v >>= 6)
		out[i] = (uint8_t)(0x80 | (v & 0x3f));
	out[0] = (uint8_t)(head[n] | v);
	return n;
}

/* One character written as \uXXXX or two of them. */
static bool
take_escaped(struct slice *in, uint8_t *out, size_t *n)
{
	uint32_t v, low;

	if (!take_unit(in, &v))
		return false;
	if (v >= BYTE_FIRST && v <= BYTE_LAST) {
		out[(*n)++] = (uint8_t)v;
		return true;
	}
	if (v >= SURROGATE_HIGH && v < SURROGATE_END) {
		if (v >= SURROGATE_LOW || !take_unit(in, &low) ||
		    low < SURROGATE_LOW || low >= SURROGATE_END)
			return false;
		v = 0x10000 + ((v - SURROGATE_HIGH) << 10) +
		    (low - SURROGATE_LOW);
	}
	*n += put_utf8(out + *n, v);
	return true;
}

bool
escape_take(struct slice *in, uint8_t *out, size_t *n)
{
	*n = 0;
	while (in->n != 0) {
		uint8_t c = in->p[0];
		if (c == '"') {
			*in = slice_from(*in, 1);
			return true;
		}
		if (c < 0x20 || c >= 0x7f)
			return false;
		if (c == '\\' && in->n > 1 && in->p[1] == 'u') {
			if (!take_escaped(in, out, n))
				return false;
			continue;
		}
		size_t used = 1;
		if (c == '\\') {
			if (in->n < 2 || (in->p[1] != '"' && in->p[1] != '\\'))
				return false;
			used = 2;
		}
		out[(*n)++] = in->p[used - 1];
		*in = slice_from(*in, used);
	}
	return false;
}

void
escape_show(struct buf *out, struct slice text)
{
	while (text.n != 0) {
		uint32_t v;
		size_t n;
		if (utf8_first(text, &v, &n) && utf8_is_tame(v)) {
			buf_put(out, slice_first(text, n));
		} else {
			buf_putf(out, "\\x%02x", text.p[0]);
			n = 1;
		}
		text = slice_from(text, n);
	}
}
