/* SPDX-License-Identifier: Apache-2.0 */
#include "load/compile.h"

struct entry {
	const struct load_host *host;
	uint32_t route;
};

/* Take the last label off. */
static struct slice
take_label(struct slice *name)
{
	size_t from = name->n;

	while (from > 0 && name->p[from - 1] != '.')
		from--;
	struct slice label = { name->p + from, name->n - from };
	*name = slice_first(*name, from == 0 ? 0 : from - 1);
	return label;
}

static int
compare_bytes(struct slice a, struct slice b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int order = n == 0 ? 0 : memcmp(a.p, b.p, n);

	if (order != 0)
		return order;
	return a.n < b.n ? -1 : a.n > b.n;
}

/* Label by label from the right; a name stands before what ends in it. */
static int
compare_names(struct slice a, struct slice b)
{
	while (a.n != 0 && b.n != 0) {
		int order = compare_bytes(take_label(&a), take_label(&b));
		if (order != 0)
			return order;
	}
	if (a.n != 0)
		return 1;
	return b.n != 0 ? -1 : 0;
}

static int
compare_hosts(const struct load_host *a, const struct load_host *b)
{
	bool la = a->kind == HOST_LITERAL, lb = b->kind == HOST_LITERAL;

	if (la != lb)
		return la ? 1 : -1;
	if (la && a->ip.family != b->ip.family)
		return a->ip.family < b->ip.family ? -1 : 1;
	if (la)
		return memcmp(a->ip.bytes, b->ip.bytes, sizeof(a->ip.bytes));
	int order = compare_names(a->behind, b->behind);
	if (order != 0)
		return order;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static int
compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = compare_hosts(a->host, b->host);

	if (order != 0)
		return order;
	return a->route < b->route ? -1 : a->route > b->route;
}

static void
collect(struct compile_hosts *h, struct arena *a,
    const struct load_policy_text *policy, struct entry **entries)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < policy->n_rules; i++)
		n += policy->rules[i].n_patterns;
	h->n_routes = n;
	h->rules = arena_alloc(a, (n + 1) * sizeof(*h->rules));
	h->patterns = arena_alloc(a, (n + 1) * sizeof(*h->patterns));
	*entries = arena_alloc(a, (n + 1) * sizeof(**entries));
	n = 0;
	for (uint32_t i = 0; i < policy->n_rules; i++) {
		const struct load_rule *rule = &policy->rules[i];
		for (uint32_t k = 0; k < rule->n_patterns; k++, n++) {
			h->rules[n] = rule;
			h->patterns[n] = &rule->patterns[k];
			(*entries)[n] =
			    (struct entry){ &rule->patterns[k].host, n };
		}
	}
}

void
compile_hosts(struct compile_hosts *h, struct arena *a,
    const struct load_policy_text *policy)
{
	struct entry *entries;

	*h = (struct compile_hosts){ .n = 0 };
	collect(h, a, policy, &entries);
	size_t room = (size_t)h->n_routes + 1;
	if (h->n_routes != 0)
		qsort(entries, h->n_routes, sizeof(*entries), compare_entries);
	h->hosts = arena_alloc(a, room * sizeof(*h->hosts));
	h->of_route = arena_alloc(a, room * sizeof(*h->of_route));
	h->first = arena_alloc(a, (room + 1) * sizeof(*h->first));
	h->list = arena_alloc(a, room * sizeof(*h->list));
	for (uint32_t i = 0; i < h->n_routes; i++) {
		const struct load_host *host = entries[i].host;
		if (h->n == 0 || compare_hosts(h->hosts[h->n - 1], host) != 0) {
			h->first[h->n] = i;
			h->hosts[h->n++] = host;
			h->n_names += host->kind != HOST_LITERAL ? 1 : 0;
		}
		h->of_route[entries[i].route] = h->n - 1;
		h->list[i] = entries[i].route;
	}
	h->first[h->n] = h->n_routes;
}
