/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "flow/choose.h"
#include "flow/link.h"
#include "http/h2_stream.h"

struct link {
	struct loop_item dead;	 /* first: freed by the reaper */
	LIST_ENTRY(link) entry;	 /* on sandbox->links until closed */
	struct sandbox *sandbox; /* borrowed */
	struct pool_key key;	 /* key.host points to `host` */
	struct host host;
	uint64_t number;	 /* the later, the larger */
	uint64_t n_used;	 /* requests that it got */
	bool retired;		 /* no other gets it */
	bool is_wide;		 /* one of sandbox->n_wide_links */
	struct asked *asked;	 /* the dial; NULL: not, or answered */
	struct stream *reaching; /* owned: the handshake goes on */
	struct h2_conn *conn;	 /* owned; NULL: it is not up yet */
	struct timer idle;
	TAILQ_HEAD(, request) waits;
	uint64_t cookie; /* of the dial's socket */
	char address[STREAM_PEER_SIZE];
};

static void
leave(struct link *l, struct request *r)
{
	TAILQ_REMOVE(&l->waits, r, wait);
	r->link = NULL;
}

/* --- life ---------------------------------------------------------------- */

static void
link_reaped(struct loop_item *item)
{
	struct link *l = (struct link *)item;

	timer_release(&l->idle);
	free(l);
}

/* The one place a link ends; who waits for it is told why. */
static void
link_close(struct link *l, enum reason reason, const char *detail)
{
	struct sandbox *sb = l->sandbox;
	struct request *r;

	/* Else somebody would be refused for no reason. */
	assert(reason != REASON_ALLOW || TAILQ_EMPTY(&l->waits));
	LIST_REMOVE(l, entry);
	sb->n_upstreams--;
	sb->n_wide_links -= l->is_wide;
	sb->asks->cancel(sb->asks_arg, l->asked);
	l->asked = NULL;
	stream_close(l->reaching);
	l->reaching = NULL;
	timer_stop(&l->idle);
	while ((r = TAILQ_FIRST(&l->waits)) != NULL) {
		leave(l, r);
		request_fail(r, reason, slice_of_str(detail));
		request_wake(r);
	}
	h2_close(l->conn);
	l->conn = NULL;
	loop_reap(sb->loop, &l->dead);
}

static void
on_idle(void *arg)
{
	link_close(arg, REASON_ALLOW, "idle");
}

static struct link *
link_new(struct sandbox *sb, const struct pool_key *key)
{
	struct link *l = calloc(1, sizeof(*l));
	enum err err;

	if (l == NULL || timer_init(&l->idle, sb->loop, on_idle, l, &err)) {
		free(l);
		return NULL;
	}
	l->dead.free = link_reaped;
	l->sandbox = sb;
	l->key = *key;
	l->host = *key->host;
	l->key.host = &l->host;
	l->number = ++sb->last_link;
	TAILQ_INIT(&l->waits);
	LIST_INSERT_HEAD(&sb->links, l, entry);
	sb->n_upstreams++;
	return l;
}

/* --- giving -------------------------------------------------------------- */

static void
on_stream_news(struct stream *s UNUSED, void *arg)
{
	request_wake(arg);
}

/* A stream of `l`, which is up, for `r`. */
static void
give(struct link *l, struct request *r)
{
	enum err err;

	if (r->x.upgrade && !h2_may_connect(l->conn)) {
		exchange_refuse(&r->x, REASON_UP_RESPONSE,
		    "the origin takes no WebSocket over HTTP/2");
		return;
	}
	struct stream *s = h2_open(l->conn, &err);
	if (s == NULL) {
		exchange_refuse(&r->x, REASON_INTERNAL, err_text(err));
		return;
	}
	timer_stop(&l->idle);
	r->cookie = l->cookie;
	memcpy(r->address, l->address, sizeof(r->address));
	r->link_number = l->number;
	stream_on(s, on_stream_news, r);
	exchange_reached(&r->x, s, l->n_used++ != 0);
}

/*
 * To the first at once; how many more it takes, and whether WebSockets, is
 * known when its SETTINGS have come.
 */
static bool
may_give(const struct link *l, const struct request *r)
{
	return h2_is_ready(l->conn) || (l->n_used == 0 && !r->x.upgrade);
}

/* The first of those that wait who may have a stream now; NULL: none. */
static struct request *
next_one(const struct link *l)
{
	struct request *r;

	TAILQ_FOREACH(r, &l->waits, wait)
		if (may_give(l, r))
			return r;
	return NULL;
}

/* To all that wait.  Those for whom there is no room look for another. */
static void
give_all(struct link *l)
{
	struct request *r;

	while ((r = next_one(l)) != NULL) {
		leave(l, r);
		if (h2_may_open(l->conn))
			give(l, r);
		else
			link_reach(r);
		request_wake(r);
	}
}

/*
 * Nobody uses it: for how long?  Not at all if its peer has said nothing yet:
 * the next request would wait for that, too.  It may be closed already, by those
 * to whom it was given.
 */
static void
rest(struct link *l)
{
	if (l->conn == NULL || h2_n_streams(l->conn) != 0 ||
	    !TAILQ_EMPTY(&l->waits))
		return;
	if (l->retired || h2_is_draining(l->conn) || !h2_is_ready(l->conn))
		link_close(l, REASON_ALLOW, "of no use");
	else if (!timer_is_set(&l->idle))
		timer_set(&l->idle, LIMIT_POOL_IDLE_MS);
}

static void
on_conn_news(struct h2_conn *c, void *arg)
{
	struct link *l = arg;

	if (h2_is_broken(c)) {
		link_close(l, REASON_UP_RESPONSE, h2_text(c));
		return;
	}
	if (h2_is_ready(c))
		choices_note_connect(&l->sandbox->choices, &l->host,
		    l->key.port, h2_may_connect(c));
	give_all(l);
	rest(l);
}

/* --- making -------------------------------------------------------------- */

static void
take_up(struct link *l, struct stream *s)
{
	static const struct h2_conn_ops ops = { .on_news = on_conn_news };
	enum err err;

	l->cookie = s->tag;
	memcpy(l->address, s->peer, sizeof(l->address));
	l->conn = h2_connect(l->sandbox->loop, s, &ops, l, &err);
	if (l->conn == NULL) {
		link_close(l, REASON_INTERNAL, err_text(err));
		return;
	}
	/* What all of them may have unread is bounded. */
	l->is_wide = l->sandbox->n_wide_links < LIMIT_H2_WIDE_LINKS;
	if (l->is_wide)
		l->sandbox->n_wide_links++;
	else
		h2_narrow(l->conn);
}

/* It does not speak any more what the clients were given, who go on with it. */
static void
forget_choice(struct link *l)
{
	struct request *r;

	choices_forget(&l->sandbox->choices, &l->host, l->key.port);
	TAILQ_FOREACH(r, &l->waits, wait)
		request_drain(r);
}

/* Up: is it whom we wanted, and does it speak HTTP/2? */
static void
reached(struct link *l)
{
	const struct sandbox *sb = l->sandbox;
	struct stream *s = l->reaching;

	if (stream_is_broken(s)) {
		if (sb->asks->speaks_none(sb->asks_arg, s))
			forget_choice(l);
		link_close(l, stream_reason(s), stream_text(s));
		return;
	}
	if (!stream_is_ready(s))
		return;
	if (l->key.tls && !sb->asks->is_verified(sb->asks_arg, s, &l->host)) {
		link_close(l, REASON_UP_CERT, "was not verified");
		return;
	}
	if (l->key.tls && sb->asks->alpn(sb->asks_arg, s) != ALPN_H2) {
		forget_choice(l);
		link_close(l, REASON_UP_RESPONSE, REACH_OTHER_VERSION);
		return;
	}
	l->reaching = NULL;
	take_up(l, s);
	if (l->conn != NULL)
		give_all(l);
}

static void
on_reaching_news(struct stream *s UNUSED, void *arg)
{
	reached(arg);
}

/* The policy changes: who waits for it asks again, if that is of use. */
static void
put_off(struct link *l, const char *detail)
{
	struct request *r;

	while ((r = TAILQ_FIRST(&l->waits)) != NULL) {
		leave(l, r);
		if (request_ask_again(r))
			continue;
		request_fail(r, REASON_POLICY_CHANGED, slice_of_str(detail));
		request_wake(r);
	}
	link_close(l, REASON_ALLOW, "");
}

static void
on_dialled(const struct dial_answer *a, void *arg)
{
	struct link *l = arg;
	char detail[STREAM_TEXT_SIZE];

	l->asked = NULL;
	if (a->stream == NULL) {
		snprintf(detail, sizeof(detail), "%.*s", SLICE_ARG(a->detail));
		if (a->reason == REASON_POLICY_CHANGED) {
			put_off(l, detail);
			return;
		}
		link_close(l,
		    a->reason == REASON_ALLOW ? REASON_INTERNAL : a->reason,
		    detail);
		return;
	}
	reach_note_dial(a);
	l->reaching = a->stream;
	stream_on(l->reaching, on_reaching_news, l);
}

static void
wait_for(struct link *l, struct request *r)
{
	timer_stop(&l->idle);
	r->link = l;
	TAILQ_INSERT_TAIL(&l->waits, r, wait);
}

/* A new one for `r`, which waits for it. */
static void
make(struct request *r, const struct pool_key *key)
{
	struct sandbox *sb = r->flow->sandbox;
	struct dial_ask ask;
	struct link *l;

	if (!reach_has_room(sb, 1)) {
		exchange_refuse(&r->x, REASON_LIMIT_CONNS,
		    "too many upstream connections");
		return;
	}
	l = link_new(sb, key);
	if (l == NULL) {
		exchange_refuse(&r->x, REASON_INTERNAL, "out of memory");
		return;
	}
	wait_for(l, r);
	ask = request_dial_ask(r);
	struct asked *asked =
	    sb->asks->dial(sb->asks_arg, sb, &ask, on_dialled, l);
	if (asked != NULL)
		l->asked = asked;
}

/* What nobody waits for any more is not made. */
static void
drop_unwanted(struct link *l)
{
	if (l->conn == NULL && TAILQ_EMPTY(&l->waits))
		link_close(l, REASON_ALLOW, "");
	else
		rest(l);
}

/* --- for requests -------------------------------------------------------- */

/* May `r` have a stream of `l`, now or when it is up? */
static bool
fits(const struct link *l, const struct request *r, const struct pool_key *key)
{
	if (l->retired || !pool_key_eq(&l->key, key))
		return false;
	/* What refused it once is not asked again. */
	if (r->x.want_fresh && l->number <= r->link_number)
		return false;
	return l->conn == NULL || h2_may_open(l->conn);
}

/*
 * One whose window is full of answers that their clients do not read would
 * give this one nothing: rather another, but not without end.
 */
static struct link *
find(const struct request *r, const struct pool_key *key)
{
	struct sandbox *sb = r->flow->sandbox;
	struct link *l, *clogged = NULL;
	size_t n_clogged = 0;

	LIST_FOREACH(l, &sb->links, entry) {
		if (!fits(l, r, key))
			continue;
		if (l->conn == NULL || !h2_is_clogged(l->conn))
			return l;
		clogged = l;
		n_clogged++;
	}
	if (n_clogged != 0 && n_clogged < LIMIT_H2_CLOGGED &&
	    reach_has_room(sb, 1))
		return NULL;
	return clogged;
}

void
link_reach(struct request *r)
{
	const struct pool_key key = request_pool_key(r);
	struct link *l = find(r, &key);

	if (l == NULL)
		make(r, &key);
	else if (l->conn != NULL && may_give(l, r))
		give(l, r);
	else
		wait_for(l, r);
}

void
link_retire(const struct request *r)
{
	struct link *l;

	LIST_FOREACH(l, &r->flow->sandbox->links, entry)
		if (l->number == r->link_number)
			l->retired = true;
}

void
link_leave(struct request *r)
{
	struct link *l = r->link;

	if (l == NULL)
		return;
	leave(l, r);
	drop_unwanted(l);
}

void
link_keep(struct flow *f, const struct pool_key *key, struct stream *s)
{
	struct link *l = link_new(f->sandbox, key);

	if (l == NULL) {
		stream_close(s);
		return;
	}
	take_up(l, s);
	if (l->conn != NULL)
		timer_set(&l->idle, LIMIT_POOL_IDLE_MS);
}

bool
link_drop_idle(struct sandbox *sb)
{
	struct link *l;

	LIST_FOREACH(l, &sb->links, entry) {
		if (l->conn == NULL || h2_n_streams(l->conn) != 0 ||
		    !TAILQ_EMPTY(&l->waits))
			continue;
		link_close(l, REASON_ALLOW, "its room was wanted");
		return true;
	}
	return false;
}

void
links_retire(struct sandbox *sb)
{
	struct link *l, *next;

	for (l = LIST_FIRST(&sb->links); l != NULL; l = next) {
		next = LIST_NEXT(l, entry);
		l->retired = true;
		rest(l);
	}
}

void
links_close(struct sandbox *sb)
{
	while (!LIST_EMPTY(&sb->links))
		link_close(LIST_FIRST(&sb->links), REASON_SHUTDOWN, "");
}
