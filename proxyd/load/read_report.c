/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `report:`, of a rule and of a whole policy: what is let through and recorded
 * instead of refused.  It relaxes names, paths, methods and queries; nothing
 * that such a rule could say opens an address or carries a credential.
 */
#include "base/limits.h"
#include "load/pattern.h"
#include "load/read_policy.h"
#include "policy/address.h"
#include "policy/method.h"

/* Of the rule that a policy's own `report` is; no rule can be called so. */
#define WHOLE_NAME SLICE("(report)")
#define OPTION "--report"

static bool
read_mode(const struct read *r, const struct doc_node *node,
    enum load_reporting *mode)
{
	static const char *const modes[] = { "false", "true", "all" };
	struct slice text;

	if (!read_scalar(r, node, "`true` or `all`", &text))
		return false;
	for (unsigned i = 0; i < COUNT_OF(modes); i++) {
		if (!slice_eq_str(text, modes[i]) || node->quoted)
			continue;
		*mode = (enum load_reporting)i;
		return true;
	}
	return read_refuse(r, node, "expected `true` or `all`, found `%.*s`%s",
	    SLICE_ARG(text), node->quoted ? " in quotes" : "");
}

/* What stays as it is, whatever is reported. */
static bool
check_keys(const struct read *r, const struct doc_node *node)
{
	static const char *const keys[] = { "credential", "foreign_credentials",
		"signed_url", "addresses" };
	bool good = true;

	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		const struct doc_node *key = read_find_key(node, keys[i]);
		if (key != NULL)
			good = read_refuse(r, key,
			    "`%s` beside `report`: names, paths and methods "
			    "are reported, credentials and addresses never; "
			    "write a rule of its own for it",
			    keys[i]);
	}
	return good;
}

static bool
check_literals(const struct read *r, const struct load_rule *rule)
{
	bool good = true;

	for (uint32_t i = 0; i < rule->n_patterns; i++) {
		const struct load_pattern *p = &rule->patterns[i];
		if (p->host.kind != HOST_LITERAL ||
		    address_is_global(&p->host.ip))
			continue;
		load_error(r->report, p->at,
		    "`%.*s` is not public, and `report` opens no address: "
		    "write a rule of its own for it",
		    SLICE_ARG(p->host.text));
		good = false;
	}
	return good;
}

bool
read_rule_report(const struct read *r, const struct doc_node *node,
    struct load_rule *rule)
{
	const struct doc_node *report = read_find(node, "report");
	const struct doc_node *methods = read_find(node, "methods");

	if (report == NULL)
		return true;
	if (!read_mode(r, report, &rule->report))
		return false;
	if (rule->report == LOAD_ENFORCED)
		return true;
	bool good = check_keys(r, node);
	good = check_literals(r, rule) && good;
	if (rule->report == LOAD_REPORT_ALL && methods == NULL)
		rule->methods = METHODS_ANY;
	if (rule->report == LOAD_REPORT_READS &&
	    (rule->methods & ~(uint32_t)METHODS_DEFAULT) != 0)
		good = read_refuse(r, methods,
		    "`report: true` lets GET and HEAD through and no other "
		    "method; for these it has to say `report: all`");
	if (good)
		load_warn(r->report, read_at(r, report),
		    "`report: %.*s`: not enforced: what this rule fits is recorded and "
		    "let through",
		    SLICE_ARG(report->text));
	return good;
}

/* Every name, by https and http: the last word where no rule has one. */
static void
add_whole(struct read_policy *p, struct load_at at, enum load_reporting mode,
    struct load_policy_text *policy)
{
	static const char *const urls[] = { "https://**", "http://**" };
	struct slice file = p->r.file;
	struct load_rule rule = { .at = at,
		.name = WHOLE_NAME,
		.report = mode,
		.methods =
		    mode == LOAD_REPORT_ALL ? METHODS_ANY : METHODS_DEFAULT };

	rule.patterns =
	    arena_alloc(p->r.arena, COUNT_OF(urls) * sizeof(*rule.patterns));
	p->r.file = at.file;
	for (size_t i = 0; i < COUNT_OF(urls); i++) {
		const struct doc_node node = { .kind = DOC_SCALAR,
			.quoted = true,
			.line = at.line,
			.column = at.column,
			.text = slice_of_str(urls[i]) };
		if (pattern_read(&p->r, &node, true,
			&rule.patterns[rule.n_patterns]))
			rule.n_patterns++;
	}
	p->r.file = file;
	policy->rules = arena_grow(p->r.arena, policy->rules, policy->n_rules,
	    sizeof(*policy->rules));
	policy->rules[policy->n_rules++] = rule;
	load_warn(p->r.report, at,
	    "not enforced: %s to any name and path on ports 443 and 80 %s "
	    "recorded and let through",
	    mode == LOAD_REPORT_ALL ? "requests" : "GET and HEAD",
	    mode == LOAD_REPORT_ALL ? "with any method are" : "are");
}

/* Those that are enforced first, each kind in its order. */
static void
put_last(const struct read_policy *p, struct load_policy_text *policy)
{
	struct load_rule *sorted =
	    arena_alloc(p->r.arena, (policy->n_rules + 1) * sizeof(*sorted));
	uint32_t n = 0;

	for (uint32_t i = 0; i < policy->n_rules; i++)
		if (policy->rules[i].report == LOAD_ENFORCED)
			sorted[n++] = policy->rules[i];
	for (uint32_t i = 0; i < policy->n_rules; i++)
		if (policy->rules[i].report != LOAD_ENFORCED)
			sorted[n++] = policy->rules[i];
	policy->rules = sorted;
}

bool
read_policy_report(struct read_policy *p, const struct doc_node *body,
    struct load_policy_text *policy)
{
	const struct doc_node *node = read_find(body, "report");
	enum load_reporting mode = LOAD_ENFORCED;
	struct load_at at = { SLICE(OPTION), 0, 0 };

	if (node != NULL && !read_mode(&p->r, node, &mode))
		return false;
	if (mode != LOAD_ENFORCED)
		at = read_at(&p->r, node);
	else if (p->in->report && p->wanted)
		mode = LOAD_REPORT_READS;
	if (mode != LOAD_ENFORCED && policy->n_rules == LIMIT_POLICY_RULES)
		return read_refuse(&p->r, body, "more than %d rules",
		    LIMIT_POLICY_RULES);
	if (mode != LOAD_ENFORCED)
		add_whole(p, at, mode, policy);
	put_last(p, policy);
	return true;
}

void
read_included_keys(const struct read *r, const struct doc_node *body)
{
	static const char *const keys[] = { "report", "refusals" };

	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		const struct doc_node *key = read_find_key(body, keys[i]);
		if (key != NULL)
			load_warn(r->report, read_at(r, key),
			    "`%s` of a policy that is included says nothing: "
			    "it belongs in the one that is run",
			    keys[i]);
	}
}
