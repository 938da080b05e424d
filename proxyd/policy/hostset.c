/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/hostset.h"
#include "base/ascii.h"
#include "base/ip.h"

#define GUESSES 8 /* steps of a search before it goes on by halves */

/* Take the last label off `name`, with its dot. */
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

bool
hostset_may_cover(struct slice covered)
{
	while (covered.n != 0) {
		struct slice label = take_label(&covered);
		if (slice_has_prefix(label, SLICE("xn--")) ||
		    memchr(label.p, '_', label.n) != NULL)
			return false;
	}
	return true;
}

uint32_t
hostset_hash(struct slice label)
{
	uint32_t hash = 0x811c9dc5U; /* FNV-1a, and MurmurHash3's last steps */

	for (size_t i = 0; i < label.n; i++)
		hash = (hash ^ label.p[i]) * 0x01000193U;
	hash = (hash ^ hash >> 16) * 0x85ebca6bU;
	hash = (hash ^ hash >> 13) * 0xc2b2ae35U;
	return hash ^ hash >> 16;
}

/* Records from `low` up to `high`, whose hashes are not outside of the two. */
struct span {
	uint32_t low, high;
	uint32_t low_hash, high_hash;
};

/*
 * Where a hash would stand if they were all as far from each other: nearly
 * there, where a search by halves looks at a record far from all others, and so
 * at memory that is in no cache, at each step.  A policy whose hashes are not
 * like that is searched by halves after a few steps.
 */
static uint32_t
guess(const struct span *s, uint32_t hash, unsigned step)
{
	uint64_t width = (uint64_t)s->high_hash - s->low_hash + 1;

	if (step >= GUESSES)
		return s->low + (s->high - s->low) / 2;
	return s->low +
	    (uint32_t)((uint64_t)(hash - s->low_hash) * (s->high - s->low) /
		width);
}

/* What is looked for stands below node `at`, or above it. */
static void
narrow(struct span *s, uint32_t at, uint32_t hash, bool below)
{
	if (below) {
		s->high = at;
		s->high_hash = hash;
	} else {
		s->low = at + 1;
		s->low_hash = hash;
	}
}

static uint32_t
find_child(const struct image *m, uint32_t node, struct slice label)
{
	const uint32_t hash = hostset_hash(label);
	uint32_t first = image_word(m, TABLE_NODES, node, NODE_CHILDREN);
	struct span s = { first,
		first + image_word(m, TABLE_NODES, node, NODE_N_CHILDREN), 0,
		UINT32_MAX };

	for (unsigned step = 0; s.low < s.high; step++) {
		/* Only in an image that is out of order. */
		if (hash < s.low_hash || hash > s.high_hash)
			return IMAGE_NONE;
		uint32_t at = guess(&s, hash, step);
		const uint8_t *record = image_record(m, TABLE_NODES, at);
		uint32_t have = image_at(record, NODE_HASH);
		int order = have < hash ? 1 : -1;
		if (have == hash)
			order = slice_compare(label,
			    image_text(m, record, NODE_LABEL_S));
		if (order == 0)
			return at;
		narrow(&s, at, have, order < 0);
	}
	return IMAGE_NONE;
}

static void
add(struct host_matches *found, uint32_t host, bool deny_only)
{
	if (host == IMAGE_NONE || found->n == HOSTSET_MATCHES_MAX)
		return;
	found->at[found->n++] = (struct host_match){ host, deny_only };
}

static void
add_wildcard(struct host_matches *found, uint32_t host, struct slice covered)
{
	if (host != IMAGE_NONE)
		add(found, host, !hostset_may_cover(covered));
}

/* Found from the widest to the narrowest: turn them round. */
static void
reverse(struct host_matches *found)
{
	for (uint32_t i = 0; i < found->n / 2; i++) {
		struct host_match t = found->at[i];
		found->at[i] = found->at[found->n - 1 - i];
		found->at[found->n - 1 - i] = t;
	}
}

static void
match_name(const struct image *m, struct slice name, struct host_matches *found)
{
	struct slice rest = name; /* labels that are still to the left */
	uint32_t node = 0;

	while (rest.n != 0) {
		struct slice covered = rest, label = take_label(&rest);
		add_wildcard(found,
		    image_word(m, TABLE_NODES, node, NODE_DOUBLE), covered);
		if (rest.n == 0)
			add_wildcard(found,
			    image_word(m, TABLE_NODES, node, NODE_STAR),
			    covered);
		node = find_child(m, node, label);
		if (node == IMAGE_NONE)
			return;
	}
	add(found, image_word(m, TABLE_NODES, node, NODE_EXACT), false);
}

static int
compare_literal(const struct image *m, uint32_t i, const struct ip *ip)
{
	struct ip have;

	if (!image_ip(m, TABLE_LITERALS, i, LITERAL_FAMILY, &have))
		return -1;
	if (have.family != ip->family)
		return ip->family < have.family ? -1 : 1;
	return memcmp(ip->bytes, have.bytes, sizeof(have.bytes));
}

uint32_t
hostset_literal(const struct image *m, const struct ip *ip)
{
	uint32_t low = 0, high = image_count(m, TABLE_LITERALS);

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int order = compare_literal(m, mid, ip);
		if (order == 0)
			return image_word(m, TABLE_LITERALS, mid, LITERAL_HOST);
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return IMAGE_NONE;
}

bool
hostset_address(const struct image *m, uint32_t host, struct ip *ip)
{
	uint32_t v4 = image_word(m, TABLE_HOSTS, host, HOST_ADDRESS);

	*ip = ip_v4((uint8_t)(v4 >> 24), (uint8_t)(v4 >> 16),
	    (uint8_t)(v4 >> 8), (uint8_t)v4);
	return v4 != 0;
}

uint32_t
hostset_by_address(const struct image *m, const struct ip *ip)
{
	struct span s = { 0, image_count(m, TABLE_ADDRESSES), 0xc6120000U,
		0xc613ffffU }; /* 198.18.0.0/15 */

	if (ip->family != 4)
		return IMAGE_NONE;
	uint32_t want = image_read(ip->bytes);
	for (unsigned step = 0; s.low < s.high; step++) {
		if (want < s.low_hash || want > s.high_hash)
			return IMAGE_NONE;
		uint32_t at = guess(&s, want, step);
		uint32_t have = image_word(m, TABLE_ADDRESSES, at, ADDRESS_V4);
		if (have == want)
			return image_word(m, TABLE_ADDRESSES, at, ADDRESS_HOST);
		narrow(&s, at, have, want < have);
	}
	return IMAGE_NONE;
}

/* No name ends in a digit label, and none has a colon: else skip the parse. */
static bool
is_literal(struct slice name, struct ip *ip)
{
	if (name.n == 0)
		return false;
	if (!ascii_is_digit(name.p[name.n - 1]) &&
	    memchr(name.p, ':', name.n) == NULL)
		return false;
	return ip_parse(name, ip);
}

void
hostset_match(const struct image *m, struct slice name,
    struct host_matches *found)
{
	struct ip ip;

	found->n = 0;
	if (is_literal(name, &ip)) {
		add(found, hostset_literal(m, &ip), false);
		return;
	}
	match_name(m, name, found);
	reverse(found);
}

void
hostset_covering(const struct image *m, uint32_t host,
    struct host_matches *found)
{
	uint32_t kind = image_word(m, TABLE_HOSTS, host, HOST_KIND);
	struct slice text = image_string(m, TABLE_HOSTS, host, HOST_TEXT_S);
	uint32_t node = 0;

	if (kind == HOST_EXACT || kind == HOST_LITERAL) {
		hostset_match(m, text, found);
		return;
	}
	found->n = 0;
	/* "*.a.b" hangs at "a.b"; a bare "**" at the root. */
	text = slice_from(text, kind == HOST_STAR ? 2 : 3);
	while (text.n != 0 && node != IMAGE_NONE) {
		add_wildcard(found,
		    image_word(m, TABLE_NODES, node, NODE_DOUBLE), text);
		node = find_child(m, node, take_label(&text));
	}
	if (node == IMAGE_NONE)
		return;
	add(found, image_word(m, TABLE_NODES, node, NODE_DOUBLE), false);
	if (kind == HOST_STAR)
		add(found, host, false);
	reverse(found);
}

bool
hostset_one(enum host_kind kind, struct slice text, struct slice name)
{
	if (kind == HOST_EXACT || kind == HOST_LITERAL)
		return slice_eq(text, name);
	struct ip ip;
	if (is_literal(name, &ip))
		return false;
	struct slice covered = name;
	if (text.n != 0) {
		if (name.n < text.n + 2 || name.p[name.n - text.n - 1] != '.' ||
		    !slice_eq(slice_from(name, name.n - text.n), text))
			return false;
		covered = slice_first(name, name.n - text.n - 1);
	}
	if (kind == HOST_STAR && memchr(covered.p, '.', covered.n) != NULL)
		return false;
	return hostset_may_cover(covered);
}
