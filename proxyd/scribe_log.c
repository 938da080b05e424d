/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes in one turn of the loop is written with one write(2) at its end,
 * by an event of lower priority than all channels; then the answers go out.
 */
#include <stdlib.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rd.h"
#include "base/wr.h"
#include "priv/ops.h"
#include "proxyd/scribe_state.h"

struct early {
	STAILQ_ENTRY(early) entry;
	struct peer *peer;   /* borrowed */
	uint32_t number, id; /* of its worker; of the request */
	size_t n;
	uint8_t bytes[];
};

#define K(id) (1U << EVENT_##id)

/* Which records a role may send.  The rest is the scribe's own. */
static const unsigned kinds[ROLE_COUNT] = {
	[ROLE_MONITOR] = K(PROGRAM) | K(ATTACH) | K(DETACH) | K(STOP) |
	    K(DROP) | K(GAP) | K(ALARM),
	[ROLE_WORKER] = K(FLOW_BEGIN) | K(FLOW_END) | K(REQUEST_BEGIN) |
	    K(REQUEST_END) | K(PUSH_BEGIN) | K(PUSH_END) | K(GIT_PROBE) |
	    K(QUESTION) | K(DNS) | K(GAP) | K(ALARM),
	[ROLE_DIALER] = K(DIAL) | K(GAP) | K(ALARM),
	[ROLE_KEEPER] = K(RELEASE) | K(GAP) | K(ALARM),
};

static void
say_written(struct peer *p, uint32_t id, bool written)
{
	uint8_t body = written;

	if (id != 0)
		scribe_say(p, OP_WRITTEN, id, slice_of(&body, 1));
}

void
scribe_update_status(struct scribe *s)
{
	bool takes = s->journal != NULL && !s->stopped &&
	    (journal_takes(s->journal) || journal_misses(s->journal));

	if (takes == s->took)
		return;
	s->took = takes;
	for (int r = 0; r < ROLE_COUNT; r++)
		scribe_say_status(&s->peers[r]);
	for (size_t i = 0; i < SCRIBE_WORKERS_MAX; i++)
		scribe_say_status(&s->workers[i]);
}

static void
answer_all(struct scribe *s, bool written)
{
	for (size_t i = 0; i < s->n_waiting; i++)
		say_written(s->waiting[i].peer, s->waiting[i].id, written);
	s->n_waiting = 0;
}

static void
flush(struct scribe *s)
{
	bool written = s->journal != NULL && journal_flush(s->journal) &&
	    journal_takes(s->journal);

	/* One that is only counted is the owner's choice. */
	answer_all(s,
	    written || (s->journal != NULL && journal_misses(s->journal)));
	scribe_update_status(s);
}

static void
wait_for_flush(struct peer *p, uint32_t id)
{
	struct scribe *s = p->scribe;

	if (id != 0) {
		s->waiting[s->n_waiting].peer = p;
		s->waiting[s->n_waiting++].id = id;
	}
	if (s->n_waiting == SCRIBE_WAITING_MAX ||
	    journal_waits(s->journal) > LINE_SIZE_MAX)
		flush(s);
	else
		event_active(s->flush, EV_TIMEOUT, 1);
}

void
scribe_say_tally(struct scribe *s)
{
	struct journal_sum sum;
	uint8_t body[128 + 8 * REASON_COUNT];
	struct wr w = wr_of(body, sizeof(body));

	if (s->journal == NULL)
		return;
	sum = journal_sum(s->journal);
	wr_u64(&w, sum.n_denied);
	wr_u64(&w, sum.n_reported);
	wr_u64(&w, sum.n_alarms);
	wr_u64(&w, sum.n_missing);
	wr_slice8(&w, slice_of_str(s->stopped ? sum.hash : ""));
	for (size_t i = 0; i < REASON_COUNT; i++)
		wr_u64(&w, sum.by_reason[i]);
	scribe_say(&s->peers[ROLE_MONITOR], OP_TALLY, 0, wr_slice(&w));
}

/* The last records; `stop` NULL: there is none. */
static void
end_log(struct scribe *s, const struct event *stop)
{
	bool good;

	journal_end_flows(s->journal, NULL, "the run ended without it");
	good = stop == NULL || journal_put(s->journal, stop, NULL);
	good = journal_checkpoint(s->journal) && good;
	journal_sync(s->journal);
	answer_all(s, good);
	uint64_t lost = journal_sum(s->journal).n_lost;
	if (lost != 0)
		log_error("%llu record%s missing at the end of the audit log",
		    (unsigned long long)lost, lost == 1 ? " is" : "s are");
	s->stopped = true;
	scribe_say_tally(s);
	say_written(&s->peers[ROLE_MONITOR], s->stop_id, good);
	scribe_update_status(s);
}

static void
begin_stop(struct scribe *s, uint32_t id)
{
	s->stopping = true;
	s->stop_id = id;
	s->stop_ms = clock_ms() + SCRIBE_STOP_MS;
	event_active(s->flush, EV_TIMEOUT, 1);
}

bool
scribe_has_worker(const struct scribe *s)
{
	for (size_t i = 0; i < SCRIBE_WORKERS_MAX; i++)
		if (s->workers[i].channel != NULL)
			return true;
	return false;
}

static void
finish_stop(struct scribe *s)
{
	struct event stop;
	/* It has flows to end, and counts of what it did not write one by one;
	 * it ends when those are here. */
	bool may_wait = scribe_has_worker(s);

	if (!s->stopping || s->stopped || (may_wait && clock_ms() < s->stop_ms))
		return;
	event_init(&stop, EVENT_STOP);
	end_log(s, &stop);
}

void
scribe_end(struct scribe *s)
{
	struct event stop;

	if (s->journal == NULL || !journal_is_started(s->journal) || s->stopped)
		return;
	event_init(&stop, EVENT_STOP);
	end_log(s, s->stopping ? &stop : NULL);
}

/* A sandbox that is not known is nobody's: it may be gone since long. */
static bool
is_of_another(const struct peer *p, const struct event *e)
{
	uint32_t owner = !event_has(e, FIELD_SANDBOX) ?
	    0 :
	    owners_of_name(p->scribe->owners, e->text[FIELD_SANDBOX]);

	return owner != 0 && owner != p->number;
}

/* What is wrong with a record of this role, or NULL. */
static const char *
refuse(const struct peer *p, struct slice body, struct event *e)
{
	enum event_field field;

	if (!event_decode(body, e))
		return "not a record";
	if ((kinds[p->role] & 1U << e->kind) == 0)
		return "a kind that it may not send";
	if (p->role == ROLE_WORKER && is_of_another(p, e))
		return "of a sandbox that another worker has";
	return event_check(e, &field);
}

/* False: it will not be in the log. */
static bool
take_record(struct peer *p, struct event *e)
{
	struct scribe *s = p->scribe;

	/* An alarm of a worker is a worker's; the others may speak of another
	 * role that sent them what it may not. */
	if ((e->kind == EVENT_ALARM || e->kind == EVENT_GAP) &&
	    (p->role == ROLE_WORKER || !event_has(e, FIELD_ROLE)))
		event_str(e, FIELD_ROLE, role_name(p->role));
	return journal_put(s->journal, e, p) || journal_misses(s->journal);
}

/* A record before the log is started: kept, in its order.  False: it is not. */
static bool
keep_early(struct peer *p, struct slice body, uint32_t id)
{
	struct scribe *s = p->scribe;
	struct early *e = NULL;

	if (s->n_early < SCRIBE_EARLY_MAX && !s->hopeless)
		e = calloc(1, sizeof(*e) + body.n);
	if (e == NULL)
		return false;
	e->peer = p;
	e->number = p->number;
	e->id = id;
	e->n = body.n;
	if (body.n != 0)
		memcpy(e->bytes, body.p, body.n);
	STAILQ_INSERT_TAIL(&s->early, e, entry);
	s->n_early++;
	return true;
}

static bool
is_early(const struct scribe *s)
{
	return s->journal == NULL || !journal_is_started(s->journal);
}

/* What this role may say, in `e`. */
static bool
is_good(struct peer *p, struct slice body, struct event *e)
{
	const char *wrong;

	if (p->scribe->stopped)
		return false;
	wrong = refuse(p, body, e);
	if (wrong != NULL && p->n_refused++ == 0)
		log_warn("record of the %s not taken: %s", role_name(p->role),
		    wrong);
	return wrong == NULL;
}

void
scribe_take_event(struct peer *p, struct slice body, uint32_t id)
{
	struct scribe *s = p->scribe;
	struct event e;

	if (is_early(s)) {
		if (!keep_early(p, body, id))
			say_written(p, id, false);
		return;
	}
	if (body.n == 0)
		wait_for_flush(p, id);
	else if (!is_good(p, body, &e))
		say_written(p, id, false);
	else if (e.kind == EVENT_STOP)
		begin_stop(s, id);
	else if (take_record(p, &e))
		wait_for_flush(p, id);
	else
		say_written(p, id, false);
}

/* All records of a message; false: not all of them. */
static bool
take_all(struct peer *p, struct slice body)
{
	struct rd r = rd_of(body);
	/* None at all is not what anybody sends: its records would be lost. */
	bool good = body.n != 0;
	struct event e;

	while (good && !rd_is_done(&r)) {
		struct slice one = rd_slice16(&r);
		good = !r.bad && one.n != 0;
		if (!good)
			p->n_refused++;
		else if (is_early(p->scribe))
			good = keep_early(p, one, 0);
		else
			good = is_good(p, one, &e) && take_record(p, &e);
	}
	return good;
}

void
scribe_take_events(struct peer *p, struct slice body, uint32_t id)
{
	bool good = take_all(p, body);

	if (!good)
		say_written(p, id, false);
	/* The empty one, behind all that was taken. */
	scribe_take_event(p, (struct slice){ 0 }, good ? id : 0);
}

void
scribe_take_early(struct scribe *s)
{
	s->hopeless = false;
	while (!STAILQ_EMPTY(&s->early)) {
		struct early *e = STAILQ_FIRST(&s->early);
		STAILQ_REMOVE_HEAD(&s->early, entry);
		s->n_early--;
		if (e->peer == &s->peers[ROLE_WORKER])
			e->peer->number = e->number;
		scribe_take_event(e->peer, slice_of(e->bytes, e->n), e->id);
		free(e);
	}
}

void
scribe_refuse_early(struct scribe *s)
{
	s->hopeless = true;
	while (!STAILQ_EMPTY(&s->early)) {
		struct early *e = STAILQ_FIRST(&s->early);
		STAILQ_REMOVE_HEAD(&s->early, entry);
		s->n_early--;
		say_written(e->peer, e->id, false);
		free(e);
	}
}

static void
forget_early(struct peer *p)
{
	struct scribe *s = p->scribe;
	struct early *e, *next;

	for (e = STAILQ_FIRST(&s->early); e != NULL; e = next) {
		next = STAILQ_NEXT(e, entry);
		/* The record stays; the id is of a channel that is gone. */
		if (e->peer != p)
			continue;
		e->id = 0;
		if (p->role == ROLE_WORKER) /* its place may be another's */
			e->peer = &s->peers[ROLE_WORKER];
	}
}

void
scribe_forget_peer(struct peer *p)
{
	struct scribe *s = p->scribe;
	size_t n = 0;

	forget_early(p);
	for (size_t i = 0; i < s->n_waiting; i++)
		if (s->waiting[i].peer != p)
			s->waiting[n++] = s->waiting[i];
	s->n_waiting = n;
	if (p->role == ROLE_WORKER && s->journal != NULL) {
		journal_end_flows(s->journal, p, "its worker ended without it");
		event_active(s->flush, EV_TIMEOUT, 1);
	}
}

void
scribe_flush(struct scribe *s)
{
	if (s->journal == NULL)
		return;
	flush(s);
	finish_stop(s);
}

/* What no role should have sent: an alarm a role and second. */
static void
put_refused(struct peer *p)
{
	struct scribe *s = p->scribe;
	struct event e;

	if (p->n_refused == 0 || !journal_takes(s->journal))
		return;
	event_init(&e, EVENT_ALARM);
	event_str(&e, FIELD_ROLE, role_name(p->role));
	event_number(&e, FIELD_COUNTED, p->n_refused);
	event_str(&e, FIELD_DETAIL, "it sent what is no record of its own");
	if (journal_put(s->journal, &e, NULL))
		p->n_refused = 0;
}

void
scribe_tick(struct scribe *s)
{
	if (s->journal == NULL || s->stopped || !journal_is_started(s->journal))
		return;
	for (int r = 0; r < ROLE_COUNT; r++)
		put_refused(&s->peers[r]);
	for (size_t i = 0; i < SCRIBE_WORKERS_MAX; i++)
		put_refused(&s->workers[i]);
	flush(s);
	bool good = journal_takes(s->journal) ? journal_checkpoint(s->journal) :
						journal_retry(s->journal);
	if (!good)
		log_debug("the log takes nothing");
	scribe_update_status(s);
	finish_stop(s);
}
