/* SPDX-License-Identifier: Apache-2.0 */
#include "git/say.h"
#include "policy/gitref.h"

#define REFS_MAX 90 /* bytes of the list of refs in one line of a report */
#define RULES_MAX 8 /* repositories that a 403 names */
#define KEEPS_MAX 8 /* patterns of `keep` that are shown */

/* " [git.ref w0-5f]" */
static void
put_code(const struct say *s, enum reason reason, struct buf *out)
{
	buf_putf(out, " [%s %s]", reason_name(reason), s->flow);
}

static bool
code_alone(const struct say *s, enum reason reason, struct buf *out)
{
	if (!program_shows_code_alone(s->p))
		return false;
	buf_put_str(out, "duenna: refused");
	put_code(s, reason, out);
	return true;
}

static void
put_name(const struct say *s, uint32_t rule, struct buf *out)
{
	struct slice name = program_rule(s->p, rule).name;

	buf_put_str(out, "rule `");
	buf_put(out, name);
	buf_put_byte(out, '`');
}

static void
put_ref_reason(const struct say *s, uint32_t rule, struct buf *out)
{
	struct buf refs;

	buf_init(&refs, 65536);
	git_rule_put_refs(s->p, rule, &refs);
	buf_put_str(out, "duenna: not among ");
	if (!refs.failed && refs.n <= REFS_MAX) {
		buf_put(out, buf_slice(&refs));
	} else {
		buf_put_str(out, "the refs of ");
		put_name(s, rule, out);
	}
	buf_release(&refs);
}

void
say_command(const struct say *s, uint32_t rule, const struct git_command *c,
    struct buf *out)
{
	static const char *const kinds[GIT_COMMAND_KINDS] = { "created",
		"updated", "deleted" };
	enum reason why = git_rule_command(s->p, rule, c);

	if (why == REASON_ALLOW || code_alone(s, why, out))
		return;
	if (why == REASON_GIT_REF) {
		put_ref_reason(s, rule, out);
	} else if (c->kind == GIT_COMMAND_UPDATE &&
	    slice_has_prefix(c->ref, GITREF_TAGS)) {
		buf_put_str(out, "duenna: a tag may not be moved by ");
		put_name(s, rule, out);
	} else {
		buf_putf(out, "duenna: may not be %s by ", kinds[c->kind]);
		put_name(s, rule, out);
	}
	put_code(s, why, out);
}

void
say_whole(const struct say *s, const struct facts *f, const struct verdict *v,
    struct buf *out)
{
	if (code_alone(s, v->reason, out))
		return;
	buf_put_str(out, "duenna: ");
	policy_explain(s->p, f, v, out);
	put_code(s, v->reason, out);
}

void
say_allowed(const struct say *s, uint32_t rule, struct buf *out)
{
	buf_put_str(out,
	    "duenna: push refused, nothing was sent to the server.\n");
	if (program_shows_code_alone(s->p) || rule == VERDICT_NONE)
		return;
	buf_put_str(out, "duenna: ");
	put_name(s, rule, out);
	buf_put_str(out, " allows ");
	git_rule_put_refs(s->p, rule, out);
	buf_put_byte(out, '\n');
}

void
say_forward(const struct say *s, uint32_t rule, struct buf *out)
{
	if (program_shows_code_alone(s->p))
		return;
	buf_put_str(out, "duenna: ");
	put_name(s, rule, out);
	buf_put_str(out,
	    " lets refs grow and not be rewritten; push to a new one, or add "
	    "commits to what is there\n");
}

void
say_keep(const struct say *s, uint32_t rule, struct buf *out)
{
	uint32_t n = git_rule_n(s->p, rule, GIT_KEEP);

	if (program_shows_code_alone(s->p))
		return;
	buf_put_str(out, "duenna: ");
	put_name(s, rule, out);
	buf_put_str(out, " keeps as they are: ");
	for (uint32_t i = 0; i < n && i < KEEPS_MAX; i++) {
		buf_put_str(out, i == 0 ? "" : ", ");
		buf_put(out, git_rule_text(s->p, rule, GIT_KEEP, i));
	}
	buf_put_str(out, n > KEEPS_MAX ? ", and more\n" : "\n");
}

/* Does a rule of that host grant what was asked for? */
static bool
grants(const struct program *p, uint32_t rule, struct slice host, bool push)
{
	struct git_rule git;
	struct slice own;

	return git_rule(p, rule, &git) && (push ? git.push : git.fetch) &&
	    program_rule_host(p, rule, &own) && slice_eq(own, host);
}

void
say_discovery(const struct say *s, const struct facts *f,
    const struct verdict *v, struct buf *out)
{
	bool push = slice_eq(f->query, SLICE("service=git-receive-pack"));
	uint32_t n = program_n_rules(s->p), shown = 0;

	if (code_alone(s, v->reason, out)) {
		buf_put_byte(out, '\n');
		return;
	}
	say_whole(s, f, v, out);
	buf_put_byte(out, '\n');
	for (uint32_t i = 0; i < n && shown < RULES_MAX; i++) {
		if (!grants(s->p, i, f->host, push))
			continue;
		shown++;
		buf_putf(out, "duenna: a %s is allowed to ",
		    push ? "push" : "fetch");
		buf_put(out, program_rule(s->p, i).text);
		buf_put_byte(out, '\n');
	}
}

void
say_fault(const struct say *s, enum reason reason, bool sent, struct buf *out)
{
	buf_putf(out, "duenna: %s; %s", reason_meaning(reason),
	    sent ? "the result is unknown, run git ls-remote" :
		   "nothing was pushed");
	put_code(s, reason, out);
}
