/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/seek.h"
#include "policy/walk.h"

void
seek_init(struct seek *s, const struct image *m,
    const struct host_matches *found, const struct facts *f, uint16_t port)
{
	s->m = m;
	s->found = found;
	s->f = m->timed ? f : NULL;
	s->port = port;
	s->n = s->path = s->host = s->shape = s->shape_end = 0;
	s->at = s->end = 0;
	s->is_cut = false;
}

void
seek_path(struct seek *s, struct slice path, bool git)
{
	s->paths[s->n].path = path;
	s->paths[s->n].git = git;
	s->n++;
}

/* Small hosts need no cut. */
static const struct shape_cut *
cut_of(struct seek *s)
{
	if (!s->is_cut)
		shape_cut(s->paths[s->path].path, &s->cut);
	s->is_cut = true;
	return &s->cut;
}

/* Lists `first` to `last` of the shape at hand, one behind the other. */
static void
set_lists(struct seek *s, uint32_t first, uint32_t last)
{
	uint32_t slots = image_word(s->m, TABLE_SHAPES, s->shape, SHAPE_SLOTS);

	s->at = image_word(s->m, TABLE_SLOTS, slots + first, 0);
	s->end = image_word(s->m, TABLE_SLOTS, slots + last + 1, 0);
}

static bool
stood_before(const struct shape_cut *c, uint32_t segment)
{
	for (uint32_t i = 0; i < segment; i++)
		if (c->front[i].hash == c->front[segment].hash)
			return true;
	return false;
}

static void
next_shape(struct seek *s)
{
	s->shape++;
	s->segment = 0;
}

/* One segment after the other; of a path of very many, all lists. */
static void
seek_any(struct seek *s, uint32_t n_lists)
{
	const struct shape_cut *c = cut_of(s);
	uint32_t at = s->segment++;

	if (c->n > SEEK_ANY) {
		set_lists(s, 0, n_lists - 1);
		next_shape(s);
	} else if (at >= c->n) {
		next_shape(s);
	} else if (!stood_before(c, at)) {
		uint32_t slot =
		    shape_slot(shape_hash_any(s->port, c->front[at].hash),
			n_lists);
		set_lists(s, slot, slot);
	}
}

static void
seek_shape(struct seek *s)
{
	struct shape shape = shape_at(s->m, s->shape);
	uint32_t n_lists =
	    image_word(s->m, TABLE_SHAPES, s->shape, SHAPE_N_SLOTS) - 1;
	uint32_t hash;

	if (shape.kind == SHAPE_ANY && !s->paths[s->path].git) {
		seek_any(s, n_lists);
		return;
	}
	if (s->paths[s->path].git == (shape.kind == SHAPE_GIT) &&
	    shape_hash(&shape, s->port, cut_of(s), &hash))
		set_lists(s, shape_slot(hash, n_lists),
		    shape_slot(hash, n_lists));
	next_shape(s);
}

/* Where there is no index, all routes are looked at, with the first path. */
static void
seek_host(struct seek *s)
{
	const struct host_match *found = &s->found->at[s->host++];
	const uint8_t *host = image_record(s->m, TABLE_HOSTS, found->host);
	uint32_t index = image_at(host, HOST_INDEX);

	s->deny_only = found->deny_only;
	if (index == IMAGE_NONE || s->port == 0) {
		s->at = image_at(host, HOST_LIST);
		s->end =
		    s->path != 0 ? s->at : s->at + image_at(host, HOST_N_LIST);
		return;
	}
	s->shape = image_word(s->m, TABLE_INDEXES, index, INDEX_SHAPES);
	s->shape_end =
	    s->shape + image_word(s->m, TABLE_INDEXES, index, INDEX_N_SHAPES);
	s->segment = 0;
}

static void
next_path(struct seek *s)
{
	s->path++;
	s->host = 0;
	s->is_cut = false;
}

static bool
counts(const struct seek *s, uint32_t route)
{
	if (s->deny_only && !walk_is_deny(s->m, route))
		return false;
	return s->f == NULL ||
	    !walk_has_expired(s->m,
		image_word(s->m, TABLE_ROUTES, route, ROUTE_RULE), s->f->now_s);
}

uint32_t
seek_next(struct seek *s)
{
	for (;;) {
		while (s->at < s->end) {
			uint32_t route =
			    image_word(s->m, TABLE_LISTS, s->at++, 0);
			if (counts(s, route))
				return route;
		}
		if (s->shape < s->shape_end)
			seek_shape(s);
		else if (s->host < s->found->n)
			seek_host(s);
		else if (s->path + 1 < s->n)
			next_path(s);
		else
			return IMAGE_NONE;
	}
}
