/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/limits.h"
#include "policy/heads.h"
#include "policy/scheme.h"
#include "policy/shape.h"
#include "policy/verdict.h"
#include "policy/whole.h"

struct whole {
	const struct image *m;
	struct heads_sort *sorts; /* owned: for heads_begin() */
	uint64_t n_sorts;
	bool *seen;		     /* owned: routes that an index has */
	uint32_t index, shape, slot; /* the next of each table */
	bool no_memory;
};

static bool
credentials_are_known(const struct image *m, uint32_t rule)
{
	uint32_t n = image_word(m, TABLE_RULES, rule, RULE_N_CREDENTIALS);

	for (uint32_t i = 0; i < n; i++)
		if (image_word(m, TABLE_RULES, rule, RULE_CREDENTIALS + i) >=
		    image_count(m, TABLE_CREDENTIALS))
			return false;
	return true;
}

/* Texts that the index hashes are no more than there are bytes: none twice. */
static bool
texts_are_apart(const struct image *m, unsigned table, unsigned word)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < image_count(m, table); i++)
		n += image_word(m, table, i, word + 1);
	return n <= m->bytes.n;
}

/* The range at `word` of a rule begins where that of the one before ended. */
static bool
is_next(const struct image *m, uint32_t rule, unsigned word, uint32_t *next)
{
	if (image_word(m, TABLE_RULES, rule, word) != *next)
		return false;
	*next += image_word(m, TABLE_RULES, rule, word + 1);
	return true;
}

/* What rules have, they have for themselves, in their order. */
static bool
rules_are_whole(const struct image *m)
{
	uint32_t n = image_count(m, TABLE_RULES);
	uint32_t route = 0, query = 0, prefix = 0;

	if (n > LIMIT_POLICY_RULES)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = route;
		if (!is_next(m, i, RULE_ROUTES, &route) || route == first ||
		    !is_next(m, i, RULE_QUERIES, &query) ||
		    !is_next(m, i, RULE_PREFIXES, &prefix) ||
		    !credentials_are_known(m, i))
			return false;
		for (uint32_t r = first; r < route; r++)
			if (image_word(m, TABLE_ROUTES, r, ROUTE_RULE) != i)
				return false;
	}
	return route == image_count(m, TABLE_ROUTES);
}

/* Routes of that host alone, each behind the one before. */
static bool
list_is_whole(const struct image *m, uint32_t host, uint32_t at, uint32_t end)
{
	for (uint32_t i = at; i < end; i++) {
		uint32_t route = image_word(m, TABLE_LISTS, i, 0);
		if (image_word(m, TABLE_ROUTES, route, ROUTE_HOST) != host ||
		    (i != at && image_word(m, TABLE_LISTS, i - 1, 0) >= route))
			return false;
	}
	return true;
}

static bool
begin_heads(struct whole *w, struct heads *h, uint32_t at, uint32_t end)
{
	uint64_t n = heads_room(w->m, at, end);

	if (n > w->n_sorts) {
		free(w->sorts);
		w->sorts = calloc(n, sizeof(*w->sorts));
		w->n_sorts = w->sorts == NULL ? 0 : n;
		w->no_memory = w->sorts == NULL;
	} else {
		memset(w->sorts, 0, n * sizeof(*w->sorts));
	}
	heads_begin(h, w->m, w->sorts, n);
	return !w->no_memory;
}

static bool
heads_are_whole(struct whole *w, uint32_t index, uint32_t at, uint32_t end)
{
	const struct image *m = w->m;
	uint32_t head = image_word(m, TABLE_INDEXES, index, INDEX_HEADS);
	uint32_t heads_end =
	    head + image_word(m, TABLE_INDEXES, index, INDEX_N_HEADS);
	struct heads h;

	if (!begin_heads(w, &h, at, end))
		return false;
	for (uint32_t i = at; i < end; i++) {
		uint32_t route = image_word(m, TABLE_LISTS, i, 0);
		if (!heads_take(&h, route))
			continue;
		if (head == heads_end ||
		    image_word(m, TABLE_LISTS, head++, 0) != route)
			return false;
	}
	return head == heads_end;
}

/* Does some literal segment of the pattern lead to that list? */
static bool
any_leads_to(struct slice pattern, uint32_t port, uint32_t list, uint32_t n)
{
	struct slice rest = slice_from(pattern, 1);

	while (rest.n != 0) {
		struct slice segment = shape_take(&rest);
		if (shape_is_literal(segment) &&
		    shape_slot(shape_hash_any(port,
				   shape_hash_segment(segment)),
			n) == list)
			return true;
	}
	return false;
}

/* Is that list of `n` the one in which a path that matches looks for it? */
static bool
route_belongs(const struct image *m, uint32_t route, const struct shape *shape,
    uint32_t list, uint32_t n)
{
	const uint8_t *here = image_record(m, TABLE_ROUTES, route);
	struct slice pattern = image_text(m, here, ROUTE_PATH_S);
	struct shape whole =
	    shape_of(pattern, image_at(here, ROUTE_SCHEME) == SCHEME_GIT);
	uint32_t port = image_at(here, ROUTE_PORT), hash;
	struct shape_cut c;

	if (!shape_is_in(shape, &whole))
		return false;
	if (shape->kind == SHAPE_ANY)
		return any_leads_to(pattern, port, list, n);
	shape_cut(pattern, &c);
	return shape_hash(shape, port, &c, &hash) &&
	    shape_slot(hash, n) == list;
}

static bool
routes_belong(struct whole *w, uint32_t shape, uint32_t host, uint32_t *n)
{
	const struct image *m = w->m;
	struct shape s = shape_at(m, shape);
	uint32_t n_lists =
	    image_word(m, TABLE_SHAPES, shape, SHAPE_N_SLOTS) - 1;

	for (uint32_t k = 0; k < n_lists; k++, w->slot++) {
		uint32_t at = image_word(m, TABLE_SLOTS, w->slot, 0);
		uint32_t end = image_word(m, TABLE_SLOTS, w->slot + 1, 0);
		if (at > end || end > image_count(m, TABLE_LISTS) ||
		    !list_is_whole(m, host, at, end))
			return false;
		for (uint32_t i = at; i < end; i++, ++*n) {
			uint32_t route = image_word(m, TABLE_LISTS, i, 0);
			if (w->seen[route] ||
			    !route_belongs(m, route, &s, k, n_lists))
				return false;
			w->seen[route] = true;
		}
	}
	w->slot++;
	return true;
}

static bool
shapes_are_whole(struct whole *w, uint32_t index, uint32_t host)
{
	const struct image *m = w->m;
	uint32_t n_shapes = image_word(m, TABLE_INDEXES, index, INDEX_N_SHAPES);
	uint32_t n = 0;

	if (n_shapes > SHAPES_MAX ||
	    image_word(m, TABLE_INDEXES, index, INDEX_SHAPES) != w->shape)
		return false;
	for (uint32_t i = 0; i < n_shapes; i++, w->shape++)
		if (image_word(m, TABLE_SHAPES, w->shape, SHAPE_SLOTS) !=
			w->slot ||
		    image_word(m, TABLE_SHAPES, w->shape, SHAPE_N_SLOTS) < 2 ||
		    !routes_belong(w, w->shape, host, &n))
			return false;
	/* Each once, and of this host: so all of them. */
	return n == image_word(m, TABLE_HOSTS, host, HOST_N_LIST);
}

static bool
hosts_are_whole(struct whole *w)
{
	const struct image *m = w->m;
	uint64_t n = 0;

	for (uint32_t i = 0; i < image_count(m, TABLE_HOSTS); i++) {
		uint32_t at = image_word(m, TABLE_HOSTS, i, HOST_LIST);
		uint32_t end = at + image_word(m, TABLE_HOSTS, i, HOST_N_LIST);
		uint32_t index = image_word(m, TABLE_HOSTS, i, HOST_INDEX);
		if (!list_is_whole(m, i, at, end))
			return false;
		n += end - at;
		if (index == IMAGE_NONE)
			continue;
		if (index != w->index++ ||
		    !heads_are_whole(w, index, at, end) ||
		    !shapes_are_whole(w, index, i))
			return false;
	}
	return n == image_count(m, TABLE_ROUTES) &&
	    w->index == image_count(m, TABLE_INDEXES) &&
	    w->shape == image_count(m, TABLE_SHAPES) &&
	    w->slot == image_count(m, TABLE_SLOTS);
}

/* Each pattern stands under the address that it has, and no other does. */
static bool
addresses_are_whole(const struct image *m)
{
	uint32_t n = image_count(m, TABLE_ADDRESSES), before = 0, has = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t v4 = image_word(m, TABLE_ADDRESSES, i, ADDRESS_V4);
		uint32_t host = image_word(m, TABLE_ADDRESSES, i, ADDRESS_HOST);
		if (v4 <= before ||
		    image_word(m, TABLE_HOSTS, host, HOST_ADDRESS) != v4)
			return false;
		before = v4;
	}
	for (uint32_t i = 0; i < image_count(m, TABLE_HOSTS); i++)
		has += image_word(m, TABLE_HOSTS, i, HOST_ADDRESS) != 0 ? 1 : 0;
	return has == n;
}

bool
whole_program(const struct image *m, enum err *err)
{
	struct whole w = { .m = m };

	bool good = image_count(m, TABLE_NODES) != 0 && rules_are_whole(m) &&
	    addresses_are_whole(m) &&
	    texts_are_apart(m, TABLE_ROUTES, ROUTE_PATH_S) &&
	    texts_are_apart(m, TABLE_QUERIES, QUERY_KEY_S);
	if (good) {
		w.seen = calloc((size_t)image_count(m, TABLE_ROUTES) + 1,
		    sizeof(*w.seen));
		w.no_memory = w.seen == NULL;
		good = !w.no_memory && hosts_are_whole(&w);
	}
	free(w.sorts);
	free(w.seen);
	if (!good)
		*err = w.no_memory ? ERR_MEMORY : ERR_INTEGRITY;
	return good;
}
