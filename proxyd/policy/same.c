/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/same.h"
#include "policy/git.h"
#include "policy/inside.h"

static bool
has_same_urls(const struct image *p, uint32_t i, const struct image *q,
    uint32_t j)
{
	uint32_t n = image_word(p, TABLE_RULES, i, RULE_N_ROUTES);
	uint32_t at = image_word(p, TABLE_RULES, i, RULE_ROUTES);
	uint32_t other = image_word(q, TABLE_RULES, j, RULE_ROUTES);

	if (n != image_word(q, TABLE_RULES, j, RULE_N_ROUTES))
		return false;
	for (uint32_t k = 0; k < n; k++)
		if (!slice_eq(image_string(p, TABLE_ROUTES, at + k,
				  ROUTE_TEXT_S),
			image_string(q, TABLE_ROUTES, other + k, ROUTE_TEXT_S)))
			return false;
	return true;
}

uint32_t
same_rule(const struct program *p, uint32_t rule, const struct program *q,
    uint32_t *near)
{
	uint32_t n = program_n_rules(q);

	for (uint32_t k = 0; k < n; k++) {
		uint32_t j = (uint32_t)(((uint64_t)*near + k) % n);
		if (!has_same_urls(&p->image, rule, &q->image, j))
			continue;
		*near = j + 1;
		return j;
	}
	return VERDICT_NONE;
}

bool
same_credential(const struct program_credential *a,
    const struct program_credential *b)
{
	return slice_eq(a->name, b->name) && a->kind == b->kind &&
	    slice_eq(a->slot, b->slot) && slice_eq(a->prefix, b->prefix) &&
	    slice_eq(a->user, b->user) &&
	    a->secret_is_user == b->secret_is_user &&
	    a->response_filter == b->response_filter &&
	    a->ranges == b->ranges && a->echo_mask == b->echo_mask;
}

static bool
is_same_credential(const struct program *p, uint32_t i, const struct program *q)
{
	if (i >= program_n_credentials(p) || i >= program_n_credentials(q))
		return false;
	struct program_credential a = program_credential(p, i);
	struct program_credential b = program_credential(q, i);
	return same_credential(&a, &b);
}

bool
same_credentials(const struct program *p, const struct program *q)
{
	uint32_t n = program_n_credentials(p);

	if (n != program_n_credentials(q))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!is_same_credential(p, i, q))
			return false;
	return true;
}

static bool
is_same_list(const struct program *p, uint32_t i, const struct program *q,
    uint32_t j, enum git_list list)
{
	uint32_t n = git_rule_n(p, i, list);

	if (n != git_rule_n(q, j, list))
		return false;
	for (uint32_t k = 0; k < n; k++)
		if (!slice_eq(git_rule_text(p, i, list, k),
			git_rule_text(q, j, list, k)))
			return false;
	return true;
}

/* Of git, or not; and then what it may. */
static bool
is_same_git(const struct program *p, uint32_t i, const struct program *q,
    uint32_t j)
{
	struct git_rule a, b;
	bool is_git = git_rule(p, i, &a);

	if (is_git != git_rule(q, j, &b))
		return false;
	if (!is_git)
		return true;
	for (unsigned list = 0; list < GIT_LISTS; list++)
		if (!is_same_list(p, i, q, j, (enum git_list)list))
			return false;
	return a.fetch == b.fetch && a.push == b.push &&
	    a.archive == b.archive && a.hide_refs == b.hide_refs &&
	    a.create == b.create && a.update == b.update &&
	    a.delete == b.delete &&a.force == b.force &&
	    a.is_signed == b.is_signed && a.lfs_read == b.lfs_read &&
	    a.lfs_write == b.lfs_write && a.follow == b.follow &&
	    a.forge == b.forge && a.max_commands == b.max_commands &&
	    a.max_pack == b.max_pack && a.max_file == b.max_file &&
	    slice_eq(program_rule(p, i).text, program_rule(q, j).text);
}

bool
same_treatment(const struct program *p, const struct verdict *v,
    const struct program *q, const struct verdict *w)
{
	if (v->n_credentials != w->n_credentials || v->strip != w->strip ||
	    v->strip_cookies != w->strip_cookies ||
	    v->search_answer != w->search_answer || v->report != w->report ||
	    v->rule == VERDICT_NONE || w->rule == VERDICT_NONE)
		return false;
	for (uint32_t i = 0; i < v->n_credentials; i++)
		if (v->credentials[i] != w->credentials[i] ||
		    !is_same_credential(p, v->credentials[i], q))
			return false;
	return is_same_git(p, v->rule, q, w->rule);
}
