/* SPDX-License-Identifier: Apache-2.0 */
#include "load/read_policy.h"
#include "base/limits.h"

#define SET "--set" /* where a value of the command line stands */

static const struct read_key file_keys[] = {
	{ "version", READ_HERE },
	{ "policies", READ_HERE },
	{ "credentials", READ_OWNER },
	{ "sandboxes", READ_OWNER },
	{ "upstream", READ_OWNER },
	{ "dns", READ_OWNER },
	{ "audit", READ_OWNER },
	{ "files", READ_OWNER },
	{ "environment", READ_OWNER },
	{ "ca", READ_OWNER },
	{ "private", READ_OWNER },
	{ "secret", READ_CREDENTIAL },
	{ "response_filter", READ_CREDENTIAL },
	{ "ranges", READ_CREDENTIAL },
	{ "echo", READ_CREDENTIAL },
};

static const struct read_key policy_keys[] = {
	{ "rules", READ_HERE },
	{ "parameters", READ_HERE },
	{ "report", READ_HERE },
	{ "limits", READ_LATER },
	{ "refusals", READ_HERE },
	{ "expires", READ_LATER },
	{ "credentials", READ_OWNER },
	{ "sandboxes", READ_OWNER },
	{ "upstream", READ_OWNER },
	{ "dns", READ_OWNER },
	{ "audit", READ_OWNER },
	{ "files", READ_OWNER },
	{ "environment", READ_OWNER },
	{ "ca", READ_OWNER },
	{ "private", READ_OWNER },
};

/* Names were made where none was written: none may be twice. */
static int
compare_names(const void *left, const void *right)
{
	const struct load_rule *a = *(const struct load_rule *const *)left;
	const struct load_rule *b = *(const struct load_rule *const *)right;
	size_t n = a->name.n < b->name.n ? a->name.n : b->name.n;
	int order = n == 0 ? 0 : memcmp(a->name.p, b->name.p, n);

	if (order != 0)
		return order;
	if (a->name.n != b->name.n)
		return a->name.n < b->name.n ? -1 : 1;
	return a < b ? -1 : a > b;
}

static bool
check_names(const struct read *r, const struct load_policy_text *policy)
{
	bool good = true;
	const struct load_rule **list =
	    arena_alloc(r->arena, (policy->n_rules + 1) * sizeof(*list));

	for (uint32_t i = 0; i < policy->n_rules; i++)
		list[i] = &policy->rules[i];
	qsort(list, policy->n_rules, sizeof(*list), compare_names);
	for (uint32_t i = 1; i < policy->n_rules; i++) {
		if (!slice_eq(list[i - 1]->name, list[i]->name))
			continue;
		if (slice_eq(list[i - 1]->at.file, list[i]->at.file))
			load_error(r->report, list[i]->at,
			    "a second rule `%.*s`, the first is on line %u%s",
			    SLICE_ARG(list[i]->name), list[i - 1]->at.line,
			    slice_eq(list[i]->at.file, r->file) ?
				"" :
				": included twice, and no `name:` beside one "
				"of them");
		else
			load_error(r->report, list[i]->at,
			    "a second rule `%.*s`, the first is at %.*s:%u",
			    SLICE_ARG(list[i]->name),
			    SLICE_ARG(list[i - 1]->at.file),
			    list[i - 1]->at.line);
		good = false;
	}
	return good;
}

static bool
read_item(struct read_policy *p, const struct doc_node *node, uint32_t index,
    struct load_policy_text *policy)
{
	struct load_rule rule;

	if (node->kind == DOC_MAPPING && read_find(node, "include") != NULL)
		return !p->wanted || read_include(p, node, policy);
	if (policy->n_rules == LIMIT_POLICY_RULES)
		return read_refuse(&p->r, node, "more than %d rules",
		    LIMIT_POLICY_RULES);
	bool good = read_rule(p, node, index, &rule);
	policy->rules = arena_grow(p->r.arena, policy->rules, policy->n_rules,
	    sizeof(*policy->rules));
	policy->rules[policy->n_rules++] = rule;
	return good;
}

bool
read_rules(struct read_policy *p, const struct doc_node *node,
    struct load_policy_text *policy)
{
	uint32_t index = 0;
	bool good = true;

	if (!read_list(&p->r, node,
		"a list of rules (`[]` if nothing is allowed)"))
		return false;
	if (node->n > LIMIT_POLICY_RULES)
		return read_refuse(&p->r, node, "more than %d rules",
		    LIMIT_POLICY_RULES);
	if (node->n == 0)
		load_warn(p->r.report, read_at(&p->r, node),
		    "no rules: nothing is allowed");
	for (const struct doc_node *i = node->first; i != NULL; i = i->next)
		good = read_item(p, i, ++index, policy) && good;
	return good;
}

/*
 * The parameters of one policy, with the values of the command line.  False: no
 * rule can be read, for want of values; an error only if it is the policy that
 * was asked for.
 */
static bool
read_parameters(struct read_policy *p, const struct doc_node *body,
    const struct load_policy_text *policy, struct load_parameters *out)
{
	const struct load_policy_in *in = p->in;
	bool wanted = p->wanted;
	struct load_at at = { SLICE(SET), 0, 0 };

	if (!parameters_read(&p->r, in, read_find(body, "parameters"),
		policy->name, out))
		return wanted;
	for (size_t i = 0; wanted && i < in->n_sets; i++) {
		if (!parameters_has(out, in->sets[i].key))
			continue;
		p->taken[i] = true;
		(void)parameters_set(&p->r, out, &in->sets[i], at);
	}
	if (wanted)
		p->last = *out;
	return parameters_are_set(&p->r, out, wanted ? "" : NULL) || wanted;
}

bool
read_policy_rules(struct read_policy *p, const struct doc_node *body,
    const struct doc_node **rules)
{
	bool unknown = false;

	if (!read_keys(&p->r, body, policy_keys, COUNT_OF(policy_keys),
		&unknown))
		return false;
	*rules = read_find(body, "rules");
	if (*rules != NULL)
		return true;
	return !unknown &&
	    read_refuse(&p->r, body,
		"`rules` is missing (`rules: []` if nothing is allowed)");
}

static bool
read_refusals(const struct read *r, const struct doc_node *body,
    struct load_policy_text *policy)
{
	static const char expected[] = "`full` or `code`";
	const struct doc_node *node = read_find(body, "refusals");
	struct slice text;

	if (node == NULL)
		return true;
	if (!read_scalar(r, node, expected, &text))
		return false;
	policy->code_only = slice_eq_str(text, "code");
	return policy->code_only || slice_eq_str(text, "full") ||
	    read_refuse(r, node, "expected %s, found `%.*s`", expected,
		SLICE_ARG(text));
}

static bool
read_one(struct read_policy *p, const struct doc_node *key,
    struct load_policy_text *policy)
{
	uint32_t before = p->r.report->n_errors;
	const struct doc_node *body = key->value, *rules;
	struct load_parameters parameters;

	policy->at = read_at(&p->r, key);
	bool named =
	    read_name(&p->r, key, "the name of a policy", &policy->name);
	p->wanted = p->in->any || p->in->policy.n == 0 ||
	    slice_eq(p->in->policy, policy->name);
	if (!read_policy_rules(p, body, &rules))
		return false;
	if (!read_parameters(p, body, policy, &parameters))
		return p->r.report->n_errors == before;
	p->r.parameters = &parameters;
	bool good = read_rules(p, rules, policy) && named &&
	    (!p->wanted || read_added(p, policy)) &&
	    check_names(&p->r, policy) && read_policy_limits(&p->r, policy) &&
	    read_policy_report(p, body, policy) &&
	    read_refusals(&p->r, body, policy);
	if (good)
		parameters_warn_unused(&p->r, &parameters);
	p->r.parameters = NULL;
	return good && p->r.report->n_errors == before;
}

/* Each key once, and none that no policy knows. */
static void
check_sets(struct read_policy *p)
{
	const struct load_policy_in *in = p->in;

	for (size_t i = 0; i < in->n_sets; i++) {
		struct load_at at = { SLICE(SET), 0, 0 };
		for (size_t k = 0; k < i; k++)
			if (slice_eq(in->sets[k].key, in->sets[i].key))
				load_error(p->r.report, at,
				    "`%.*s` is set twice",
				    SLICE_ARG(in->sets[i].key));
		/* It complains: no policy took it. */
		if (!p->taken[i] && p->last.n != 0)
			(void)parameters_set(&p->r, &p->last, &in->sets[i], at);
	}
}

/* `policies:` of a file. */
static bool
read_root(struct read_policy *p, const struct doc_node *root,
    const struct doc_node **policies)
{
	bool unknown = false;

	if (!read_keys(&p->r, root, file_keys, COUNT_OF(file_keys), &unknown))
		return false;
	(void)read_version(&p->r, root); /* its complaint is counted */
	*policies = read_find(root, "policies");
	if (*policies == NULL)
		return !unknown &&
		    read_refuse(&p->r, root, "`policies` is missing");
	if ((*policies)->kind != DOC_MAPPING || (*policies)->n == 0)
		return read_refuse(&p->r, *policies,
		    "expected a mapping from names to policies, such as "
		    "`agent: {rules: []}`");
	return true;
}

static const struct doc_node *
choose(struct read_policy *p, const struct doc_node *policies,
    struct slice name)
{
	struct nearest near = nearest_to(name);

	if (name.n == 0 && policies->n == 1)
		return policies->first->value;
	for (const struct doc_node *k = policies->first; k != NULL;
	     k = k->next) {
		if (slice_eq(k->text, name))
			return k->value;
		nearest_look(&near, k->text);
	}
	if (name.n == 0)
		read_refuse(&p->r, policies,
		    "several policies: say which, as `include: FILE:NAME`");
	else
		read_refuse(&p->r, policies,
		    "there is no policy `%.*s`" NEAREST_FMT, SLICE_ARG(name),
		    NEAREST_ARG(near));
	return NULL;
}

const struct doc_node *
read_policy_choose(struct read_policy *p, struct slice bytes, struct slice file,
    struct slice name)
{
	struct slice outer = p->r.file;
	const struct doc_node *policies, *body = NULL;
	const struct doc_node *root =
	    doc_parse(bytes, file, p->r.arena, p->r.report);

	p->r.file = file;
	if (root != NULL && read_root(p, root, &policies))
		body = choose(p, policies, name);
	p->r.file = outer;
	return body;
}

bool
read_policy_file(struct read_policy *p, const struct doc_node *root,
    struct load_policy_text **policies, uint32_t *n)
{
	uint32_t before = p->r.report->n_errors;
	struct read_scope scope = { .name = p->r.file,
		.preset = p->in->preset,
		.trusted = p->in->trusted };
	const struct doc_node *node;

	*n = 0;
	p->scope = &scope;
	p->n_bytes = p->in->file.bytes.n;
	if (!read_root(p, root, &node))
		return false;
	*policies = arena_alloc(p->r.arena, node->n * sizeof(**policies));
	p->taken = arena_alloc(p->r.arena, p->in->n_sets + 1);
	for (const struct doc_node *k = node->first; k != NULL; k = k->next)
		(void)read_one(p, k, &(*policies)[(*n)++]);
	check_sets(p);
	p->scope = NULL;
	return p->r.report->n_errors == before;
}
