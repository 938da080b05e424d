/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "policy/explain.h"
#include "policy/git.h"
#include "policy/gitref.h"
#include "wire/gitpath.h"

#define REFS_SHOWN 8 /* patterns of refs in one line */

/* What the request is of git's; service NONE if it has a fault. */
static struct gitpath
read_path(const struct facts *f)
{
	struct gitpath_request request = { f->method, f->path, f->has_query,
		f->query };
	struct parse_fail fail;
	struct gitpath git;

	if (gitpath_read(&request, &git, &fail) != PARSE_DONE)
		git = (struct gitpath){ .service = GITPATH_NONE };
	return git;
}

static void
put_repository(struct buf *out, const struct facts *f)
{
	buf_put_str(out, "git+https://");
	explain_put_shown(out, f->host);
	if (f->port != scheme_port(SCHEME_GIT))
		buf_putf(out, ":%u", f->port);
	explain_put_shown(out, gitpath_bare(read_path(f).repository));
}

static const char *
service_of(const struct facts *f)
{
	static const char *const names[GITPATH_SERVICES] = {
		[GITPATH_NONE] = "that",
		[GITPATH_FETCH] = "a fetch",
		[GITPATH_PUSH] = "a push",
		[GITPATH_ARCHIVE] = "git archive",
		[GITPATH_LFS] = "LFS",
		[GITPATH_OTHER] = "anything but git's smart HTTP",
	};

	return names[read_path(f).service];
}

static void
put_missing(struct buf *out, const struct facts *f)
{
	buf_put_str(out, "; the missing rule: `- allow: ");
	put_repository(out, f);
	buf_put_str(out, "` with `fetch: true`, `push:` or both");
}

/* A fetch or a push, as a rule of git+https could allow it. */
static bool
is_of_git(const struct facts *f)
{
	enum gitpath_service service = read_path(f).service;

	return f->kind == FACTS_REQUEST && f->scheme == SCHEME_HTTPS &&
	    !f->upgrade && f->host.n != 0 &&
	    (service == GITPATH_FETCH || service == GITPATH_PUSH);
}

/* ... of which the nearest rule has another port. */
static bool
is_at_other_port(const struct program *p, const struct facts *f,
    const struct verdict *v)
{
	struct git_rule git;

	return v->reason == REASON_DST_PORT && is_of_git(f) &&
	    v->nearest != VERDICT_NONE && git_rule(p, v->nearest, &git);
}

bool
explain_git_missing(const struct facts *f, struct buf *out)
{
	if (!is_of_git(f))
		return false;
	put_missing(out, f);
	return true;
}

/* That of the path that a reader finds in the policy, too. */
static void
put_no_repository(struct buf *out, const struct program *p,
    const struct facts *f, const struct verdict *v)
{
	buf_put_str(out, "no rule names ");
	put_repository(out, f);
	if (v->nearest != VERDICT_NONE) {
		buf_put_str(out, "; nearest: ");
		explain_put_rule(out, p, v->nearest);
		buf_put_str(out, " allows ");
		buf_put(out, program_rule(p, v->nearest).text);
	}
	put_missing(out, f);
}

void
git_rule_put_refs(const struct program *p, uint32_t rule, struct buf *out)
{
	uint32_t n = git_rule_n(p, rule, GIT_REFS);

	for (uint32_t i = 0; i < n && i < REFS_SHOWN; i++) {
		buf_put_str(out, i == 0 ? "" : ", ");
		buf_put(out, git_rule_text(p, rule, GIT_REFS, i));
	}
	if (n > REFS_SHOWN)
		buf_putf(out, " and %u more", n - REFS_SHOWN);
}

void
git_rule_put_refusal(const struct program *p, uint32_t rule,
    const struct git_command *c, struct buf *out)
{
	static const char *const kinds[GIT_COMMAND_KINDS] = { "be created",
		"be updated", "be deleted" };
	enum reason why = git_rule_command(p, rule, c);

	explain_put_rule(out, p, rule);
	if (why == REASON_GIT_REF) {
		buf_put_str(out, " does not allow the ref `");
		explain_put_shown(out, c->ref);
		buf_put_str(out, "`; it allows ");
		git_rule_put_refs(p, rule, out);
		return;
	}
	buf_put_str(out, " does not let `");
	explain_put_shown(out, c->ref);
	buf_putf(out, "` %s", kinds[c->kind]);
	if (c->kind == GIT_COMMAND_UPDATE &&
	    slice_has_prefix(c->ref, GITREF_TAGS))
		buf_put_str(out, ": a tag that moves wants `force: true`");
}

static void
put_push(struct buf *out, const struct program *p, const struct facts *f,
    const struct verdict *v)
{
	struct git_rule says;

	if (f->kind == FACTS_COMMAND || v->command != VERDICT_NONE) {
		git_rule_put_refusal(p, v->rule,
		    f->kind == FACTS_COMMAND ? &f->command :
					       &f->push->commands[v->command],
		    out);
		return;
	}
	explain_put_rule(out, p, v->rule);
	if (v->reason == REASON_LIMIT_BYTES && git_rule(p, v->rule, &says))
		buf_putf(out, " allows %u commands in a push, not %u",
		    says.max_commands, f->push->n_commands);
	else
		buf_put_str(out, " does not allow these push options");
}

static void
put_door(struct buf *out, const struct program *p, const struct facts *f,
    const struct verdict *v)
{
	explain_put_shown(out, f->method);
	buf_put_str(out, " on ");
	explain_put_shown(out, f->path);
	buf_put_str(out,
	    " could change a repository past its rule of git+https; ");
	explain_put_rule(out, p, v->nearest);
	buf_put_str(out, " would have to name this route itself");
}

/* Reasons of a push that its rule refuses. */
static bool
is_of_push(const struct facts *f, const struct verdict *v)
{
	static const enum reason list[] = { REASON_GIT_REF, REASON_GIT_UPDATE,
		REASON_GIT_MALFORMED, REASON_LIMIT_BYTES };

	if (v->allow || v->rule == VERDICT_NONE ||
	    (f->kind != FACTS_PUSH && f->kind != FACTS_COMMAND))
		return false;
	for (size_t i = 0; i < COUNT_OF(list); i++)
		if (list[i] == v->reason)
			return true;
	return false;
}

bool
explain_git(const struct program *p, const struct facts *f,
    const struct verdict *v, struct buf *out)
{
	if (v->reason == REASON_GIT_REPO || is_at_other_port(p, f, v)) {
		put_no_repository(out, p, f, v);
		return true;
	}
	if (v->reason == REASON_GIT_SERVICE && v->nearest != VERDICT_NONE) {
		explain_put_rule(out, p, v->nearest);
		buf_putf(out, " does not allow %s of ", service_of(f));
		put_repository(out, f);
		return true;
	}
	if (v->reason == REASON_GIT_API && v->nearest != VERDICT_NONE) {
		put_door(out, p, f, v);
		return true;
	}
	if (!is_of_push(f, v))
		return false;
	put_push(out, p, f, v);
	return true;
}
