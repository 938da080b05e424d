/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/git.h"
#include "flow/request.h"
#include "policy/git.h"

/* Room for `.git`, which the rule's spelling may add. */
#define PATH_MORE 16

static bool
is_of_git(const struct program *p, uint32_t rule)
{
	return rule != VERDICT_NONE &&
	    slice_has_prefix(program_rule(p, rule).text, SLICE("git+https://"));
}

/* Such a rule decided, or none of them allows it. */
static bool
is_git(const struct request *r)
{
	const struct verdict *v = &r->verdict;

	return v->reason == REASON_GIT_REPO ||
	    v->reason == REASON_GIT_SERVICE ||
	    is_of_git(r->generation->program, v->rule);
}

void
git_recognise(struct request *r)
{
	const struct facts *f = &r->facts;
	const struct gitpath_request request = { f->method, f->path,
		f->has_query, f->query };
	struct parse_fail fail;

	if (r->generation == NULL || !is_git(r) ||
	    gitpath_read(&request, &r->git, &fail) != PARSE_DONE)
		r->git = (struct gitpath){ .service = GITPATH_NONE };
}

bool
git_prepare(struct request *r)
{
	const struct slice path = r->facts.path;
	size_t max = LIMIT_PATH_SIZE + path.n + PATH_MORE;
	struct wr w;

	if (r->git.service == GITPATH_NONE)
		return true;
	r->git_path = malloc(max);
	if (r->git_path == NULL)
		return false;
	w = wr_of(r->git_path, max);
	if (!git_rule_path(r->generation->program, r->verdict.rule,
		r->facts.host, r->git.repository, &w))
		return false;
	wr_bytes(&w, slice_from(path, r->git.repository.n));
	r->x.path = wr_slice(&w);
	/* Asked once: fields are taken out of the head later. */
	r->probe.may_be = r->x.reads = git_probe_may_be(r);
	return !w.bad;
}
