/* SPDX-License-Identifier: Apache-2.0 */
#include "dial/names.h"

bool
names_spend(struct names *names, struct slice name, uint64_t now_ms)
{
	size_t at = 0;

	if (name.n > NAMES_TEXT_MAX)
		return false;
	while (at < names->n &&
	    !slice_eq(slice_of(names->at[at].text, names->at[at].n), name))
		at++;
	/* Not there: a free place, or that of one which is an hour old. */
	if (at == names->n && names->n < LIMIT_NAMES_PER_HOUR)
		names->n++;
	else if (at == names->n)
		for (at = 0; at < names->n; at++)
			if (now_ms - names->at[at].ms >= NAMES_MS)
				break;
	if (at == names->n)
		return false;
	names->at[at].ms = now_ms;
	names->at[at].n = (uint8_t)name.n;
	memcpy(names->at[at].text, name.p, name.n);
	return true;
}
