/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#define SURROGATE_FIRST 0xd800U
#define SURROGATE_END 0xe000U

bool
utf8_first(struct slice s, uint32_t *v, size_t *n)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint8_t c = s.p[0];

	*n = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : 4;
	*v = c;
	if (*n == 1)
		return true;
	if ((*n == 4 && c >> 3 != 30) || *n > s.n)
		return false;
	*v = c & (0xffU >> (*n + 1));
	for (size_t i = 1; i < *n; i++) {
		if ((s.p[i] & 0xc0) != 0x80)
			return false;
		*v = *v << 6 | (s.p[i] & 0x3fU);
	}
	return *v >= least[*n] && *v <= 0x10ffff &&
	    (*v < SURROGATE_FIRST || *v >= SURROGATE_END);
}

bool
utf8_is_tame(uint32_t v)
{
	return v >= 0x20 && (v < 0x7f || v >= 0xa0) &&
	    !(v >= 0x200b && v <= 0x200f) && !(v >= 0x2028 && v <= 0x202e) &&
	    !(v >= 0x2060 && v <= 0x206f) && v != 0xfeff && v != 0x61c &&
	    !(v >= 0xe0000 && v <= 0xe0fff);
}

void
utf8_tame(uint8_t *p, size_t n, uint8_t keep)
{
	while (n != 0) {
		uint32_t v;
		size_t used;
		bool valid = utf8_first(slice_of(p, n), &v, &used);
		if (!valid)
			used = 1;
		if (!valid || (!utf8_is_tame(v) && (v != keep || keep == 0)))
			memset(p, '?', used);
		p += used;
		n -= used;
	}
}
