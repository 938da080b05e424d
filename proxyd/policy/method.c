/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/method.h"

static const struct slice names[METHOD_COUNT] = {
#define X(name) { (const uint8_t *)#name, sizeof(#name) - 1 },
	METHOD_LIST(X)
#undef X
};

uint32_t
method_bit(struct slice name)
{
	for (unsigned i = 0; i < METHOD_COUNT; i++)
		if (slice_eq(names[i], name))
			return METHOD_BIT(i);
	return 0;
}

const char *
method_name(enum method method)
{
	return (const char *)names[method].p;
}
