/* SPDX-License-Identifier: Apache-2.0 */
#include "load/parameter.h"
#include "load/read_policy.h"
#include "policy/querycond.h"

#define OTHERS "others"

static bool
read_glob(const struct read *r, const struct doc_node *node,
    struct load_query *query)
{
	uint8_t compiled[QUERYCOND_GLOB_MAX];
	const char *why = "";
	size_t n;

	/* An empty value is a value: it must be quoted to be seen. */
	struct slice text;
	if (!read_scalar(r, node, "a glob (quoted if it is empty)", &text) ||
	    !parameter_whole(r, node, &text))
		return false;
	if (!querycond_compile(text, compiled, &n, &why))
		return read_refuse(r, node, "glob of a query: %s", why);
	query->globs = arena_grow(r->arena, query->globs, query->n_globs,
	    sizeof(*query->globs));
	query->globs[query->n_globs++] =
	    arena_copy(r->arena, slice_of(compiled, n));
	return true;
}

static bool
read_globs(const struct read *r, const struct doc_node *node,
    struct load_query *query)
{
	bool good = true;

	query->kind = QUERY_GLOBS;
	if (node->n == 0)
		return read_refuse(r, node,
		    "an empty list: expected at least one glob, or `absent`");
	for (const struct doc_node *i = node->first; i != NULL; i = i->next)
		good = read_glob(r, i, query) && good;
	return good;
}

/* `others:` is the setting if it says so, else a key of that name. */
static bool
read_others(const struct doc_node *key, struct load_rule *rule)
{
	const struct doc_node *value = key->value;

	if (!slice_eq_str(key->text, OTHERS) || value->kind != DOC_SCALAR)
		return false;
	rule->query_others = slice_eq_str(value->text, "allow");
	return rule->query_others || slice_eq_str(value->text, "refuse");
}

static bool
read_condition(const struct read *r, const struct doc_node *key,
    struct load_rule *rule)
{
	const struct doc_node *value = key->value;
	struct slice text;

	if (read_others(key, rule)) {
		if (!rule->deny)
			return true;
		return read_refuse(r, key,
		    "`others` says nothing beside `deny`: a deny rule looks at "
		    "the keys that it names");
	}
	rule->queries = arena_grow(r->arena, rule->queries, rule->n_queries,
	    sizeof(*rule->queries));
	struct load_query *query = &rule->queries[rule->n_queries++];
	*query = (struct load_query){ .key = key->text };
	if (value->kind == DOC_LIST)
		return read_globs(r, value, query);
	if (!read_scalar(r, value, "a list of globs, `any` or `absent`", &text))
		return false;
	if (slice_eq_str(text, "any"))
		query->kind = QUERY_ANY;
	else if (slice_eq_str(text, "absent"))
		query->kind = QUERY_ABSENT;
	else
		return read_refuse(r, value,
		    "expected a list of globs, `any` or `absent`, found "
		    "`%.*s`%s",
		    SLICE_ARG(text),
		    slice_eq_str(key->text, OTHERS) ?
			"; `others` is also `allow` or `refuse`" :
			"; a single glob is a list of one");
	return true;
}

bool
read_query(const struct read *r, const struct doc_node *node,
    struct load_rule *rule)
{
	bool good = true;

	rule->has_query = true;
	if (node->kind != DOC_MAPPING)
		return read_refuse(r, node,
		    "expected a mapping from query keys to conditions (`{}` "
		    "if there may be no query)");
	for (const struct doc_node *k = node->first; k != NULL; k = k->next)
		good = read_condition(r, k, rule) && good;
	return good;
}
