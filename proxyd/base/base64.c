/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"
#include "base/ascii.h"

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t
base64_encode(struct slice in, char *out)
{
	size_t o = 0;

	for (size_t i = 0; i < in.n; i += 3) {
		size_t left = in.n - i;
		uint32_t v = (uint32_t)in.p[i] << 16;
		if (left > 1)
			v |= (uint32_t)in.p[i + 1] << 8;
		if (left > 2)
			v |= in.p[i + 2];
		out[o++] = digits[v >> 18];
		out[o++] = digits[v >> 12 & 63];
		out[o++] = left > 1 ? digits[v >> 6 & 63] : '=';
		out[o++] = left > 2 ? digits[v & 63] : '=';
	}
	return o;
}

static int
value(uint8_t c)
{
	if (ascii_is_upper(c))
		return c - 'A';
	if (ascii_is_lower(c))
		return c - 'a' + 26;
	if (ascii_is_digit(c))
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool
base64_decode(struct slice in, uint8_t *out, size_t *n)
{
	size_t pad = 0, o = 0;

	if (in.n % 4 != 0)
		return false;
	while (pad < 2 && pad < in.n && in.p[in.n - 1 - pad] == '=')
		pad++;
	for (size_t i = 0; i < in.n; i += 4) {
		uint32_t v = 0;
		size_t skip = i + 4 == in.n ? pad : 0;
		for (size_t j = 0; j < 4; j++) {
			int d = j < 4 - skip ? value(in.p[i + j]) : 0;
			if (d < 0)
				return false;
			v = v << 6 | (uint32_t)d;
		}
		/* Bits that the padding leaves over must be zero. */
		if ((skip == 1 && (v & 0xff) != 0) ||
		    (skip == 2 && (v & 0xffff) != 0))
			return false;
		for (size_t j = 0; j < 3 - skip; j++)
			out[o++] = (uint8_t)(v >> (16 - 8 * j));
	}
	*n = o;
	return true;
}
