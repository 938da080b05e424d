/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `run` will say of the places that secrets come from, said beforehand: as
 * an error what does not start, as a warning what refuses some requests.
 */
#include <sys/stat.h>

#include <errno.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/secret.h"
#include "cmd/config.h"

/* `run` goes on without it, so that is no error. */
static void
warn_missing(const struct owner_credential *c, const char *why,
    struct load_report *report)
{
	load_warn(report, config_at(c->at),
	    "`%.*s`, the secret of `%.*s`: %s; requests that need it are "
	    "refused",
	    SLICE_ARG(c->source), SLICE_ARG(c->public.name), why);
}

static void
warn_short(const struct owner_credential *c, struct load_report *report)
{
	load_warn(report, config_at(c->at),
	    "`%.*s`, the secret of `%.*s`, is short: under %d bytes it is "
	    "neither masked nor searched for",
	    SLICE_ARG(c->source), SLICE_ARG(c->public.name),
	    LIMIT_SECRET_SEARCH_MIN);
}

/* Why there is no secret in such a file; NULL: there may be one. */
static const char *
look_at_file(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "not a regular file";
	if (st->st_size == 0)
		return "it is empty";
	if (st->st_size >= SECRET_MAX)
		return "it is longer than 16 KiB";
	return NULL;
}

/* Somebody else may have put it there.  False, with an error. */
static bool
is_ours(const struct owner_credential *c, const struct stat *st,
    struct load_report *report)
{
	const char *wrong = NULL;

	if (st->st_uid != geteuid() && st->st_uid != 0)
		wrong = "it belongs to another user";
	else if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
		wrong = "others may write to it (chmod go-w)";
	if (wrong == NULL)
		return true;
	/* With `--user` it may be that of the command's. */
	bool is_user =
	    geteuid() == 0 && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
	load_say(report, is_user ? LOAD_WARNING : LOAD_ERROR, config_at(c->at),
	    "`%.*s`, the secret of `%.*s`: %s%s", SLICE_ARG(c->source),
	    SLICE_ARG(c->public.name), wrong,
	    is_user ? ", and is taken only where `--user` names that one" : "");
	return false;
}

static void
check_secret_file(const struct owner_credential *c, const char *path,
    struct load_report *report)
{
	struct stat st;

	if (stat(path, &st) != 0 || access(path, R_OK) != 0) {
		warn_missing(c, strerror(errno), report);
		return;
	}
	const char *why = look_at_file(&st);
	if (S_ISREG(st.st_mode) && !is_ours(c, &st, report))
		return;
	if (why != NULL)
		warn_missing(c, why, report);
	else if (st.st_size <= LIMIT_SECRET_SEARCH_MIN)
		warn_short(c, report);
	if ((st.st_mode & (S_IRGRP | S_IROTH)) != 0 &&
	    !slice_has_prefix(c->source, SLICE("/run/secrets/")))
		load_warn(report, config_at(c->at),
		    "`%.*s`, the secret of `%.*s`: others may read it "
		    "(chmod 600)",
		    SLICE_ARG(c->source), SLICE_ARG(c->public.name));
}

static void
check_secret_variable(const struct owner_credential *c, const char *name,
    struct load_report *report)
{
	const char *value = getenv(name);

	if (value == NULL || value[0] == '\0')
		warn_missing(c,
		    value == NULL ? "the variable is not set" :
				    "the variable is empty",
		    report);
	else if (strlen(value) >= SECRET_MAX)
		warn_missing(c, "it is longer than 16 KiB", report);
	else if (strlen(value) < LIMIT_SECRET_SEARCH_MIN)
		warn_short(c, report);
}

static void
check_secret(const struct owner_credential *c, struct load_report *report)
{
	char source[4096];

	snprintf(source, sizeof(source), "%.*s", SLICE_ARG(c->source));
	switch (c->from) {
	case SECRET_FILE:
		check_secret_file(c, source, report);
		return;
	case SECRET_ENV:
		check_secret_variable(c, source, report);
		return;
	case SECRET_COMMAND: /* not run: that is for those who need it */
		if (access(source, X_OK) != 0)
			warn_missing(c, strerror(errno), report);
		return;
	case SECRET_SOURCES:
		break;
	}
}

void
config_check_secrets(const struct config *c, struct load_report *report)
{
	uint32_t n = c->owner == NULL ? 0 : owner_n_credentials(c->owner);

	for (uint32_t i = 0; i < n; i++) {
		struct owner_credential credential =
		    owner_credential(c->owner, i);
		check_secret(&credential, report);
	}
}
