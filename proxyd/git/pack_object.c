/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "git/commit.h"
#include "git/pack_inside.h"

#define NAME_HEAD 32 /* "commit", a blank, 20 digits and a NUL */
#define FIRST_WAITING 16

static const char *const kinds[OBJECT_KINDS] = {
	[OBJECT_COMMIT] = "commit",
	[OBJECT_TREE] = "tree",
	[OBJECT_BLOB] = "blob",
	[OBJECT_TAG] = "tag",
};

/* An object's name is the digest of its kind, its size, a NUL, its content. */
static void
name_begin(struct pack *p, enum object_kind kind, uint64_t size)
{
	char digits[NAME_HEAD];
	size_t at = sizeof(digits);

	digits[--at] = '\0';
	do
		digits[--at] = (char)('0' + size % 10);
	while ((size /= 10) != 0);
	digest_put(p->name, slice_of_str(kinds[kind]));
	digest_put(p->name, SLICE(" "));
	digest_put(p->name, slice_of(digits + at, sizeof(digits) - at));
}

static struct oid
name_end(struct pack *p)
{
	uint8_t sum[DIGEST_SIZE];

	digest_end(p->name, sum);
	return oid_of(sum, p->cfg.id_size);
}

void
pack_entry_hash(struct pack *p, struct slice in)
{
	digest_put(p->name, in);
}

/* What an entry makes can be a file: so much of its size is believed. */
static void
note_size(struct pack *p, enum object_kind kind, uint64_t size)
{
	if ((kind == OBJECT_BLOB || kind == OBJECT_UNKNOWN) &&
	    size > p->facts.largest)
		p->facts.largest = size;
}

static bool
is_blob_name(const struct pack *p, const struct oid *id)
{
	return p->cfg.names &&
	    entries_has_name(&p->entries,
		siphash(p->cfg.key, slice_of(id->b, id->n)));
}

/*
 * The kind of a delta's base, and where it stands if it is kept; unknown if it
 * has not come, or is not in this pack at all.
 */
static enum object_kind
find_base(const struct pack *p, const struct oid *name, uint64_t at,
    const struct object **base)
{
	size_t i;

	*base = NULL;
	if (name->n != 0) {
		*base = spool_find(&p->spool, name);
		if (*base != NULL)
			return (*base)->kind;
		return is_blob_name(p, name) ? OBJECT_BLOB : OBJECT_UNKNOWN;
	}
	if (!entries_find(&p->entries, at, &i))
		return OBJECT_UNKNOWN;
	*base = spool_at(&p->spool, at);
	return entries_kind(&p->entries, i);
}

static bool
may_wait(const struct pack *p, uint64_t size)
{
	size_t used = p->waiting_used + 2 * sizeof(struct waiting);

	return used <= LIMIT_PACK_WAITING_SIZE &&
	    size <= LIMIT_PACK_WAITING_SIZE - used;
}

/* Is there a use for the data of the entry whose head is p->e? */
static bool
is_wanted(const struct pack *p, const struct object *base)
{
	const struct entry *e = &p->e;

	if (e->size > LIMIT_PACK_LOOK_SIZE || e->kind == OBJECT_BLOB)
		return false;
	if (e->kind == OBJECT_UNKNOWN)
		return may_wait(p, e->size);
	if (e->is_delta)
		return base != NULL;
	return spool_has_room(&p->spool, e->kind, (size_t)e->size);
}

enum parse
pack_entry_begin(struct pack *p, struct parse_fail *fail)
{
	const struct object *base = NULL;
	struct entry *e = &p->e;
	size_t i;

	if (e->is_delta) {
		if (!e->is_by_name &&
		    !entries_find(&p->entries, e->base_at, &i))
			return pack_bad(p, "base is no entry", fail);
		e->kind = find_base(p, &e->base, e->base_at, &base);
	} else {
		note_size(p, e->kind, e->size);
	}
	if (is_wanted(p, base))
		e->data = malloc(e->size == 0 ? 1 : (size_t)e->size);
	e->is_hashed = !e->is_delta && e->kind == OBJECT_BLOB && p->cfg.names;
	if (e->is_hashed)
		name_begin(p, e->kind, e->size);
	return PARSE_DONE;
}

/* A pack that is refused for what fsck would refuse it for. */
static enum parse
check(struct pack *p, const struct object *o, struct parse_fail *fail)
{
	struct slice content = object_content(o);
	size_t n = p->cfg.id_size;
	struct commit c;
	struct tag t;

	if (!p->cfg.strict ||
	    (o->kind != OBJECT_COMMIT && o->kind != OBJECT_TAG))
		return PARSE_DONE;
	if (o->kind == OBJECT_COMMIT ? commit_read(content, n, &c, fail) :
				       tag_read(content, n, &t, fail))
		return PARSE_DONE;
	return pack_bad(p, fail->detail, fail);
}

/* A commit, tag or tree is whole: name it, keep it.  Takes `data`. */
static enum parse
keep(struct pack *p, enum object_kind kind, uint64_t at, uint8_t *data,
    size_t n, struct parse_fail *fail)
{
	struct object o = { .kind = kind, .at = at, .p = data, .n = n };

	name_begin(p, kind, n);
	digest_put(p->name, object_content(&o));
	o.id = name_end(p);
	enum parse answer = check(p, &o, fail);
	if (answer == PARSE_BAD) {
		free(data);
		return answer;
	}
	switch (spool_put(&p->spool, &o)) {
	case SPOOL_KEPT:
		return PARSE_DONE;
	case SPOOL_FULL:
		p->facts.unread[kind]++;
		free(data);
		return PARSE_DONE;
	case SPOOL_TWICE:
		break;
	}
	free(data);
	/* git never does that; one name for two contents would be an attack */
	return pack_bad(p, "object is there twice", fail);
}

/* Make what the delta makes of a base that is kept. */
static enum parse
make(struct pack *p, const struct object *base, uint64_t at, struct slice delta,
    struct parse_fail *fail)
{
	enum object_kind kind = base->kind;
	struct delta_head head = { 0 };
	uint8_t *out = NULL;
	size_t used;

	if (delta_head_take(delta, &head, &used, fail) != PARSE_DONE)
		return pack_bad(p, "delta without its sizes", fail);
	if (head.size <= LIMIT_PACK_LOOK_SIZE &&
	    spool_has_room(&p->spool, kind, (size_t)head.size))
		out = malloc(head.size == 0 ? 1 : (size_t)head.size);
	if (out == NULL) {
		p->facts.unread[kind]++;
		return PARSE_DONE;
	}
	if (!pack_count(p, head.size)) {
		free(out);
		return pack_over(p, "inflates to too much", fail);
	}
	if (!delta_apply(object_content(base), delta, out, (size_t)head.size)) {
		free(out);
		return pack_bad(p, "delta does not fit its base", fail);
	}
	return keep(p, kind, at, out, (size_t)head.size, fail);
}

/* Keep a delta whose base may still come.  Takes `data`. */
static void
wait_for_base(struct pack *p, uint8_t *data)
{
	const struct entry *e = &p->e;

	if (p->n_waiting == p->waiting_cap) {
		size_t cap =
		    p->waiting_cap == 0 ? FIRST_WAITING : 2 * p->waiting_cap;
		struct waiting *w = realloc(p->waiting, cap * sizeof(*w));
		if (w == NULL) {
			free(data);
			return;
		}
		p->waiting = w;
		p->waiting_cap = cap;
	}
	p->waiting[p->n_waiting++] = (struct waiting){
		.entry = p->entries.n - 1,
		.at = e->at,
		.base_at = e->base_at,
		.base = e->base,
		.data = data,
		.n = (size_t)e->size,
	};
	p->waiting_used += (size_t)e->size + 2 * sizeof(struct waiting);
}

/* Takes `data`. */
static enum parse
delta_end(struct pack *p, uint8_t *data, struct parse_fail *fail)
{
	const struct object *base;
	struct entry *e = &p->e;
	struct delta_head head;
	enum parse answer = PARSE_DONE;
	size_t used,
	    n = e->size < sizeof(e->head) ? (size_t)e->size : sizeof(e->head);

	if (delta_head_take(slice_of(e->head, n), &head, &used, fail) !=
	    PARSE_DONE) {
		free(data);
		return pack_bad(p, "delta without its sizes", fail);
	}
	note_size(p, e->kind, head.size);
	if (data == NULL) {
		if (e->kind != OBJECT_BLOB && e->kind != OBJECT_UNKNOWN)
			p->facts.unread[e->kind]++;
		return PARSE_DONE;
	}
	if (e->kind == OBJECT_UNKNOWN) {
		wait_for_base(p, data);
		return PARSE_DONE;
	}
	(void)find_base(p, &e->base, e->base_at, &base);
	assert(base != NULL); /* else nothing was kept of it */
	answer = make(p, base, e->at, slice_of(data, (size_t)e->size), fail);
	free(data);
	return answer;
}

enum parse
pack_entry_end(struct pack *p, struct parse_fail *fail)
{
	struct entry *e = &p->e;
	uint8_t *data = e->data;

	e->data = NULL;
	if (!entries_put(&p->entries, e->at, e->kind)) {
		free(data);
		return pack_over(p, "pack is too large to be looked at", fail);
	}
	if (e->is_delta)
		return delta_end(p, data, fail);
	if (e->is_hashed) {
		struct oid id = name_end(p);
		entries_name(&p->entries,
		    siphash(p->cfg.key, slice_of(id.b, id.n)));
	}
	if (data != NULL)
		return keep(p, e->kind, e->at, data, (size_t)e->size, fail);
	if (e->kind != OBJECT_BLOB)
		p->facts.unread[e->kind]++;
	return PARSE_DONE;
}

/* One that waited has its base now, if that is kept. */
static enum parse
settle_one(struct pack *p, struct waiting *w, enum object_kind kind,
    const struct object *base, struct parse_fail *fail)
{
	struct slice delta = slice_of(w->data, w->n);
	struct delta_head head = { 0 };
	enum parse answer = PARSE_DONE;
	size_t used;

	entries_set(&p->entries, w->entry, kind);
	if (delta_head_take(delta, &head, &used, fail) == PARSE_DONE)
		p->late += head.size;
	if (kind != OBJECT_BLOB && base != NULL &&
	    p->late <= LIMIT_PACK_LATE_SIZE)
		answer = make(p, base, w->at, delta, fail);
	else if (kind != OBJECT_BLOB)
		p->facts.unread[kind]++;
	free(w->data);
	w->data = NULL;
	return answer;
}

/* Go once through those that wait; `more` is set if any was settled. */
static enum parse
settle_pass(struct pack *p, bool *more, struct parse_fail *fail)
{
	*more = false;
	for (size_t i = 0; i < p->n_waiting; i++) {
		struct waiting *w = &p->waiting[i];
		const struct object *base;
		if (w->data == NULL)
			continue;
		enum object_kind kind =
		    find_base(p, &w->base, w->base_at, &base);
		if (kind == OBJECT_UNKNOWN)
			continue;
		*more = true;
		if (settle_one(p, w, kind, base, fail) == PARSE_BAD)
			return PARSE_BAD;
	}
	return PARSE_DONE;
}

enum parse
pack_settle(struct pack *p, struct parse_fail *fail)
{
	bool more = p->n_waiting != 0;

	for (int i = 0; more && i < LIMIT_PACK_LATE_PASSES; i++) {
		if (settle_pass(p, &more, fail) == PARSE_BAD)
			return PARSE_BAD;
	}
	for (size_t i = 0; i < p->entries.n; i++)
		p->facts.n_unknown +=
		    entries_kind(&p->entries, i) == OBJECT_UNKNOWN;
	pack_forget(p);
	return PARSE_DONE;
}
