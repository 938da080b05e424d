/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "base/log.h"

static void *
or_die(void *p)
{
	if (p == NULL) {
		log_error("out of memory");
		abort();
	}
	return p;
}

void *
mem_alloc(size_t n)
{
	return or_die(calloc(1, n == 0 ? 1 : n));
}

void *
mem_array(size_t count, size_t n)
{
	return or_die(calloc(count == 0 ? 1 : count, n == 0 ? 1 : n));
}

char *
mem_strdup(const char *s)
{
	return or_die(strdup(s));
}
