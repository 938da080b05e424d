/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/limits.h"
#include "policy/explain.h"
#include "policy/gitrule.h"
#include "policy/inside.h"
#include "policy/policy.h"
#include "wire/gitpath.h"

#define TEXT_SHOWN 200 /* bytes of anything that a peer chose */

void
explain_put_shown(struct buf *out, struct slice s)
{
	for (size_t i = 0; i < s.n && i < TEXT_SHOWN; i++) {
		uint8_t c = s.p[i];
		buf_put_byte(out, c < 0x20 || c >= 0x7f ? '?' : c);
	}
	if (s.n > TEXT_SHOWN)
		buf_put_str(out, "...");
}

void
explain_put_rule(struct buf *out, const struct program *p, uint32_t rule)
{
	struct program_rule r = program_rule(p, rule);

	buf_putf(out, "rule `%.*s` (%.*s", SLICE_ARG(r.name),
	    SLICE_ARG(r.file));
	if (r.line != 0) /* else it is of an option */
		buf_putf(out, ":%u", r.line);
	buf_put_str(out, ")");
}

/* What stands behind each progress: of other rules, and of git+https. */
static const char *const stumbles[2][PROGRESS_ALL + 1] = {
	{ "host", "port", "scheme or upgrade", "path", "method", "query",
	    "rule of the repository", NULL },
	{ "host", "port", "scheme or upgrade", "repository", "service", NULL,
	    NULL, NULL },
};

/* Would it be one of git's with the other method that those have? */
static bool
is_of_other_method(const struct facts *f)
{
	bool is_post = slice_eq_str(f->method, "POST");
	struct gitpath_request request = { is_post ? SLICE("GET") :
						     SLICE("POST"),
		f->path, f->has_query, f->query };
	struct parse_fail fail;
	struct gitpath is;

	return gitpath_read(&request, &is, &fail) == PARSE_DONE &&
	    is.service != GITPATH_NONE && is.service != GITPATH_OTHER;
}

/* Of a rule of git+https. */
static const char *
git_stumble(const struct walk_request *r, enum progress best)
{
	const struct gitpath *is = &r->git.is;

	/* A web page, say: no repository was looked for in its path. */
	if (best == PROGRESS_SCHEME && is->service == GITPATH_NONE &&
	    is->repository.n == 0)
		return "service";
	if (best == PROGRESS_PATH && is->service == GITPATH_OTHER &&
	    is_of_other_method(r->facts))
		return "method";
	return stumbles[1][best];
}

const char *
policy_stumble(const struct program *p, const struct facts *f, uint32_t rule)
{
	static const char expired[] = "time";
	uint8_t folded[LIMIT_PATH_SIZE], lowered[LIMIT_PATH_SIZE];
	bool git = false;
	bool passed = scheme_is_passed(f->scheme);
	enum progress best = PROGRESS_NONE;
	struct walk_request request;
	struct host_matches found;
	struct walk w;

	walk_prepare(&request, f, folded);
	hostset_match(&p->image, f->host, &found);
	if ((image_flags(&p->image) & PROGRAM_GIT) != 0 && !passed)
		(void)walk_prepare_git(&request, &p->image, &found, lowered);
	if ((image_flags(&p->image) & PROGRAM_GIT) != 0 && !passed &&
	    request.git.is.service == GITPATH_NONE)
		walk_prepare_door(&request, &p->image, &found, lowered);
	walk_init_rule(&w, &p->image, &found, NULL, rule);
	for (uint32_t r = walk_next(&w); r != IMAGE_NONE; r = walk_next(&w)) {
		enum progress come = passed ?
		    walk_connect(&p->image, r, f) :
		    walk_request(&p->image, r, &request);
		best = come > best ? come : best;
		git = git ||
		    image_word(&p->image, TABLE_ROUTES, r, ROUTE_SCHEME) ==
			SCHEME_GIT;
	}
	const char *why = passed && best == PROGRESS_SCHEME ? NULL :
	    git ? git_stumble(&request, best) :
		  stumbles[0][best];
	return why == NULL && walk_has_expired(&p->image, rule, f->now_s) ?
	    expired :
	    why;
}
