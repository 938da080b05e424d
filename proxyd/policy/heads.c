/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/heads.h"
#include "base/siphash.h"
#include "policy/walk.h"

#define FOREVER UINT64_MAX

/* What a sort is about: the lowest bits of its number, so that none is 0. */
enum about {
	ABOUT_ROUTE = 1,
	ABOUT_ADDRESSES = 2,
	ABOUT_KEY = 3,
};

uint64_t
heads_room(const struct image *m, uint32_t at, uint32_t end)
{
	uint64_t n = 0, room = 16;
	uint32_t before = IMAGE_NONE;

	for (uint32_t i = at; i < end; i++) {
		uint32_t route = image_word(m, TABLE_LISTS, i, 0);
		uint32_t rule = image_word(m, TABLE_ROUTES, route, ROUTE_RULE);
		n += 2;
		if (rule != before)
			n += image_word(m, TABLE_RULES, rule, RULE_N_QUERIES);
		before = rule;
	}
	while (room < 2 * n)
		room *= 2;
	return room;
}

void
heads_begin(struct heads *h, const struct image *m, struct heads_sort *sorts,
    uint64_t n)
{
	*h = (struct heads){ .m = m,
		.sorts = sorts,
		.n_sorts = n,
		.rule = IMAGE_NONE };
}

/* Is it the first of that sort, or there longer than all before? */
static bool
is_news(struct heads *h, uint64_t sort, uint64_t until)
{
	uint64_t mask = h->n_sorts - 1;
	uint64_t at = (sort * 0x9e3779b97f4a7c15U >> 32) & mask;

	/* There are twice as many places as a host has sorts. */
	while (h->sorts[at].sort != 0 && h->sorts[at].sort != sort)
		at = (at + 1) & mask;
	if (h->sorts[at].sort == sort && h->sorts[at].until >= until)
		return false;
	h->sorts[at] = (struct heads_sort){ sort, until };
	return true;
}

static uint64_t
until_of(const struct image *m, uint32_t rule, uint32_t flags)
{
	if ((flags & RULE_EXPIRES) == 0)
		return FOREVER;
	uint64_t until = image_size(m, TABLE_RULES, rule, RULE_UNTIL);
	/* Where nobody knows the time it is over. */
	return until < FOREVER ? until : FOREVER - 1;
}

/* Of what has no number.  Two of one hash: records lack the second's values. */
static uint64_t
sort_of(uint64_t hash, enum about about, uint32_t more)
{
	return ((hash ^ more) << 2) | about;
}

static uint64_t
hash_of(struct slice s)
{
	static const uint8_t no_key[SIPHASH_KEY_SIZE];

	return siphash(no_key, s);
}

static uint64_t
sort_of_route(const struct image *m, uint32_t route, uint32_t flags)
{
	const uint32_t counts = RULE_DENY | RULE_REPORT | RULE_HIDDEN;
	const uint8_t *here = image_record(m, TABLE_ROUTES, route);
	uint32_t rule = image_at(here, ROUTE_RULE);
	uint32_t git = image_word(m, TABLE_RULES, rule, RULE_GIT);
	uint64_t forge = FORGES, pushes = 0;

	if (git != IMAGE_NONE) {
		forge = image_word(m, TABLE_GIT, git, GIT_FORGE);
		pushes =
		    image_word(m, TABLE_GIT, git, GIT_FLAG_BITS) & GIT_PUSH;
	}
	return ABOUT_ROUTE | (uint64_t)image_at(here, ROUTE_PORT) << 2 |
	    (uint64_t)image_at(here, ROUTE_SCHEME) << 18 | forge << 22 |
	    (walk_is_total(m, route) ? 1ULL << 26 : 0) |
	    (pushes != 0 ? 1ULL << 27 : 0) | (uint64_t)(flags & counts) << 32;
}

/* `addresses:`, by what is in it. */
static uint64_t
hash_addresses(const struct image *m, uint32_t rule)
{
	uint32_t first = image_word(m, TABLE_RULES, rule, RULE_PREFIXES);
	uint32_t n = image_word(m, TABLE_RULES, rule, RULE_N_PREFIXES);

	return n == 0 ? 0 :
			hash_of(slice_of(image_record(m, TABLE_PREFIXES, first),
			    (size_t)n * PREFIX_WORDS * 4));
}

static bool
take_keys(struct heads *h, uint32_t rule, bool deny, uint64_t until)
{
	const struct image *m = h->m;
	uint32_t first = image_word(m, TABLE_RULES, rule, RULE_QUERIES);
	uint32_t n = image_word(m, TABLE_RULES, rule, RULE_N_QUERIES);
	bool news = false;

	for (uint32_t i = first; i < first + n; i++) {
		if (image_word(m, TABLE_QUERIES, i, QUERY_KIND) != QUERY_GLOBS)
			continue;
		uint64_t hash =
		    hash_of(image_string(m, TABLE_QUERIES, i, QUERY_KEY_S));
		if (is_news(h, sort_of(hash, ABOUT_KEY, deny ? 1 : 0), until))
			news = true;
	}
	return news;
}

bool
heads_take(struct heads *h, uint32_t route)
{
	const struct image *m = h->m;
	uint32_t rule = image_word(m, TABLE_ROUTES, route, ROUTE_RULE);
	uint32_t flags = image_word(m, TABLE_RULES, rule, RULE_FLAG_BITS);
	bool deny = (flags & RULE_DENY) != 0;
	uint64_t until = until_of(m, rule, flags);

	bool news = is_news(h, sort_of_route(m, route, flags), until);
	if (rule != h->rule) {
		h->rule = rule;
		h->addresses = deny ? 0 : hash_addresses(m, rule);
		if (take_keys(h, rule, deny, until))
			news = true;
	}
	if (h->addresses != 0 &&
	    is_news(h,
		sort_of(h->addresses, ABOUT_ADDRESSES,
		    image_word(m, TABLE_ROUTES, route, ROUTE_PORT)),
		until))
		news = true;
	return news;
}
