/* SPDX-License-Identifier: Apache-2.0 */
#include <search.h>
#include <stdlib.h>

#include "audit/escape.h"
#include "audit/tally.h"
#include "base/buf.h"
#include "base/wr.h"

/* Kinds of things: the first letter of a key. */
#define FLOW 'f'       /* sandbox, flow */
#define SOCKET 's'     /* sandbox, its cookie */
#define CREDENTIAL 'c' /* sandbox, flow, credential */

enum counter {
	DIALS,	  /* FLOW, SOCKET: dials made */
	BEGUN,	  /* FLOW: announced; CREDENTIAL: requests announced */
	DONE,	  /* CREDENTIAL: requests that went out with it */
	RELEASES, /* CREDENTIAL: given by the keeper */
	COUNTERS
};

/*
 * One thing that several records speak of.  A tree, not a hash table: the
 * names are a peer's, and a balanced tree has no bad case.
 */
struct thing {
	uint64_t seq; /* of the record that spoke of it first */
	uint64_t count[COUNTERS];
	size_t n;
	uint8_t key[]; /* a letter for the kind, three texts behind lengths */
};

struct tally {
	void *root; /* tsearch's; owned */
	tally_on_problem *on_problem;
	void *arg;
};

struct tally *
tally_new(tally_on_problem *on_problem, void *arg, enum err *err)
{
	struct tally *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		*err = ERR_MEMORY;
		return NULL;
	}
	t->on_problem = on_problem;
	t->arg = arg;
	return t;
}

static int
compare(const void *a, const void *b)
{
	const struct thing *x = a, *y = b;
	int c = memcmp(x->key, y->key, x->n < y->n ? x->n : y->n);

	return c != 0 ? c : (x->n > y->n) - (x->n < y->n);
}

/* The thing of that kind and these names, made if it is new; NULL: no memory. */
static struct thing *
find_thing(struct tally *t, char kind, struct slice a, struct slice b,
    struct slice c)
{
	size_t n = 7 + a.n + b.n + c.n;
	struct thing *thing = calloc(1, sizeof(*thing) + n);
	struct thing **found;

	if (thing == NULL)
		return NULL;
	struct wr w = wr_of(thing->key, n);
	wr_u8(&w, (uint8_t)kind);
	wr_slice16(&w, a);
	wr_slice16(&w, b);
	wr_slice16(&w, c);
	thing->n = n;
	found = tsearch(thing, &t->root, compare);
	if (found != NULL && *found == thing)
		return thing;
	free(thing);
	return found == NULL ? NULL : *found;
}

static struct thing *
flow_of(struct tally *t, const struct event *e)
{
	return find_thing(t, FLOW, event_text_of(e, FIELD_SANDBOX),
	    event_text_of(e, FIELD_FLOW), (struct slice){ 0 });
}

static struct thing *
socket_of(struct tally *t, const struct event *e)
{
	uint64_t cookie = event_number_of(e, FIELD_COOKIE_SOCKET);

	return find_thing(t, SOCKET, event_text_of(e, FIELD_SANDBOX),
	    slice_of(&cookie, sizeof(cookie)), (struct slice){ 0 });
}

/* Count one of the names in CREDENTIAL; there is a blank between two. */
static bool
count_credentials(struct tally *t, uint64_t seq, const struct event *e,
    size_t counter)
{
	struct slice rest = event_text_of(e, FIELD_CREDENTIAL);

	while (rest.n != 0) {
		const uint8_t *end = memchr(rest.p, ' ', rest.n);
		size_t n = end == NULL ? rest.n : (size_t)(end - rest.p);
		struct thing *c =
		    find_thing(t, CREDENTIAL, event_text_of(e, FIELD_SANDBOX),
			event_text_of(e, FIELD_FLOW), slice_first(rest, n));
		if (c == NULL)
			return false;
		if (c->seq == 0)
			c->seq = seq;
		c->count[counter]++;
		rest = slice_from(rest, n + 1);
	}
	return true;
}

static bool
put_flow(struct tally *t, uint64_t seq, const struct event *e)
{
	struct thing *flow = flow_of(t, e);

	if (flow == NULL)
		return false;
	if (flow->seq == 0)
		flow->seq = seq;
	flow->count[e->kind == EVENT_DIAL ? DIALS : BEGUN]++;
	return true;
}

static bool
put_dial(struct tally *t, uint64_t seq, const struct event *e)
{
	struct thing *s = socket_of(t, e);

	if (s == NULL)
		return false;
	s->count[DIALS]++;
	return put_flow(t, seq, e);
}

/* What went out went over a connection that the dialer has a record of. */
static bool
check_dial(struct tally *t, uint64_t seq, const struct event *e,
    const char *problem)
{
	struct thing *s = socket_of(t, e);

	if (s == NULL)
		return false;
	if (!event_has(e, FIELD_COOKIE_SOCKET) || s->count[DIALS] == 0)
		t->on_problem(seq, problem, t->arg);
	return true;
}

/* Bytes passed unread, or it was allowed that they do. */
static bool
put_passed(struct tally *t, uint64_t seq, const struct event *e)
{
	enum reason reason = reason_find(event_text_of(e, FIELD_REASON));

	if (reason != REASON_ALLOW_PASS && reason != REASON_ALLOW_TCP &&
	    !event_has(e, FIELD_COOKIE_SOCKET))
		return true;
	return check_dial(t, seq, e,
	    "bytes passed unread, and the dialer has no record of the dial of "
	    "their connection");
}

static bool
put_sent(struct tally *t, uint64_t seq, const struct event *e)
{
	if (!check_dial(t, seq, e,
		"a request went out, and the dialer has no record of the dial "
		"of its connection"))
		return false;
	return event_has(e, FIELD_REPEATED) ||
	    count_credentials(t, seq, e, DONE);
}

/* Asked by duenna itself: over a dial that is recorded, with credentials that
 * are announced by it. */
static bool
put_question(struct tally *t, uint64_t seq, const struct event *e)
{
	return check_dial(t, seq, e,
		   "duenna itself asked, and the dialer has no record of the "
		   "dial of its connection") &&
	    count_credentials(t, seq, e, BEGUN);
}

bool
tally_put(struct tally *t, uint64_t seq, const struct event *e)
{
	bool allow = event_is_reported(e) ||
	    slice_eq_str(event_text_of(e, FIELD_VERDICT), "allow");

	if (e->kind == EVENT_START && !event_has(e, FIELD_REPEATED))
		tally_end(t);
	if (e->kind == EVENT_FLOW_BEGIN)
		return put_flow(t, seq, e);
	if (e->kind == EVENT_FLOW_END)
		return put_passed(t, seq, e);
	if (e->kind == EVENT_DIAL && allow)
		return put_dial(t, seq, e);
	if (e->kind == EVENT_RELEASE && allow)
		return count_credentials(t, seq, e, RELEASES);
	if (e->kind == EVENT_REQUEST_BEGIN)
		return count_credentials(t, seq, e, BEGUN);
	if (e->kind == EVENT_QUESTION)
		return put_question(t, seq, e);
	if (e->kind == EVENT_REQUEST_END && allow)
		return put_sent(t, seq, e);
	return true;
}

/* One of the three names, for a message. */
static struct slice
name_of(const struct thing *thing, int which)
{
	struct slice key = slice_from(slice_of(thing->key, thing->n), 1);
	struct slice name = { 0 };

	for (int i = 0; i <= which; i++) {
		size_t n = (size_t)key.p[0] << 8 | key.p[1];
		name = slice_first(slice_from(key, 2), n);
		key = slice_from(key, 2 + n);
	}
	return name;
}

static void
tell(struct tally *t, const struct thing *thing, const char *what)
{
	struct buf text;

	buf_init(&text, 8192);
	buf_put_str(&text, "flow ");
	escape_show(&text, name_of(thing, 1));
	if (thing->key[0] == CREDENTIAL) {
		buf_put_str(&text, ", credential ");
		escape_show(&text, name_of(thing, 2));
	}
	buf_putf(&text, ": %s", what);
	t->on_problem(thing->seq, buf_text(&text), t->arg);
	buf_release(&text);
}

static void
on_thing(const void *node, VISIT which, void *arg)
{
	const struct thing *thing = *(struct thing *const *)node;
	struct tally *t = arg;
	const uint64_t *count = thing->count;

	if (which != postorder && which != leaf)
		return;
	if (thing->key[0] == FLOW && count[DIALS] > 0 && count[BEGUN] == 0)
		tell(t, thing, "dialled for, but never announced");
	if (thing->key[0] != CREDENTIAL)
		return;
	if (count[DONE] > count[RELEASES])
		tell(t, thing,
		    "more requests went out with it than the keeper released");
	if (count[RELEASES] > count[BEGUN])
		tell(t, thing,
		    "released more often than a request for it was announced");
}

void
tally_end(struct tally *t)
{
	twalk_r(t->root, on_thing, t);
	tdestroy(t->root, free);
	t->root = NULL;
}

void
tally_free(struct tally *t)
{
	if (t == NULL)
		return;
	tdestroy(t->root, free);
	free(t);
}
