/* SPDX-License-Identifier: Apache-2.0 */
#include "base/siphash.h"

static uint64_t
rotl(uint64_t x, unsigned b)
{
	return x << b | x >> (64 - b);
}

static uint64_t
load64(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static void
rounds(uint64_t v[4], int n)
{
	for (int i = 0; i < n; i++) {
		v[0] += v[1];
		v[1] = rotl(v[1], 13) ^ v[0];
		v[0] = rotl(v[0], 32);
		v[2] += v[3];
		v[3] = rotl(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotl(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotl(v[1], 17) ^ v[2];
		v[2] = rotl(v[2], 32);
	}
}

uint64_t
siphash(const uint8_t key[SIPHASH_KEY_SIZE], struct slice in)
{
	uint64_t k0 = load64(key, 8), k1 = load64(key + 8, 8);
	uint64_t v[4] = { k0 ^ 0x736f6d6570736575ULL,
		k1 ^ 0x646f72616e646f6dULL, k0 ^ 0x6c7967656e657261ULL,
		k1 ^ 0x7465646279746573ULL };
	size_t i = 0;

	for (; i + 8 <= in.n; i += 8) {
		uint64_t m = load64(in.p + i, 8);
		v[3] ^= m;
		rounds(v, 2);
		v[0] ^= m;
	}
	uint64_t last = (uint64_t)in.n << 56;
	if (in.n != i)
		last |= load64(in.p + i, in.n - i);
	v[3] ^= last;
	rounds(v, 2);
	v[0] ^= last;
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
