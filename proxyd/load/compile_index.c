/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which shapes (policy/shape.h) a host's patterns are looked up by.
 *
 * Each pattern has the shape of all that is literal in it, if few of the host's
 * patterns have others; else one that looks at less.  Where many are alike in
 * those places, and differ in a segment whose place is not known, they hang
 * under that segment.
 */
#include "load/compile_index.h"
#include "base/mem.h"
#include "policy/heads.h"
#include "policy/inside.h"
#include "policy/scheme.h"
#include "policy/shape.h"

#define KINDS_MAX 256 /* shapes of which the patterns are counted */
#define CROWD 8	      /* patterns that are alike, from which on it counts */

/* A host's routes while its index is made. */
struct host_index {
	struct build *b;
	struct image m;
	uint32_t n;
	struct indexed {
		uint32_t route;
		uint32_t shape; /* which of `shapes` */
		uint32_t hash;
		struct shape whole;
	} * routes; /* owned */
	struct shape shapes[SHAPES_MAX];
	uint32_t n_shapes;
};

static bool
is_same(const struct shape *a, const struct shape *b)
{
	return a->kind == b->kind && a->front == b->front &&
	    a->back == b->back && a->part == b->part && a->part_n == b->part_n;
}

/* `shape` among the first `n`, or n. */
static uint32_t
find_shape(const struct shape *shapes, uint32_t n, const struct shape *shape)
{
	uint32_t i = 0;

	while (i < n && !is_same(&shapes[i], shape))
		i++;
	return i;
}

static struct slice
pattern_of(const struct host_index *x, uint32_t route)
{
	return image_string(&x->m, TABLE_ROUTES, route, ROUTE_PATH_S);
}

static uint32_t
port_of(const struct host_index *x, uint32_t route)
{
	return image_word(&x->m, TABLE_ROUTES, route, ROUTE_PORT);
}

static void
read_routes(struct host_index *x, uint32_t at)
{
	for (uint32_t i = 0; i < x->n; i++) {
		struct indexed *r = &x->routes[i];
		r->route = image_word(&x->m, TABLE_LISTS, at + i, 0);
		r->whole = shape_of(pattern_of(x, r->route),
		    image_word(&x->m, TABLE_ROUTES, r->route, ROUTE_SCHEME) ==
			SCHEME_GIT);
	}
}

/* Those that most patterns have, with room for the three that look at less. */
static void
choose_shapes(struct host_index *x)
{
	struct shape kinds[KINDS_MAX];
	uint32_t counts[KINDS_MAX] = { 0 }, n = 0;

	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t k = find_shape(kinds, n, &x->routes[i].whole);
		if (k == KINDS_MAX)
			continue;
		if (k == n)
			kinds[n++] = x->routes[i].whole;
		counts[k]++;
	}
	while (x->n_shapes < SHAPES_MAX - 3) {
		uint32_t best = 0;
		for (uint32_t k = 0; k < n; k++)
			best = counts[k] > counts[best] ? k : best;
		if (n == 0 || counts[best] == 0)
			return;
		x->shapes[x->n_shapes++] = kinds[best];
		counts[best] = 0;
	}
}

/* The shape that tells it best from others; one that looks at nothing, if need
 * be. */
static uint32_t
best_shape(struct host_index *x, const struct shape *whole)
{
	uint32_t best = x->n_shapes;

	for (uint32_t i = 0; i < x->n_shapes; i++)
		if (shape_is_in(&x->shapes[i], whole) &&
		    (best == x->n_shapes ||
			shape_weight(&x->shapes[i]) >
			    shape_weight(&x->shapes[best])))
			best = i;
	if (best == x->n_shapes)
		x->shapes[x->n_shapes++] =
		    (struct shape){ .kind = whole->kind };
	return best;
}

static void
give_shapes(struct host_index *x)
{
	for (uint32_t i = 0; i < x->n; i++) {
		struct indexed *r = &x->routes[i];
		struct shape_cut c;
		r->shape = best_shape(x, &r->whole);
		shape_cut(pattern_of(x, r->route), &c);
		/* A pattern has the places of its own shape. */
		(void)shape_hash(&x->shapes[r->shape], port_of(x, r->route), &c,
		    &r->hash);
	}
}

/* Words, sorted, of which each may stand many times. */
struct crowd {
	uint64_t *words; /* owned */
	size_t n;
};

static int
compare_words(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* How many there are below `word`. */
static size_t
count_below(const struct crowd *c, uint64_t word)
{
	size_t low = 0, high = c->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (c->words[mid] < word)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static size_t
count(const struct crowd *c, uint64_t word)
{
	return count_below(c, word + 1) - count_below(c, word);
}

/* By shape and hash: those that one look-up would find together. */
static uint64_t
place_of(const struct indexed *r)
{
	return (uint64_t)r->shape << 32 | r->hash;
}

static struct crowd
crowd_of_places(const struct host_index *x)
{
	struct crowd c = { mem_array(x->n, sizeof(*c.words)), x->n };

	for (uint32_t i = 0; i < x->n; i++)
		c.words[i] = place_of(&x->routes[i]);
	qsort(c.words, c.n, sizeof(*c.words), compare_words);
	return c;
}

/* Is it one of many paths that its places do not tell apart? */
static bool
is_crowded(const struct host_index *x, const struct crowd *places, uint32_t i)
{
	return x->routes[i].whole.kind == SHAPE_PLACES &&
	    count(places, place_of(&x->routes[i])) > CROWD;
}

/*
 * The literal segments of all that are crowded, by port, into `words`, which
 * may be NULL.  Returns how many.
 */
static size_t
take_segments(const struct host_index *x, const struct crowd *places,
    uint64_t *words)
{
	size_t n = 0;

	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t route = x->routes[i].route;
		struct slice rest = slice_from(pattern_of(x, route), 1);
		if (!is_crowded(x, places, i))
			continue;
		while (rest.n != 0) {
			struct slice segment = shape_take(&rest);
			if (!shape_is_literal(segment))
				continue;
			if (words != NULL)
				words[n] = shape_hash_any(port_of(x, route),
				    shape_hash_segment(segment));
			n++;
		}
	}
	return n;
}

/* The segment that the fewest have, by its hash; how many: 0, there is none. */
static size_t
find_rarest(const struct host_index *x, const struct crowd *segments,
    uint32_t route, uint32_t *hash)
{
	struct slice rest = slice_from(pattern_of(x, route), 1);
	size_t least = 0;

	while (rest.n != 0) {
		struct slice segment = shape_take(&rest);
		if (!shape_is_literal(segment))
			continue;
		uint32_t h = shape_hash_any(port_of(x, route),
		    shape_hash_segment(segment));
		size_t n = count(segments, h);
		if (least == 0 || n < least) {
			least = n;
			*hash = h;
		}
	}
	return least;
}

/* Those that are crowded go under a segment, where they are fewer. */
static void
move_crowded(struct host_index *x)
{
	struct crowd places = crowd_of_places(x), segments;
	uint32_t any = x->n_shapes, hash = 0;

	segments.n = take_segments(x, &places, NULL);
	segments.words = mem_array(segments.n + 1, sizeof(*segments.words));
	(void)take_segments(x, &places, segments.words);
	qsort(segments.words, segments.n, sizeof(*segments.words),
	    compare_words);
	for (uint32_t i = 0; i < x->n; i++) {
		struct indexed *r = &x->routes[i];
		if (!is_crowded(x, &places, i))
			continue;
		size_t n = find_rarest(x, &segments, r->route, &hash);
		if (n == 0 || 2 * n > count(&places, place_of(r)))
			continue;
		r->shape = any;
		r->hash = hash;
		x->shapes[any] = (struct shape){ .kind = SHAPE_ANY };
		x->n_shapes = any + 1;
	}
	free(places.words);
	free(segments.words);
}

static void
put_heads(struct host_index *x, uint32_t at)
{
	uint32_t *heads = mem_array(x->n, sizeof(*heads)), n = 0;
	uint64_t room = heads_room(&x->m, at, at + x->n);
	struct heads_sort *sorts = mem_array(room, sizeof(*sorts));
	struct heads h;

	heads_begin(&h, &x->m, sorts, room);
	for (uint32_t i = 0; i < x->n; i++)
		if (heads_take(&h, x->routes[i].route))
			heads[n++] = x->routes[i].route;
	free(sorts);
	build_word(x->b, TABLE_INDEXES, x->b->words[TABLE_LISTS]);
	build_word(x->b, TABLE_INDEXES, n);
	for (uint32_t i = 0; i < n; i++)
		build_word(x->b, TABLE_LISTS, heads[i]);
	free(heads);
}

/* The lists of one shape: routes by slot, each list in order. */
static void
put_lists(struct host_index *x, uint32_t shape, uint32_t n_lists)
{
	uint32_t *ends = mem_array(n_lists + 1, sizeof(*ends));
	uint32_t first = x->b->words[TABLE_LISTS], n;

	for (uint32_t i = 0; i < x->n; i++)
		if (x->routes[i].shape == shape)
			ends[shape_slot(x->routes[i].hash, n_lists) + 1]++;
	for (uint32_t i = 0; i < n_lists; i++)
		ends[i + 1] += ends[i];
	for (uint32_t i = 0; i <= n_lists; i++)
		build_word(x->b, TABLE_SLOTS, first + ends[i]);
	n = ends[n_lists];
	uint32_t *list = mem_array(n + 1, sizeof(*list));
	for (uint32_t i = 0; i < x->n; i++)
		if (x->routes[i].shape == shape)
			list[ends[shape_slot(x->routes[i].hash, n_lists)]++] =
			    x->routes[i].route;
	for (uint32_t i = 0; i < n; i++)
		build_word(x->b, TABLE_LISTS, list[i]);
	free(list);
	free(ends);
}

static void
put_shapes(struct host_index *x)
{
	uint32_t counts[SHAPES_MAX] = { 0 };

	for (uint32_t i = 0; i < x->n; i++)
		counts[x->routes[i].shape]++;
	build_word(x->b, TABLE_INDEXES,
	    x->b->words[TABLE_SHAPES] / SHAPE_WORDS);
	build_word(x->b, TABLE_INDEXES, x->n_shapes);
	for (uint32_t i = 0; i < x->n_shapes; i++) {
		const struct shape *s = &x->shapes[i];
		/* Most are empty: what a request looks for is mostly in none
		 * of its shapes' lists but one, and costs a match if it is. */
		uint32_t n_lists = 4 * counts[i] + 1;
		build_word(x->b, TABLE_SHAPES, s->kind);
		build_word(x->b, TABLE_SHAPES, s->front);
		build_word(x->b, TABLE_SHAPES, s->back);
		build_word(x->b, TABLE_SHAPES, s->part);
		build_word(x->b, TABLE_SHAPES, s->part_n);
		build_word(x->b, TABLE_SHAPES, x->b->words[TABLE_SLOTS]);
		build_word(x->b, TABLE_SHAPES, n_lists + 1);
		put_lists(x, i, n_lists);
	}
}

static void
index_host(struct build *b, const struct image *m, uint32_t host)
{
	struct host_index x = { .b = b, .m = *m };
	uint32_t at = image_word(m, TABLE_HOSTS, host, HOST_LIST);

	x.n = image_word(m, TABLE_HOSTS, host, HOST_N_LIST);
	x.routes = mem_array(x.n, sizeof(*x.routes));
	read_routes(&x, at);
	choose_shapes(&x);
	give_shapes(&x);
	move_crowded(&x);
	put_heads(&x, at);
	put_shapes(&x);
	free(x.routes);
}

void
compile_index(struct build *b)
{
	struct image m;
	uint32_t host = 0;

	/* What is written moves the tables: each host looks at them anew. */
	while (build_view(b, &inside_program, &m) &&
	    host < image_count(&m, TABLE_HOSTS)) {
		if (image_word(&m, TABLE_HOSTS, host, HOST_INDEX) != IMAGE_NONE)
			index_host(b, &m, host);
		host++;
	}
}
