/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "git/ancestry.h"
#include "git/commit.h"

struct walk {
	const struct packs *packs;
	struct beyond *beyond;
	const struct oid *until; /* end as soon as this one is met; or NULL */
	uint64_t mark;		 /* of what was met: no other walk has it */
	/* Where a walk ends that goes to another one's commits, or NULL. */
	const struct walk *history;
	struct beyond *bases, *seen;
	struct object **todo; /* owned; met, and not looked at */
	size_t n, cap;
	bool is_met;
	bool is_whole; /* nothing that was met lies beyond */
};

/* A new mark each time: to clear those of all objects, for each ref of a push,
 * would be work that no ceiling counts. */
static void
walk_init(struct walk *w, const struct packs *packs, struct beyond *beyond)
{
	static uint64_t last_mark;

	*w = (struct walk){ .packs = packs,
		.beyond = beyond,
		.mark = ++last_mark,
		.is_whole = true };
}

static bool
push(struct walk *w, struct object *o)
{
	if (w->n == w->cap) {
		size_t cap = w->cap == 0 ? 64 : 2 * w->cap;
		struct object **todo = realloc(w->todo, cap * sizeof(*todo));
		if (todo == NULL)
			return false;
		w->todo = todo;
		w->cap = cap;
	}
	w->todo[w->n++] = o;
	return true;
}

/* Something cannot be followed, and asking would not help. */
static void
give_up(struct walk *w)
{
	w->beyond->is_cut = true;
	w->is_whole = false;
}

/* Did the other walk meet it? */
static bool
is_of(const struct walk *w, const struct oid *id, const struct object *o)
{
	if (o != NULL)
		return o->mark == w->mark;
	for (size_t i = 0; i < w->beyond->n; i++) {
		if (oid_eq(&w->beyond->ids[i], id))
			return true;
	}
	return false;
}

/* The name of a tip or of a parent was met. */
static void
meet(struct walk *w, const struct oid *id)
{
	struct object *o = packs_find(w->packs, id);

	if (w->until != NULL && oid_eq(id, w->until))
		w->is_met = true;
	if (w->history != NULL && is_of(w->history, id, o)) {
		beyond_add(w->bases, id);
		return;
	}
	if (w->seen != NULL && w->seen->n < LIMIT_PROOF_ASKS &&
	    (o == NULL || o->mark != w->mark))
		beyond_add(w->seen, id);
	if (o == NULL) {
		beyond_add(w->beyond, id);
		w->is_whole = false;
		return;
	}
	if (o->mark == w->mark)
		return;
	o->mark = w->mark;
	if (!push(w, o))
		give_up(w);
}

/* Go on from an object: to a commit's parents, to what a tag names. */
static void
follow(struct walk *w, const struct object *o)
{
	struct slice content = object_content(o);
	size_t n = w->packs->id_size;
	struct parse_fail fail;
	struct commit c;
	struct tag t;

	if (o->kind == OBJECT_COMMIT && commit_read(content, n, &c, &fail)) {
		for (size_t i = 0; i < c.n_parents; i++) {
			struct oid parent = commit_parent(&c, i);
			meet(w, &parent);
		}
	} else if (o->kind == OBJECT_TAG && tag_read(content, n, &t, &fail)) {
		if (t.of == TAG_OF_COMMIT || t.of == TAG_OF_TAG)
			meet(w, &t.object);
	} else if (o->kind != OBJECT_TREE) {
		give_up(w);
	}
}

static void
walk_on(struct walk *w)
{
	while (w->n != 0 && !w->is_met) {
		/* many refs, each with the whole history to walk through */
		if (w->beyond->walked++ >= LIMIT_PROOF_WALK) {
			give_up(w);
			break;
		}
		follow(w, w->todo[--w->n]);
	}
	free(w->todo);
}

enum proof
ancestry_descends(const struct packs *packs, const struct oid *tip,
    const struct oid *old, struct beyond *beyond)
{
	struct beyond_mark mark = beyond_mark(beyond);
	struct walk w;

	walk_init(&w, packs, beyond);
	w.until = old;
	meet(&w, tip);
	walk_on(&w);
	return beyond_end(beyond, mark,
	    w.is_met	   ? PROOF_YES :
		w.is_whole ? PROOF_NO :
			     PROOF_OPEN);
}

void
ancestry_meets(const struct packs *packs, const struct oid *tip,
    const struct oid *head, struct beyond *bases, struct beyond *ends,
    struct beyond *seen)
{
	struct beyond known = { .walked = ends->walked };
	struct walk history, w;

	walk_init(&history, packs, &known);
	meet(&history, head);
	walk_on(&history);
	ends->walked = known.walked;
	walk_init(&w, packs, ends);
	w.history = &history;
	w.bases = bases;
	w.seen = seen;
	meet(&w, tip);
	walk_on(&w);
}

enum proof
ancestry_covers(const struct packs *packs, const struct oid *tips, size_t n,
    struct oid *stray)
{
	const struct pack *p = packs->pushed;
	/* A push holds all that is new between a tip and what it builds on. */
	struct packs own = { .pushed = packs->pushed,
		.id_size = packs->id_size };
	struct beyond beyond = { 0 };
	const struct object *o;
	struct walk w;

	if (p == NULL)
		return PROOF_YES;
	walk_init(&w, &own, &beyond);
	for (size_t i = 0; i < n; i++)
		meet(&w, &tips[i]);
	walk_on(&w);
	for (size_t i = 0; (o = pack_nth(p, i)) != NULL; i++) {
		if (o->kind != OBJECT_TREE && o->mark != w.mark) {
			*stray = o->id;
			return PROOF_NO;
		}
	}
	const struct pack_facts *f = pack_facts(p);
	return f->n_unknown == 0 && f->unread[OBJECT_COMMIT] == 0 &&
		f->unread[OBJECT_TAG] == 0 ?
	    PROOF_YES :
	    PROOF_OPEN;
}
