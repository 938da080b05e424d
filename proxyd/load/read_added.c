/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that are added to a policy while its sandbox runs, behind all others:
 * each is `allow:` of one URL and a moment when it ends, and has no key more, so
 * that none of them carries a credential.
 */
#include "base/json.h"
#include "base/limits.h"
#include "load/read_policy.h"

/* JSON is YAML; whatever stands in the URL, it stays one string. */
static struct slice
text_of(struct arena *arena, const struct load_added *added)
{
	struct buf text;
	struct json j;
	char name[32];

	snprintf(name, sizeof(name), "added-%u", added->number);
	buf_init(&text, 8 * (size_t)LIMIT_TARGET_SIZE);
	json_init(&j, &text);
	json_object_begin(&j);
	json_key_text(&j, "allow", added->url);
	json_key_str(&j, "name", name);
	json_object_end(&j);
	struct slice copy = arena_copy(arena, buf_slice(&text));
	buf_release(&text);
	return copy;
}

static bool
add(struct read_policy *p, const struct load_added *added,
    struct load_policy_text *policy)
{
	struct load_rule rule;
	const struct doc_node *node = doc_parse(text_of(p->r.arena, added),
	    p->r.file, p->r.arena, p->r.report);

	if (node == NULL)
		return false;
	if (policy->n_rules == LIMIT_POLICY_RULES)
		return read_refuse(&p->r, node, "more than %d rules",
		    LIMIT_POLICY_RULES);
	bool good = read_rule(p, node, added->number, &rule);
	rule.expires_s = added->expires_s;
	policy->rules = arena_grow(p->r.arena, policy->rules, policy->n_rules,
	    sizeof(*policy->rules));
	policy->rules[policy->n_rules++] = rule;
	return good;
}

bool
read_added(struct read_policy *p, struct load_policy_text *policy)
{
	struct read outer = p->r;
	struct read_scope *around = p->scope, scope = *p->scope;
	bool good = true;

	/* Whoever may add a rule did not write the owner's files. */
	scope.trusted = false;
	p->scope = &scope;
	p->r.file = SLICE("the rule");
	p->r.parameters = NULL;
	for (size_t i = 0; i < p->in->n_added; i++)
		good = add(p, &p->in->added[i], policy) && good;
	p->scope = around;
	p->r = outer;
	return good;
}
