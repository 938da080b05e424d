/* SPDX-License-Identifier: Apache-2.0 */
#include "priv/role.h"

static const char *const names[ROLE_COUNT] = {
	[ROLE_MONITOR] = "monitor",
	[ROLE_STEWARD] = "steward",
	[ROLE_CLERK] = "clerk",
	[ROLE_WORKER] = "worker",
	[ROLE_DIALER] = "dialer",
	[ROLE_KEEPER] = "keeper",
	[ROLE_SCRIBE] = "scribe",
	[ROLE_PORTER] = "porter",
};

const char *
role_name(enum role role)
{
	return role < ROLE_COUNT ? names[role] : "unknown";
}

enum role
role_find(const char *name)
{
	for (int r = 0; r < ROLE_COUNT; r++)
		if (strcmp(names[r], name) == 0)
			return (enum role)r;
	return ROLE_COUNT;
}
