/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a path pattern is literal, and where, so that the few of a host's
 * many routes that could match a path are found by a hash.
 *
 * A path that matches a pattern has its literal segments in the same places:
 * from the left up to the first `**`, from the right behind the last one; and
 * what stands before or behind the star in a segment with one.  A shape is a
 * choice of such places.  Patterns of one shape hang in one table, each under
 * the hash of its port and of what it has there; a look-up hashes the path's
 * port and what the path has there.  What is found may match or not: the hash
 * says only that all others do not.
 *
 * The same code cuts and hashes patterns and paths; the image's check
 * (policy/whole.h) hashes each pattern again.  Inside policy/ and load/ only.
 * Pure.
 */
#ifndef POLICY_SHAPE_H
#define POLICY_SHAPE_H

#include "policy/image.h"

#define SHAPE_FRONT_MAX 16 /* segments that count, from the left */
#define SHAPE_BACK_MAX 8   /* and from the right: a power of two */
#define SHAPES_MAX 32	   /* of one host */

enum shape_kind {
	SHAPE_PLACES, /* of paths: segments in their places */
	SHAPE_ANY,    /* of paths: one segment, wherever it stands */
	SHAPE_GIT,    /* of repositories: segments in their places */
	SHAPE_KINDS
};

/* `SHAPE_PART` is 0 or 1 and these bits, and above them the segment. */
enum shape_part {
	SHAPE_PART_BACK = 2,  /* counted from the right */
	SHAPE_PART_END = 4,   /* its last bytes count, else its first */
	SHAPE_PART_INDEX = 8, /* times the segment's place */
};

struct shape {
	enum shape_kind kind;
	uint32_t front, back;
	uint32_t part, part_n; /* part_n: how many bytes of it */
};

/* A path, or a compiled pattern, cut at its slashes. */
struct shape_cut {
	struct slice path; /* borrowed */
	uint32_t n;	   /* segments; 0: it matches nothing */
	struct shape_segment {
		uint32_t at, n; /* in the path */
		uint32_t hash;
	} front[SHAPE_FRONT_MAX];
	struct shape_segment back[SHAPE_BACK_MAX]; /* shape_back() */
};

void shape_cut(struct slice path, struct shape_cut *c);

/* Segment `i` from the right; i is below SHAPE_BACK_MAX and below c->n. */
static inline const struct shape_segment *
shape_back(const struct shape_cut *c, uint32_t i)
{
	return &c->back[(c->n - 1 - i) % SHAPE_BACK_MAX];
}

/* All that is literal in its place in a compiled pattern. */
struct shape shape_of(struct slice pattern, bool git);

/* Is all that `s` looks at in its place in patterns of shape `whole`? */
bool shape_is_in(const struct shape *s, const struct shape *whole);

/* How much it tells patterns apart, roughly. */
uint32_t shape_weight(const struct shape *s);

/*
 * The hash of a port and of what a shape other than SHAPE_ANY looks at; false:
 * the path has no such places, so nothing of that shape matches it.
 */
bool shape_hash(const struct shape *s, uint32_t port, const struct shape_cut *c,
    uint32_t *hash);

/* Likewise of SHAPE_ANY and one segment, by that one's hash. */
uint32_t shape_hash_any(uint32_t port, uint32_t segment);

/* The hash of a segment, as in a cut. */
uint32_t shape_hash_segment(struct slice segment);

/* Of a pattern: has it no star, so that SHAPE_ANY may look at it? */
bool shape_is_literal(struct slice segment);

/* Up to the next slash off the front of a pattern's rest, and the slash. */
struct slice shape_take(struct slice *rest);

/* The list of `n`, n above 0, that a hash has. */
static inline uint32_t
shape_slot(uint32_t hash, uint32_t n)
{
	return (uint32_t)((uint64_t)hash * n >> 32);
}

/* The shape in record `i` of TABLE_SHAPES. */
struct shape shape_at(const struct image *m, uint32_t i);

#endif
