/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "crypto/digest.h"
#include "git/oid.h"

bool
oid_is_zero(const struct oid *o)
{
	for (size_t i = 0; i < o->n; i++) {
		if (o->b[i] != 0)
			return false;
	}
	return o->n != 0;
}

struct oid
oid_of(const uint8_t *p, size_t n)
{
	struct oid o = { .n = (uint8_t)n };

	assert(n == OID_SHA1 || n == OID_SHA256);
	memcpy(o.b, p, n);
	return o;
}

bool
oid_read(struct slice text, size_t n, struct oid *o)
{
	*o = (struct oid){ .n = (uint8_t)n };
	return digest_unhex(text, o->b, n);
}

void
oid_text(const struct oid *o, char text[OID_TEXT_SIZE])
{
	digest_hex(o->b, o->n, text);
}
