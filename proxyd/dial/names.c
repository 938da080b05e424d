/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "dial/names.h"
#include "policy/verdict.h"

struct names_of_rule {
	SLIST_ENTRY(names_of_rule) entry;
	uint32_t rule;
	struct names names;
};

/* A free place; false: there is none. */
static bool
grow(struct names *names, size_t max)
{
	size_t cap = names->cap == 0 ? 8 : 2 * names->cap;
	struct names_at *at;

	if (names->n == max)
		return false;
	if (names->n < names->cap)
		return true;
	cap = cap < max ? cap : max;
	at = realloc(names->at, cap * sizeof(*at));
	if (at == NULL)
		return false;
	names->at = at;
	names->cap = cap;
	return true;
}

bool
names_spend(struct names *names, size_t max, struct slice name, uint64_t now_ms)
{
	size_t at = 0;

	if (name.n > NAMES_TEXT_MAX)
		return false;
	while (at < names->n &&
	    !slice_eq(slice_of(names->at[at].text, names->at[at].n), name))
		at++;
	/* Not there: that of one which is an hour old, or a free place. */
	if (at == names->n)
		for (at = 0; at < names->n; at++)
			if (now_ms - names->at[at].ms >= NAMES_MS)
				break;
	if (at == names->n) {
		if (!grow(names, max))
			return false;
		names->n++;
	}
	names->at[at].ms = now_ms;
	names->at[at].n = (uint8_t)name.n;
	memcpy(names->at[at].text, name.p, name.n);
	return true;
}

void
names_release(struct names *names)
{
	free(names->at);
	*names = (struct names){ 0 };
}

struct names *
names_of(struct names_list *list, uint32_t rule)
{
	struct names_of_rule *n;

	SLIST_FOREACH(n, list, entry)
		if (n->rule == rule)
			return &n->names;
	n = calloc(1, sizeof(*n));
	if (n == NULL)
		return NULL;
	n->rule = rule;
	SLIST_INSERT_HEAD(list, n, entry);
	return &n->names;
}

static void
names_of_rule_free(struct names_of_rule *n)
{
	names_release(&n->names);
	free(n);
}

void
names_list_renumber(struct names_list *list,
    uint32_t (*now)(uint32_t rule, void *arg), void *arg)
{
	struct names_list kept = SLIST_HEAD_INITIALIZER(kept);

	while (!SLIST_EMPTY(list)) {
		struct names_of_rule *n = SLIST_FIRST(list);
		SLIST_REMOVE_HEAD(list, entry);
		n->rule = now(n->rule, arg);
		if (n->rule == VERDICT_NONE)
			names_of_rule_free(n);
		else
			SLIST_INSERT_HEAD(&kept, n, entry);
	}
	*list = kept;
}

void
names_list_release(struct names_list *list)
{
	while (!SLIST_EMPTY(list)) {
		struct names_of_rule *n = SLIST_FIRST(list);
		SLIST_REMOVE_HEAD(list, entry);
		names_of_rule_free(n);
	}
}
