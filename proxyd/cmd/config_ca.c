/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include <errno.h>
#include <unistd.h>

#include "base/secret.h"
#include "certs/given.h"
#include "cmd/config.h"

/* What is wrong with it, in words; NULL: nothing. */
static const char *
look_at_key(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "not a regular file";
	if (st.st_size == 0)
		return "it is empty";
	if (st.st_size >= SECRET_MAX)
		return "it is longer than 16 KiB";
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return "it belongs to another user";
	if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return "others may read it (chmod 600)";
	return NULL;
}

static void
check_key(const struct owner *o, struct load_report *report)
{
	struct slice key = owner_ca_key(o);
	char path[4096];

	snprintf(path, sizeof(path), "%.*s", SLICE_ARG(key));
	const char *wrong = look_at_key(path);
	if (wrong != NULL)
		load_error(report, config_at(owner_ca_place(o, OWNER_CA_KINDS)),
		    "`key` of `ca:`: `%.*s`: %s", SLICE_ARG(key), wrong);
}

void
config_check_ca(const struct config *c, struct load_report *report)
{
	static const char *const names[] = { "`certificate`", "`next`" };
	struct slice certs[OWNER_CA_MAX];

	if (c->owner == NULL || owner_ca_key(c->owner).n == 0)
		return;
	for (unsigned which = 0; which < OWNER_CA_KINDS; which++) {
		uint32_t n = owner_ca(c->owner, which, certs);
		const char *wrong = n == 0 ?
		    NULL :
		    given_check(certs, n, which == OWNER_CA_NEXT);
		if (wrong != NULL)
			load_error(report,
			    config_at(owner_ca_place(c->owner, which)),
			    "%s of `ca:`: %s", names[which], wrong);
	}
	check_key(c->owner, report);
}
