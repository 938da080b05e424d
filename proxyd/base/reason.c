/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/reason.h"

static const struct {
	const char *name, *meaning;
	unsigned status;
} rows[REASON_COUNT] = {
#define X(id, text, code, why) \
	[REASON_##id] = { .name = text, .meaning = why, .status = code },
	REASON_LIST(X)
#undef X
};

const char *
reason_name(enum reason r)
{
	assert(r < REASON_COUNT);
	return rows[r].name;
}

const char *
reason_meaning(enum reason r)
{
	assert(r < REASON_COUNT);
	return rows[r].meaning;
}

unsigned
reason_status(enum reason r)
{
	assert(r < REASON_COUNT);
	return rows[r].status;
}

bool
reason_is_allow(enum reason r)
{
	return r == REASON_ALLOW || r == REASON_ALLOW_PASS ||
	    r == REASON_ALLOW_TCP;
}

enum reason
reason_find(struct slice name)
{
	for (int r = 0; r < REASON_COUNT; r++)
		if (slice_eq_str(name, rows[r].name))
			return (enum reason)r;
	return REASON_COUNT;
}
