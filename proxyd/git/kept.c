/* SPDX-License-Identifier: Apache-2.0 */
#include "git/kept.h"
#include "base/ascii.h"
#include "git/commit.h"
#include "git/tree.h"
#include "policy/pathglob.h"

struct kept {
	const struct packs *packs;
	struct beyond *beyond;
	struct slice parts[LIMIT_KEEP_DEPTH]; /* of the pattern, from the top */
	size_t n;
	bool is_spent; /* more would have to be looked at than may be */
};

/* One of the two trees of a comparison. */
struct side {
	struct tree t;
	struct tree_entry e; /* the next one that matches, if has_entry */
	bool has_entry;
};

static enum proof compare(struct kept *k, const struct oid *tip,
    const struct oid *base, size_t depth);

/* The parts between slashes, up to the first `**` or as many as there may be:
 * what is not looked into is compared as a whole. */
static void
split(struct kept *k, struct slice pattern)
{
	while (pattern.n != 0 && k->n < LIMIT_KEEP_DEPTH) {
		struct slice rest = slice_from(pattern, 1); /* its slash */
		const uint8_t *slash =
		    rest.n == 0 ? NULL : memchr(rest.p, '/', rest.n);
		size_t n = slash == NULL ? rest.n : (size_t)(slash - rest.p);
		if (rest.n != 0 && rest.p[0] == PATHGLOB_DOUBLE)
			return;
		k->parts[k->n++] = slice_first(rest, n);
		pattern = slice_from(rest, n);
	}
}

/* A part of the pattern against a name, whatever the case of its letters; a
 * star is a run that is not empty.  The usual walk back to the last star. */
static bool
matches(struct slice part, struct slice name)
{
	size_t p = 0, n = 0, star = SIZE_MAX, from = 0;

	while (n < name.n) {
		if (p < part.n && part.p[p] == PATHGLOB_STAR) {
			star = p++;
			from = ++n;
		} else if (p < part.n &&
		    ascii_lower(part.p[p]) == ascii_lower(name.p[n])) {
			p++;
			n++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			n = ++from;
		} else {
			return false;
		}
	}
	return p == part.n;
}

/*
 * On to the next entry that matches.  Trees can name one tree many times over
 * at each level: what all of that costs has an end.
 */
static void
side_next(struct kept *k, struct side *s, size_t depth)
{
	do {
		s->has_entry = tree_next(&s->t, &s->e);
		if (k->beyond->looked > LIMIT_KEEP_SIZE) {
			k->is_spent = true;
			k->beyond->is_cut = true;
			s->has_entry = false;
			return;
		}
		k->beyond->looked += s->has_entry ? s->e.name.n + 1 : 0;
	} while (s->has_entry && !matches(k->parts[depth], s->e.name));
}

static enum proof
open_at(struct kept *k, const struct oid *id, size_t depth)
{
	beyond_add(k->beyond, id);
	if (k->beyond->depth < k->n - depth)
		k->beyond->depth = (unsigned)(k->n - depth);
	return PROOF_OPEN;
}

static bool
is_empty(const struct oid *id)
{
	/* The tree without entries, which need not be in any pack. */
	static const struct oid sha1 = { OID_SHA1,
		{ 0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60,
		    0xe5, 0x4b, 0xf8, 0xd6, 0x92, 0x88, 0xfb, 0xee, 0x49,
		    0x04 } };
	static const struct oid sha256 = { OID_SHA256,
		{ 0x6e, 0xf1, 0x9b, 0x41, 0x22, 0x5c, 0x53, 0x69, 0xf1, 0xc1,
		    0x04, 0xd4, 0x5d, 0x8d, 0x85, 0xef, 0xa9, 0xb0, 0x57, 0xb5,
		    0x3b, 0x14, 0xb4, 0xb9, 0xb9, 0x39, 0xdd, 0x74, 0xde, 0xcc,
		    0x53, 0x21 } };

	return id->n == 0 || oid_eq(id, &sha1) || oid_eq(id, &sha256);
}

/* The tree of that name; none (no name) and the empty one have no entries. */
static enum proof
side_open(struct kept *k, const struct oid *id, size_t depth, struct side *s)
{
	struct slice content = { 0 };

	if (!is_empty(id)) {
		const struct object *o = packs_find(k->packs, id);
		if (o == NULL)
			return open_at(k, id, depth);
		if (o->kind != OBJECT_TREE)
			return PROOF_NO;
		content = object_content(o);
	}
	tree_init(&s->t, content, k->packs->id_size);
	side_next(k, s, depth);
	return PROOF_YES;
}

/* An entry that matches stands on one side only. */
static enum proof
compare_lone(struct kept *k, const struct tree_entry *e, bool is_tip,
    size_t depth)
{
	static const struct oid none = { 0 };

	if (depth + 1 == k->n || e->kind == TREE_LINK || e->kind == TREE_MODULE)
		return PROOF_NO;
	if (e->kind == TREE_FILE) /* nothing can be below it */
		return PROOF_YES;
	return is_tip ? compare(k, &e->id, &none, depth + 1) :
			compare(k, &none, &e->id, depth + 1);
}

/* Both sides have an entry of that name, both a folder or neither. */
static enum proof
compare_pair(struct kept *k, const struct tree_entry *tip,
    const struct tree_entry *base, size_t depth)
{
	if (tip->mode == base->mode && oid_eq(&tip->id, &base->id))
		return PROOF_YES;
	if (depth + 1 == k->n)
		return PROOF_NO;
	if (tip->kind == TREE_FOLDER)
		return compare(k, &tip->id, &base->id, depth + 1);
	/* One of them a link or a submodule: another way to what is below. */
	return tip->kind == TREE_FILE && base->kind == TREE_FILE ? PROOF_YES :
								   PROOF_NO;
}

/* Go through both trees, in their one order, as through one. */
static enum proof
compare_sides(struct kept *k, struct side *tip, struct side *base, size_t depth)
{
	enum proof sum = PROOF_YES;

	while (tip->has_entry || base->has_entry) {
		int order = !base->has_entry ? -1 :
		    !tip->has_entry	     ? 1 :
					       tree_compare(&tip->e, &base->e);
		enum proof one = order < 0 ?
		    compare_lone(k, &tip->e, true, depth) :
		    order > 0 ? compare_lone(k, &base->e, false, depth) :
				compare_pair(k, &tip->e, &base->e, depth);
		if (one == PROOF_NO)
			return PROOF_NO;
		if (one == PROOF_OPEN)
			sum = PROOF_OPEN;
		if (order <= 0)
			side_next(k, tip, depth);
		if (order >= 0)
			side_next(k, base, depth);
	}
	/* What cannot be read to its end could have more. */
	if (tip->t.bad || base->t.bad)
		return PROOF_NO;
	return k->is_spent ? PROOF_OPEN : sum;
}

/*
 * Two trees, of which only what the pattern's parts from `depth` on name
 * counts.  As deep as the pattern has parts.
 */
static enum proof
compare(struct kept *k, const struct oid *tip, const struct oid *base,
    size_t depth)
{
	struct side a, b;

	if (oid_eq(tip, base))
		return PROOF_YES;
	if (depth == k->n) /* only at the top: all of the tree is kept */
		return PROOF_NO;
	enum proof one = side_open(k, tip, depth, &a);
	enum proof two = side_open(k, base, depth, &b);
	if (one == PROOF_NO || two == PROOF_NO)
		return PROOF_NO;
	if (one == PROOF_OPEN || two == PROOF_OPEN)
		return PROOF_OPEN;
	return compare_sides(k, &a, &b, depth);
}

/*
 * The tree of a commit, or of the commit that a tag stands for.  Tags can stand
 * for one another all through a pack, and each ref and pattern goes there anew.
 */
static enum proof
tree_of(struct kept *k, const struct oid *id, struct oid *tree)
{
	const struct object *o = packs_find(k->packs, id);
	struct parse_fail fail;
	struct commit c;
	struct tag t;

	while (o != NULL && o->kind == OBJECT_TAG) {
		if (k->beyond->looked > LIMIT_KEEP_SIZE) {
			k->is_spent = k->beyond->is_cut = true;
			return PROOF_OPEN;
		}
		k->beyond->looked += o->n;
		if (!tag_read(object_content(o), k->packs->id_size, &t, &fail))
			return PROOF_NO;
		id = &t.object;
		o = packs_find(k->packs, id);
	}
	if (o == NULL)
		return open_at(k, id, 0);
	if (o->kind != OBJECT_COMMIT ||
	    !commit_read(object_content(o), k->packs->id_size, &c, &fail))
		return PROOF_NO;
	*tree = c.tree;
	return PROOF_YES;
}

static enum proof
commits_same(struct kept *k, const struct oid *tip, const struct oid *base)
{
	struct oid a, b;

	if (oid_eq(tip, base))
		return PROOF_YES;
	enum proof one = tree_of(k, tip, &a), two = PROOF_YES;
	if (base->n == 0)
		b = (struct oid){ 0 };
	else
		two = tree_of(k, base, &b);
	if (one == PROOF_NO || two == PROOF_NO)
		return PROOF_NO;
	if (one == PROOF_OPEN || two == PROOF_OPEN)
		return PROOF_OPEN;
	return compare(k, &a, &b, 0);
}

enum proof
kept_same(const struct packs *packs, const struct oid *tip,
    const struct oid *base, struct slice pattern, struct beyond *beyond)
{
	struct beyond_mark mark = beyond_mark(beyond);
	struct kept k = { .packs = packs, .beyond = beyond };

	split(&k, pattern);
	return beyond_end(beyond, mark, commits_same(&k, tip, base));
}
