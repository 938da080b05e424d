/* SPDX-License-Identifier: Apache-2.0 */
#include "load/advise.h"
#include "load/pattern.h"
#include "load/read_git.h"
#include "policy/method.h"

static const struct read_key rule_keys[] = {
	{ "name", READ_HERE },
	{ "allow", READ_HERE },
	{ "deny", READ_HERE },
	{ "methods", READ_HERE },
	{ "query", READ_HERE },
	{ "credential", READ_HERE },
	{ "foreign_credentials", READ_HERE },
	{ "signed_url", READ_HERE },
	{ "addresses", READ_HERE },
	{ "encoded_slash", READ_HERE },
	{ "public_suffix", READ_HERE },
	{ "limits", READ_HERE },
	{ "expires", READ_HERE },
	{ "report", READ_HERE },
	{ "api", READ_HERE },
	{ "archive", READ_HERE },
	{ "body", READ_LATER },
	{ "fetch", READ_HERE },
	{ "forge", READ_HERE },
	{ "graphql", READ_LATER },
	{ "hide_other_refs", READ_HERE },
	{ "json", READ_LATER },
	{ "lfs", READ_HERE },
	{ "push", READ_HERE },
	{ "secret", READ_CREDENTIAL },
	{ "only", READ_CREDENTIAL },
	{ "place", READ_CREDENTIAL },
	{ "response_filter", READ_CREDENTIAL },
	{ "ranges", READ_CREDENTIAL },
	{ "echo", READ_CREDENTIAL },
	{ "private", READ_OWNER },
	{ "upstream", READ_OWNER },
	{ "files", READ_OWNER },
	{ "environment", READ_OWNER },
};

/* What can stand beside `allow` only. */
static const char *const allow_keys[] = { "credential", "foreign_credentials",
	"signed_url", "addresses", "encoded_slash", "public_suffix", "report",
	"limits", "expires", "fetch", "push", "lfs", "archive",
	"hide_other_refs", "forge", "api" };

static bool
add_pattern(struct read_policy *p, const struct doc_node *node,
    struct load_rule *rule)
{
	rule->patterns = arena_grow(p->r.arena, rule->patterns,
	    rule->n_patterns, sizeof(*rule->patterns));
	/* Only good ones count: what follows compares with them. */
	if (!pattern_read(&p->r, node, rule->deny || rule->public_suffix,
		&rule->patterns[rule->n_patterns]))
		return false;
	rule->n_patterns++;
	return true;
}

static bool
read_patterns(struct read_policy *p, const struct doc_node *node,
    struct load_rule *rule)
{
	bool good = true;

	if (node->kind != DOC_LIST)
		return add_pattern(p, node, rule);
	if (node->n == 0)
		return read_refuse(&p->r, node,
		    "an empty list: expected at least one URL pattern");
	for (const struct doc_node *i = node->first; i != NULL; i = i->next)
		good = add_pattern(p, i, rule) && good;
	return good;
}

static bool
read_method(const struct read *r, const struct doc_node *node,
    uint32_t *methods)
{
	static const char *const never[] = { "TRACE", "CONNECT", "PRI" };
	struct slice text;

	if (!read_scalar(r, node, "a method such as `GET`", &text))
		return false;
	for (size_t i = 0; i < COUNT_OF(never); i++)
		if (slice_eq_str(text, never[i]))
			return read_refuse(r, node, "`%s` is never allowed",
			    never[i]);
	uint32_t bit = method_bit(text);
	if (bit == 0) {
		struct nearest near = nearest_to(text);
		for (unsigned i = 0; i < METHOD_COUNT; i++)
			nearest_look(&near,
			    slice_of_str(method_name((enum method)i)));
		return read_refuse(r, node,
		    "unknown method `%.*s`" NEAREST_FMT "%s", SLICE_ARG(text),
		    NEAREST_ARG(near),
		    near.best.n != 0 ? "" :
				       "; expected one such as `GET` or "
				       "`POST`");
	}
	*methods |= bit;
	return true;
}

static bool
read_methods(const struct read *r, const struct doc_node *node,
    struct load_rule *rule)
{
	bool good = true;

	rule->any_method = false;
	rule->methods = 0;
	if (node->kind == DOC_SCALAR && slice_eq_str(node->text, "any")) {
		rule->methods = METHODS_ANY;
		return true;
	}
	if (!read_list(r, node, "a list of methods, or `any`"))
		return false;
	if (node->n == 0)
		return read_refuse(r, node,
		    "an empty list: expected at least one method");
	for (const struct doc_node *i = node->first; i != NULL; i = i->next)
		good = read_method(r, i, &rule->methods) && good;
	return good;
}

static bool
read_foreign(const struct read *r, const struct doc_node *node,
    struct load_rule *rule)
{
	static const char *const modes[FOREIGN_MODES] = { "refuse", "strip",
		"pass" };
	struct slice text;

	if (!read_scalar(r, node, "`refuse`, `strip` or `pass`", &text))
		return false;
	for (unsigned i = 0; i < FOREIGN_MODES; i++) {
		if (!slice_eq_str(text, modes[i]))
			continue;
		rule->foreign = (enum foreign_mode)i;
		if (rule->foreign == FOREIGN_PASS)
			load_advise(r->report, read_at(r, node),
			    "`foreign_credentials: pass`: the command may use "
			    "an account of its own there, an attacker's too");
		return true;
	}
	return read_refuse(r, node,
	    "expected `refuse`, `strip` or `pass`, found `%.*s`",
	    SLICE_ARG(text));
}

/* Signatures of one URL: `pass` lifts what is refused on hosts with a token. */
static bool
read_signed_url(const struct read *r, const struct doc_node *node,
    struct load_rule *rule)
{
	struct slice text;

	if (!read_scalar(r, node, "`refuse` or `pass`", &text))
		return false;
	rule->signed_url = slice_eq_str(text, "pass");
	if (!rule->signed_url && !slice_eq_str(text, "refuse"))
		return read_refuse(r, node,
		    "expected `refuse` or `pass`, found `%.*s`",
		    SLICE_ARG(text));
	if (rule->signed_url)
		load_advise(r->report, read_at(r, node),
		    "`signed_url: pass`: the command may use URLs that "
		    "somebody else has signed, an attacker too");
	return true;
}

static bool
read_slash(const struct read *r, const struct doc_node *node,
    struct load_rule *rule)
{
	if (!read_bool(r, node, &rule->encoded_slash))
		return false;
	if (rule->encoded_slash)
		load_advise(r->report, read_at(r, node),
		    "`encoded_slash: true`: the origin may read `%%2F` as the "
		    "border of a segment, the rule does not");
	return true;
}

/* `allow` or `deny`, exactly one. */
static bool
read_kind(struct read_policy *p, const struct doc_node *node, bool unknown,
    struct load_rule *rule)
{
	const struct doc_node *allow = read_find(node, "allow");
	const struct doc_node *deny = read_find(node, "deny");
	bool good = true;

	if (allow != NULL && deny != NULL)
		return read_refuse(&p->r, read_find_key(node, "deny"),
		    "`allow` and `deny` in one rule: write two");
	if (allow == NULL && deny == NULL)
		return !unknown &&
		    read_refuse(&p->r, node,
			"a rule has `allow: URL` or `deny: URL`");
	rule->deny = deny != NULL;
	for (size_t i = 0; rule->deny && i < COUNT_OF(allow_keys); i++) {
		const struct doc_node *extra = read_find(node, allow_keys[i]);
		if (extra != NULL)
			good = read_refuse(&p->r, extra,
			    "`%s` says nothing beside `deny`: take it out",
			    allow_keys[i]);
	}
	return read_patterns(p, rule->deny ? deny : allow, rule) && good;
}

/* What has to be read to be looked at says nothing of what passes unread. */
static bool
check_passed(const struct read *r, const struct doc_node *node,
    const struct load_rule *rule)
{
	static const char *const keys[] = { "methods", "query", "credential",
		"foreign_credentials", "signed_url", "encoded_slash",
		"public_suffix", "report" };
	const struct load_pattern *passed = NULL;
	bool good = true;

	for (uint32_t i = 0; i < rule->n_patterns && passed == NULL; i++)
		if (scheme_is_passed(rule->patterns[i].scheme))
			passed = &rule->patterns[i];
	for (size_t i = 0; passed != NULL && i < COUNT_OF(keys); i++) {
		const struct doc_node *value = read_find_key(node, keys[i]);
		if (value != NULL)
			good = read_refuse(r, value,
			    "`%s` in a rule with `%.*s`, which is passed "
			    "unread: it has `name`, `addresses`, `limits` and "
			    "`expires` only",
			    keys[i], SLICE_ARG(passed->text));
	}
	return good;
}

/* What a rule without `methods:` allows. */
static uint32_t
usual_methods(const struct load_rule *rule)
{
	for (uint32_t i = 0; i < rule->n_patterns; i++)
		if (!scheme_is_upgrade(rule->patterns[i].scheme))
			return METHODS_DEFAULT;
	return METHOD_BIT(METHOD_GET);
}

/*
 * The request that asks for an upgrade is a GET, and only one that is enforced
 * is let through.
 */
static bool
check_upgrade(const struct read *r, const struct doc_node *node,
    struct load_rule *rule)
{
	static const char *const keys[] = { "methods", "report" };
	const struct load_pattern *upgrade = NULL;
	bool good = true;

	for (uint32_t i = 0; i < rule->n_patterns && upgrade == NULL; i++)
		if (scheme_is_upgrade(rule->patterns[i].scheme))
			upgrade = &rule->patterns[i];
	for (size_t i = 0; upgrade != NULL && i < COUNT_OF(keys); i++) {
		const struct doc_node *value = read_find_key(node, keys[i]);
		if (value != NULL)
			good = read_refuse(r, value,
			    "`%s` says nothing of `%.*s`: a WebSocket is "
			    "opened by a GET, and allowed or not; write "
			    "another rule for other URLs",
			    keys[i], SLICE_ARG(upgrade->text));
	}
	return good;
}

static bool
read_rule_name(struct read_policy *p, const struct doc_node *node,
    uint32_t index, struct load_rule *rule)
{
	const struct read *r = &p->r;
	struct slice prefix = p->scope->prefix, own;
	const struct doc_node *name = read_find(node, "name");
	char made[32];

	if (name != NULL) {
		rule->at = read_at(r, name);
		if (!read_name(r, name, "the name of a rule", &own))
			return false;
	} else {
		int n = snprintf(made, sizeof(made), "rule-%u", index);
		own = arena_copy(r->arena, slice_of(made, (size_t)n));
	}
	rule->name = own;
	if (prefix.n == 0)
		return true;
	uint8_t *text = arena_alloc(r->arena, prefix.n + own.n);
	memcpy(text, prefix.p, prefix.n);
	memcpy(text + prefix.n, own.p, own.n);
	rule->name = slice_of(text, prefix.n + own.n);
	return true;
}

bool
read_rule(struct read_policy *p, const struct doc_node *node, uint32_t index,
    struct load_rule *rule)
{
	static bool (*const readers[])(const struct read *,
	    const struct doc_node *, struct load_rule *) = { read_methods,
		read_query, read_foreign, read_signed_url, read_slash };
	static const char *const keys[] = { "methods", "query",
		"foreign_credentials", "signed_url", "encoded_slash" };
	uint32_t before = p->r.report->n_errors;
	bool unknown = false;

	*rule = (struct load_rule){ .at = read_at(&p->r, node) };
	if (!read_keys(&p->r, node, rule_keys, COUNT_OF(rule_keys), &unknown))
		return false;
	bool good = read_rule_name(p, node, index, rule);
	const struct doc_node *suffix = read_find(node, "public_suffix");
	if (suffix != NULL)
		good = read_bool(&p->r, suffix, &rule->public_suffix) && good;
	good = read_kind(p, node, unknown, rule) && good;
	good = good && check_passed(&p->r, node, rule) &&
	    check_upgrade(&p->r, node, rule) &&
	    read_rule_git(&p->r, node, rule);
	rule->any_method = rule->deny;
	rule->methods = usual_methods(rule);
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		const struct doc_node *value = read_find(node, keys[i]);
		if (value != NULL)
			good = readers[i](&p->r, value, rule) && good;
	}
	if (rule->deny)
		return good && p->r.report->n_errors == before;
	good = good && read_rule_report(&p->r, node, rule);
	good = good && read_rule_limits(&p->r, node, rule);
	good = good && read_rule_expires(p, node, rule);
	good =
	    read_rule_addresses(p, read_find(node, "addresses"), rule) && good;
	const struct doc_node *credential = read_find(node, "credential");
	if (credential != NULL)
		good = read_rule_credentials(p, credential, rule) && good;
	good = good && p->r.report->n_errors == before;
	if (good)
		advise_rule(&p->r, rule);
	return good;
}
