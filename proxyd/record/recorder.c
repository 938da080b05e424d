/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory.  All that was sent, or shall be, stands in one list in its order,
 * until the scribe has confirmed it.  Its tail is the batch: what was said
 * lately, UNSENT, which leaves in one message, or in a few if it is long.  It
 * leaves at the end of the loop's turn if somebody waits for one of it or if it
 * has grown; else as soon as the loop has nothing else to do, or after a while.
 * Ends of what was allowed always wait that while, so that not each of them
 * wakes the scribe: one request after the other would cost a third more.
 *
 * The scribe writes what comes over one channel in order, so an answer confirms
 * everything that stands before it as well.  Therefore a message asks for an
 * answer only if somebody waits for one in it, or no other question is open;
 * when that comes and others were sent meanwhile, an EVENT without a body asks.
 * All who wait for a record of one message get its answer: no if any failed.
 */
#include <event2/event.h>

#include "base/clock.h"
#include "base/rd.h"
#include "base/wr.h"
#include "priv/ops.h"
#include "record/denials.h"
#include "record/kept.h"
#include "record/recorder.h"

#define FLUSH_S 1	  /* aggregated denials leave this often */
#define MESSAGE_MAX 16384 /* bytes of several records in one message */
#define BATCH_MAX 64	  /* records nobody waits for are sent with these */
#define BATCH_US 5000	  /* ... or when the first of them is so old */

struct recorder {
	struct loop *loop;	 /* borrowed */
	struct channel *channel; /* borrowed; NULL: away */
	bool takes;		 /* what STATUS said */
	bool was_ready;		 /* what on_ready was told */
	recorder_on_ready *on_ready;
	void *arg;
	struct kept_list list;
	uint64_t lost;	    /* records that could not be kept */
	struct kept *batch; /* its first entry; NULL: none */
	size_t n_batch;
	struct event *send;	 /* owned; at the end of a turn, or BATCH_US */
	struct event *idle;	 /* owned; once there is nothing else to do */
	struct denials *denials; /* owned */
	struct event *flush;	 /* owned; pending while there are any */
	uint8_t scratch[EVENT_SIZE_MAX], message[MESSAGE_MAX];
};

static void on_send(evutil_socket_t fd, short what, void *arg);
static void on_flush(evutil_socket_t fd, short what, void *arg);

struct recorder *
recorder_new(struct loop *l, recorder_on_ready *on_ready, void *arg,
    enum err *err)
{
	struct recorder *r = calloc(1, sizeof(*r));

	*err = ERR_MEMORY;
	if (r == NULL)
		return NULL;
	r->loop = l;
	r->on_ready = on_ready;
	r->arg = arg;
	kept_init(&r->list, r);
	r->denials = denials_new(err);
	r->flush = event_new(loop_base(l), -1, 0, on_flush, r);
	r->send = loop_event(l, -1, 0, on_send, r);
	r->idle = event_new(loop_base(l), -1, 0, on_send, r);
	if (r->denials == NULL || r->flush == NULL || r->send == NULL ||
	    r->idle == NULL ||
	    event_priority_set(r->idle, LOOP_PRIORITY_REAP) != 0) {
		recorder_free(r);
		return NULL;
	}
	return r;
}

void
recorder_free(struct recorder *r)
{
	if (r == NULL)
		return;
	while (!TAILQ_EMPTY(&r->list.head)) {
		struct kept *k = TAILQ_FIRST(&r->list.head);
		channel_cancel(r->channel, k->id);
		kept_drop(k);
	}
	if (r->flush != NULL)
		event_free(r->flush);
	if (r->send != NULL)
		event_free(r->send);
	if (r->idle != NULL)
		event_free(r->idle);
	denials_free(r->denials);
	free(r);
}

bool
recorder_has_scribe(const struct recorder *r)
{
	return channel_is_open(r->channel);
}

bool
recorder_is_ready(const struct recorder *r)
{
	return recorder_has_scribe(r) && r->takes &&
	    r->list.n < RECORDER_BEHIND_MAX;
}

bool
recorder_is_behind(const struct recorder *r)
{
	return recorder_has_scribe(r) && r->takes && !recorder_is_ready(r);
}

bool
recorder_is_empty(const struct recorder *r)
{
	return r->list.n == 0 && denials_is_empty(r->denials);
}

static void
tell_ready(struct recorder *r)
{
	bool ready = recorder_is_ready(r);

	if (ready == r->was_ready)
		return;
	r->was_ready = ready;
	if (r->on_ready != NULL)
		r->on_ready(ready, r->arg);
}

static void on_answer(struct msg *m, void *arg);
static void send_gap(struct recorder *r);

/*
 * Send a message, as a question if `asks` or if there is no other; `k` is its
 * last record.  False: the channel refused it, which it does for want of memory
 * or because it is closed and has not said so.
 */
static bool
transmit(struct kept *k, bool asks, uint16_t op, struct slice body)
{
	struct recorder *r = k->list->recorder;
	struct msg m = { .op = op, .body = body };
	enum err err = ERR_NONE;

	if (asks || r->list.n_of[ASKED] == 0) {
		k->id = channel_ask(r->channel, &m, on_answer, k, &err);
		if (k->id == 0)
			return false;
		kept_set(k, ASKED);
	} else {
		if (channel_send(r->channel, &m, &err) != 0)
			return false;
		kept_set(k, SILENT);
	}
	k->was_sent = true;
	return true;
}

static void
batch_ended(struct recorder *r)
{
	r->batch = NULL;
	r->n_batch = 0;
	event_del(r->send);
}

/* As much of the batch as one message holds. */
static bool
send_some(struct recorder *r)
{
	struct kept *first = r->batch, *last = NULL, *k;
	struct wr w = wr_of(r->message, sizeof(r->message));
	bool asks = false;

	/* One that fills a message, or more, goes alone: `w` is not looked at. */
	for (k = first;
	     k != NULL && (k == first || (!w.bad && w.n + k->n + 2 <= w.max));
	     k = TAILQ_NEXT(k, entry)) {
		wr_slice16(&w, slice_of(k->bytes, k->n));
		asks = asks || k->on_written != NULL;
		last = k;
	}
	bool one = first == last;
	if (!transmit(last, asks, one ? OP_EVENT : OP_EVENTS,
		one ? slice_of(first->bytes, first->n) : wr_slice(&w)))
		return false;
	for (k = first; k != last; k = TAILQ_NEXT(k, entry)) {
		kept_set(k, SILENT);
		k->id = last->id;
		k->was_sent = true;
	}
	r->batch = TAILQ_NEXT(last, entry);
	if (r->batch == NULL)
		batch_ended(r);
	return true;
}

/* False: some of it is there still. */
static bool
send_batch(struct recorder *r)
{
	while (r->batch != NULL)
		if (!send_some(r))
			return false;
	return true;
}

/* All of that message, 0: of none, but for the batch.  A call may send others,
 * or forget some. */
static void
call_waiting(struct recorder *r, uint32_t id, bool written)
{
	struct kept *k;

	while ((k = kept_waiting(&r->list, id, r->batch)) != NULL) {
		recorder_on_written *on_written = k->on_written;
		void *waiter = k->arg;
		kept_drop(k);
		on_written(written, waiter);
	}
}

static void
on_send(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct recorder *r = arg;

	if (send_batch(r))
		return;
	/* The next scribe gets the rest; nobody waits for that. */
	batch_ended(r);
	call_waiting(r, 0, false);
}

/* An entry that has just been kept: to the others. */
static void
add_to_batch(struct kept *k, bool may_wait)
{
	static const struct timeval a_while = { .tv_usec = BATCH_US };
	struct recorder *r = k->list->recorder;

	if (r->batch == NULL) {
		r->batch = k;
		event_add(r->send, &a_while);
	}
	if (!may_wait)
		event_active(r->idle, EV_TIMEOUT, 1);
	if (++r->n_batch >= BATCH_MAX || k->on_written != NULL)
		event_active(r->send, EV_TIMEOUT, 1);
}

/* Others were sent since the last question: ask for those. */
static void
ask_for_rest(struct recorder *r)
{
	if (r->list.n_of[ASKED] != 0 || r->list.n_of[SILENT] == 0 ||
	    !recorder_has_scribe(r))
		return;
	if (r->batch != NULL)
		return; /* it will ask */
	struct kept *k = kept_add(&r->list, (struct slice){ 0 }, NULL, NULL);
	if (k == NULL)
		return;
	k->once = true;
	if (!transmit(k, true, OP_EVENT, (struct slice){ 0 }))
		kept_drop(k);
}

/* The scribe is gone: what it has not confirmed is the next one's. */
static void
lose(struct kept *k)
{
	recorder_on_written *on_written = k->on_written;
	void *waiter = k->arg;

	k->id = 0;
	if (on_written == NULL && !k->once) {
		kept_set(k, UNSENT);
		return;
	}
	kept_drop(k);
	if (on_written != NULL)
		on_written(false, waiter);
}

static void
on_answer(struct msg *m, void *arg)
{
	struct kept *k = arg;
	struct recorder *r = k->list->recorder;
	uint32_t id = k->id;

	if (m == NULL) {
		lose(k);
		return;
	}
	struct rd rd = rd_of(m->body);
	bool written = rd_u8(&rd) == 1 && rd_is_done(&rd);
	kept_drop_silent_before(k);
	if (k->on_written == NULL)
		kept_drop(k);
	send_gap(r);
	ask_for_rest(r);
	call_waiting(r, id, written);
	tell_ready(r);
}

/* A callback may change the list meanwhile. */
static void
lose_all(struct recorder *r)
{
	struct kept *k;

	while ((k = kept_not_next(&r->list)) != NULL)
		lose(k);
}

/* To a new scribe; the one before may have written it. */
static bool
send_again(struct kept *k)
{
	struct recorder *r = k->list->recorder;
	struct slice body = slice_of(k->bytes, k->n);
	struct event e;

	if (k->was_sent && event_decode(body, &e)) {
		event_bool(&e, FIELD_REPEATED, true);
		body = slice_of(r->scratch,
		    event_encode(&e, r->scratch, EVENT_SIZE_MAX));
	}
	return transmit(k, false, OP_EVENT, body);
}

static void
send_gap(struct recorder *r)
{
	uint64_t lost = r->lost;
	struct event e;

	if (lost == 0)
		return;
	event_init(&e, EVENT_GAP);
	event_number(&e, FIELD_COUNTED, lost);
	event_str(&e, FIELD_DETAIL, "no scribe was there to take them");
	/* If there is no room for it either, it is none of those it counts. */
	r->lost = recorder_send(r, &e, NULL, NULL) == 0 ? 0 : lost;
}

/* Whoever waited at the old one is told; ids are of a channel. */
static void
leave_channel(struct recorder *r)
{
	struct channel *old = r->channel;
	struct kept *k;

	r->channel = NULL;
	r->takes = false;
	batch_ended(r);
	if (old != NULL)
		TAILQ_FOREACH(k, &r->list.head, entry)
			channel_cancel(old, k->id);
	lose_all(r);
}

void
recorder_set_channel(struct recorder *r, struct channel *c)
{
	struct kept *k, *next;

	leave_channel(r);
	r->channel = c;
	for (k = TAILQ_FIRST(&r->list.head); k != NULL && c != NULL; k = next) {
		next = TAILQ_NEXT(k, entry);
		if (k->state == UNSENT && !send_again(k))
			break;
	}
	if (c != NULL)
		send_gap(r);
	tell_ready(r);
}

void
recorder_take_msg(struct recorder *r, const struct msg *m)
{
	if (m == NULL) {
		leave_channel(r);
	} else if (m->op == OP_STATUS) {
		struct rd rd = rd_of(m->body);
		r->takes = rd_u8(&rd) == 1 && rd_is_done(&rd);
	}
	tell_ready(r);
}

/* NULL: there is no room for it. */
static struct kept *
keep(struct recorder *r, struct slice body, bool may_wait,
    recorder_on_written *on_written, void *arg)
{
	struct kept *k = NULL;

	if (r->list.n < RECORDER_KEPT_MAX &&
	    r->list.size + body.n <= RECORDER_KEPT_SIZE)
		k = kept_add(&r->list, body, on_written, arg);
	if (k != NULL && recorder_has_scribe(r))
		add_to_batch(k, may_wait);
	return k;
}

/* With a callback: now or not at all. */
static int
send_waiting(struct recorder *r, struct slice body,
    recorder_on_written *on_written, void *arg)
{
	if (!recorder_has_scribe(r) || !r->takes)
		return -1;
	return keep(r, body, false, on_written, arg) == NULL ? -1 : 0;
}

static int
send_kept(struct recorder *r, struct slice body, bool may_wait)
{
	if (keep(r, body, may_wait, NULL, NULL) != NULL)
		return 0;
	r->lost++;
	return -1;
}

static bool
is_good_end(const struct event *e)
{
	return (e->kind == EVENT_FLOW_END || e->kind == EVENT_REQUEST_END) &&
	    slice_eq_str(event_text_of(e, FIELD_VERDICT), "allow");
}

static int
send_now(struct recorder *r, const struct event *e,
    recorder_on_written *on_written, void *arg)
{
	size_t n = event_encode(e, r->scratch, sizeof(r->scratch));
	struct slice body = slice_of(r->scratch, n);
	int done;

	if (on_written != NULL)
		done = send_waiting(r, body, on_written, arg);
	else
		done = send_kept(r, body, is_good_end(e));
	/* Not told from in here: only that it is ready again will be. */
	if (!recorder_is_ready(r))
		r->was_ready = false;
	return done;
}

int
recorder_send(struct recorder *r, const struct event *e,
    recorder_on_written *on_written, void *arg)
{
	static const struct timeval second = { FLUSH_S, 0 };

	if (on_written != NULL || !denials_covers(e) ||
	    !denials_count(r->denials, e, clock_ms()))
		return send_now(r, e, on_written, arg);
	if (!event_pending(r->flush, EV_TIMEOUT, NULL))
		event_add(r->flush, &second);
	return 0;
}

void
recorder_forget(struct recorder *r, const void *arg)
{
	struct kept *k;

	TAILQ_FOREACH(k, &r->list.head, entry)
		if (k->on_written != NULL && k->arg == arg)
			kept_forget(k);
}

void
recorder_flush(struct recorder *r)
{
	struct event e;

	while (denials_take(r->denials, &e))
		(void)send_now(r, &e, NULL, NULL);
	(void)send_batch(r);
}

static void
on_flush(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	recorder_flush(arg);
}
