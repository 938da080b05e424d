/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches of git that were refused: one rule of git+https allows a repository,
 * where rules of paths would have to name its two, or would let pushes through.
 */
#include "audit/suggest_inside.h"
#include "base/ascii.h"
#include "wire/gitpath.h"

/* A repository that a rule can name without escapes and stars. */
static bool
is_repository(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		uint8_t c = text.p[i];
		if (!ascii_is_alpha(c) && !ascii_is_digit(c) &&
		    (c == '\0' || strchr("/-._~+@", c) == NULL))
			return false;
	}
	return true;
}

static struct gitpath
read_path(const struct event *e)
{
	const struct gitpath_request request = {
		.method = event_text_of(e, FIELD_METHOD),
		.path = event_text_of(e, FIELD_PATH),
		.has_query = event_number_of(e, FIELD_HAS_QUERY) != 0,
		.query = event_text_of(e, FIELD_QUERY),
	};
	struct gitpath git = { .service = GITPATH_NONE };
	struct parse_fail fail;

	if (e->kind != EVENT_REQUEST_END ||
	    event_number_of(e, FIELD_UPGRADE) != 0 ||
	    !slice_eq_str(event_text_of(e, FIELD_SCHEME), "https") ||
	    gitpath_read(&request, &git, &fail) != PARSE_DONE)
		return (struct gitpath){ .service = GITPATH_NONE };
	return git;
}

static bool
is_of_git(enum reason reason)
{
	return reason == REASON_GIT_REPO || reason == REASON_GIT_SERVICE;
}

struct slice
suggest_repository(const struct event *e)
{
	struct gitpath git = read_path(e);

	if (git.service != GITPATH_FETCH || !is_repository(git.repository))
		return (struct slice){ 0 };
	return git.repository;
}

const char *
suggest_why_no_git(const struct event *e, enum reason reason)
{
	switch (read_path(e).service) {
	case GITPATH_PUSH:
		return "a push; a rule of git+https would say `push:` and "
		       "which branches";
	case GITPATH_FETCH:
		return suggest_repository(e).n != 0 || !is_of_git(reason) ?
		    NULL :
		    "not a repository that a rule can have";
	case GITPATH_ARCHIVE:
	case GITPATH_LFS:
	case GITPATH_OTHER:
	case GITPATH_NONE:
	case GITPATH_SERVICES:
		break;
	}
	return is_of_git(reason) ? "git, but no fetch and no push" : NULL;
}
