/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "git/prove_rule.h"
#include "policy/git.h"

/* A list of the rule, behind those that were read before. */
static const struct slice *
read_globs(const struct program *p, uint32_t rule, enum git_list list,
    struct slice **next)
{
	const struct slice *globs = *next;

	for (uint32_t i = 0; i < git_rule_n(p, rule, list); i++)
		*(*next)++ = git_rule_glob(p, rule, list, i);
	return globs;
}

bool
prove_rule_init(struct prove_rule *r, const struct program *p, uint32_t rule)
{
	struct content_rule *c = &r->content;
	struct git_rule git;

	*r = (struct prove_rule){ 0 };
	if (!git_rule(p, rule, &git) || !git.push)
		return false;
	r->force = git.force;
	c->is_signed = git.is_signed;
	c->max_file = git.max_file;
	r->n_keep = git_rule_n(p, rule, GIT_KEEP);
	c->n_authors = git_rule_n(p, rule, GIT_AUTHORS);
	c->n_committers = git_rule_n(p, rule, GIT_COMMITTERS);
	r->globs = calloc(r->n_keep + c->n_authors + c->n_committers + 1,
	    sizeof(*r->globs));
	if (r->globs == NULL)
		return false;
	struct slice *next = r->globs;
	r->keep = read_globs(p, rule, GIT_KEEP, &next);
	c->authors = read_globs(p, rule, GIT_AUTHORS, &next);
	c->committers = read_globs(p, rule, GIT_COMMITTERS, &next);
	return true;
}

void
prove_rule_release(struct prove_rule *r)
{
	free(r->globs);
	*r = (struct prove_rule){ 0 };
}

size_t
prove_id_size(const struct push *list)
{
	return list->n_id / 2;
}

struct prove_command *
prove_commands(const struct push *list)
{
	struct prove_command *commands =
	    calloc(list->n_commands + 1, sizeof(*commands));
	size_t n = prove_id_size(list);

	for (size_t i = 0; commands != NULL && i < list->n_commands; i++) {
		struct git_command c = push_command(list, i);
		bool is = oid_read(c.old_id, n, &commands[i].old_id) &&
		    oid_read(c.new_id, n, &commands[i].new_id);
		assert(is); /* the list was whole */
		(void)is;
	}
	return commands;
}
