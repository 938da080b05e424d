/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include <errno.h>

#include "certs/given.h"
#include "cmd/config.h"

static void
check_key(const char *path, struct load_report *report)
{
	struct load_at at = { slice_of_str(path), 0, 0 };
	struct stat st;

	if (stat(path, &st) != 0)
		load_error(report, at, "the key of `ca:`: %s", strerror(errno));
	else if (!S_ISREG(st.st_mode) || st.st_size == 0)
		load_error(report, at, "the key of `ca:`: %s",
		    st.st_size == 0 ? "empty" : "not a regular file");
	else if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		load_error(report, at,
		    "the key of `ca:`: others may read it (chmod 600)");
}

void
config_check_ca(const struct config *c, struct load_report *report)
{
	static const char *const names[] = { "`certificate`", "`next`" };
	const struct load_at at = { SLICE("the configuration"), 0, 0 };
	struct slice certs[OWNER_CA_MAX];
	char path[4096];

	if (c->owner == NULL || owner_ca_key(c->owner).n == 0)
		return;
	for (unsigned which = 0; which < OWNER_CA_KINDS; which++) {
		uint32_t n = owner_ca(c->owner, which, certs);
		const char *wrong = n == 0 ?
		    NULL :
		    given_check(certs, n, which == OWNER_CA_NEXT);
		if (wrong != NULL)
			load_error(report, at, "%s of `ca:`: %s", names[which],
			    wrong);
	}
	snprintf(path, sizeof(path), "%.*s", SLICE_ARG(owner_ca_key(c->owner)));
	check_key(path, report);
	load_report_keep_names(report); /* of the key's */
}
