/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/shape.h"
#include "policy/pathglob.h"

/* FNV-1a: short words, and nothing that a peer could fill a list with. */
#define HASH_FIRST 0x811c9dc5U
#define HASH_PRIME 0x01000193U

uint32_t
shape_hash_segment(struct slice s)
{
	uint32_t hash = HASH_FIRST;

	for (size_t i = 0; i < s.n; i++)
		hash = (hash ^ s.p[i]) * HASH_PRIME;
	return hash;
}

/* One more word into a hash, so that the order counts. */
static uint64_t
add(uint64_t hash, uint32_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15U; /* 2^64 / golden ratio */
	return hash ^ hash >> 32;
}

static uint32_t
finish(uint64_t hash)
{
	return (uint32_t)(add(hash, 0) >> 32);
}

static void
add_segment(struct shape_cut *c, size_t from, size_t to, uint32_t hash)
{
	struct shape_segment s = { (uint32_t)from, (uint32_t)(to - from),
		hash };

	if (c->n < SHAPE_FRONT_MAX)
		c->front[c->n] = s;
	c->back[c->n % SHAPE_BACK_MAX] = s;
	c->n++;
}

void
shape_cut(struct slice path, struct shape_cut *c)
{
	uint32_t hash = HASH_FIRST;
	size_t from = 1;

	c->path = path;
	c->n = 0;
	if (path.n == 0)
		return;
	for (size_t i = 1; i < path.n; i++) {
		if (path.p[i] != '/') {
			hash = (hash ^ path.p[i]) * HASH_PRIME;
			continue;
		}
		add_segment(c, from, i, hash);
		hash = HASH_FIRST;
		from = i + 1;
	}
	add_segment(c, from, path.n, hash);
}

static bool
is_star(uint8_t c)
{
	return c == PATHGLOB_STAR || c == PATHGLOB_DOUBLE;
}

bool
shape_is_literal(struct slice segment)
{
	for (size_t i = 0; i < segment.n; i++)
		if (is_star(segment.p[i]))
			return false;
	return true;
}

static bool
is_double(struct slice segment)
{
	return segment.n == 1 && segment.p[0] == PATHGLOB_DOUBLE;
}

/* What stands before the first star of a segment, or behind the last one. */
static void
look_at_part(struct shape *s, struct slice segment, uint32_t place)
{
	size_t first = 0, last = 0;

	while (first < segment.n && !is_star(segment.p[first]))
		first++;
	while (last < segment.n && !is_star(segment.p[segment.n - 1 - last]))
		last++;
	if (s->part != 0 || (first == 0 && last == 0))
		return;
	s->part = 1 | place | (last > first ? SHAPE_PART_END : 0U);
	s->part_n = (uint32_t)(last > first ? last : first);
}

struct slice
shape_take(struct slice *rest)
{
	size_t n = 0;

	while (n < rest->n && rest->p[n] != '/')
		n++;
	struct slice segment = slice_first(*rest, n);
	*rest = slice_from(*rest, n + 1);
	return segment;
}

/* How many segments there are, and which are the first and the last `**`. */
struct doubles {
	uint32_t n, first, last;
	bool some;
};

static struct doubles
find_doubles(struct slice pattern)
{
	struct slice rest = slice_from(pattern, 1);
	struct doubles d = { .first = UINT32_MAX };

	/* What ends in a slash ends in an empty segment. */
	for (bool more = pattern.n != 0; more; d.n++) {
		size_t before = rest.n;
		struct slice segment = shape_take(&rest);
		more = segment.n < before;
		if (!is_double(segment))
			continue;
		d.first = d.some ? d.first : d.n;
		d.last = d.n;
		d.some = true;
	}
	return d;
}

/* Segment `i` of a pattern. */
static void
look_at_segment(struct shape *s, struct slice segment, uint32_t i,
    const struct doubles *d)
{
	uint32_t behind = d->n - 1 - i;

	if (i < d->first && i < SHAPE_FRONT_MAX) {
		if (shape_is_literal(segment))
			s->front |= 1U << i;
		else
			look_at_part(s, segment, i * SHAPE_PART_INDEX);
	} else if (d->some && i > d->last && behind < SHAPE_BACK_MAX) {
		if (shape_is_literal(segment))
			s->back |= 1U << behind;
		else
			look_at_part(s, segment,
			    behind * SHAPE_PART_INDEX | SHAPE_PART_BACK);
	}
}

struct shape
shape_of(struct slice pattern, bool git)
{
	struct shape s = { .kind = git ? SHAPE_GIT : SHAPE_PLACES };
	struct slice rest = slice_from(pattern, 1);
	struct doubles d = find_doubles(pattern);

	for (uint32_t i = 0; i < d.n; i++)
		look_at_segment(&s, shape_take(&rest), i, &d);
	return s;
}

bool
shape_is_in(const struct shape *s, const struct shape *whole)
{
	if (s->kind == SHAPE_ANY)
		return whole->kind == SHAPE_PLACES;
	return s->kind == whole->kind && (s->front & ~whole->front) == 0 &&
	    (s->back & ~whole->back) == 0 &&
	    (s->part == 0 ||
		(s->part == whole->part && s->part_n <= whole->part_n));
}

static uint32_t
bits_in(uint32_t set)
{
	uint32_t n = 0;

	for (; set != 0; set &= set - 1)
		n++;
	return n;
}

uint32_t
shape_weight(const struct shape *s)
{
	/* Segments before bytes of one. */
	return 256 * (bits_in(s->front) + bits_in(s->back)) +
	    (s->part_n < 255 ? s->part_n : 255);
}

static const struct shape_segment *
segment_at(const struct shape_cut *c, uint32_t i, bool back)
{
	if (i >= c->n || i >= (back ? SHAPE_BACK_MAX : SHAPE_FRONT_MAX))
		return NULL;
	return back ? shape_back(c, i) : &c->front[i];
}

/* All segments of a set. */
static bool
add_segments(uint64_t *hash, const struct shape_cut *c, uint32_t set, bool back)
{
	while (set != 0) {
		uint32_t i = (uint32_t)__builtin_ctz(set);
		const struct shape_segment *s = segment_at(c, i, back);
		if (s == NULL)
			return false;
		*hash = add(*hash, s->hash);
		set &= set - 1;
	}
	return true;
}

static bool
add_part(uint64_t *hash, const struct shape_cut *c, const struct shape *shape)
{
	uint32_t n = shape->part_n;
	const struct shape_segment *s =
	    segment_at(c, shape->part / SHAPE_PART_INDEX,
		(shape->part & SHAPE_PART_BACK) != 0);

	if (s == NULL || s->n < n)
		return false;
	size_t at =
	    s->at + ((shape->part & SHAPE_PART_END) != 0 ? s->n - n : 0);
	*hash = add(*hash, shape_hash_segment(slice_of(c->path.p + at, n)));
	return true;
}

bool
shape_hash(const struct shape *s, uint32_t port, const struct shape_cut *c,
    uint32_t *hash)
{
	uint64_t sum = add(0, port);

	if (!add_segments(&sum, c, s->front, false) ||
	    !add_segments(&sum, c, s->back, true) ||
	    (s->part != 0 && !add_part(&sum, c, s)))
		return false;
	*hash = finish(sum);
	return true;
}

uint32_t
shape_hash_any(uint32_t port, uint32_t segment)
{
	return finish(add(add(0, port), segment));
}

struct shape
shape_at(const struct image *m, uint32_t i)
{
	const uint8_t *record = image_record(m, TABLE_SHAPES, i);

	return (struct shape){
		.kind = (enum shape_kind)image_at(record, SHAPE_KIND),
		.front = image_at(record, SHAPE_FRONT),
		.back = image_at(record, SHAPE_BACK),
		.part = image_at(record, SHAPE_PART),
		.part_n = image_at(record, SHAPE_PART_N),
	};
}
