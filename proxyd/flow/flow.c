/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "flow/choose.h"
#include "flow/entry.h"
#include "flow/flow.h"
#include "flow/must_wait.h"
#include "flow/pass.h"
#include "flow/record.h"
#include "flow/request.h"
#include "flow/step.h"
#include "http/h2.h"
#include "net/stream_tcp.h"

/* Confirmations of records come whatever becomes of the flow: wait for them. */
static void
reap_if_unused(struct flow *f)
{
	if (f->phase == PHASE_CLOSE && f->n_records == 0)
		loop_reap(f->loop, &f->dead);
}

/* The one place a flow ends.  It stays readable until the loop reaps it. */
static void
flow_close(struct flow *f)
{
	const struct sandbox *sb = f->sandbox;

	sb->asks->cancel(sb->asks_arg, f->asked);
	f->asked = NULL;
	again_cancel(&f->retry);
	while (!LIST_EMPTY(&f->requests))
		request_free(LIST_FIRST(&f->requests));
	choose_close(f);
	pass_close(f);
	if (f->reset)
		stream_reset(f->client);
	else
		stream_close(f->client);
	f->client = NULL;
	h2_close(f->h2);
	f->h2 = NULL;
	timer_stop(&f->limit);
	LIST_REMOVE(f, entry);
	f->sandbox->n_flows--;
	record_flow_end(f);
	reap_if_unused(f);
}

static void
flow_reaped(struct loop_item *item)
{
	struct flow *f = (struct flow *)item;

	timer_release(&f->limit);
	generation_unref(f->generation);
	free(f->hello_bytes);
	entry_free(f->proxy);
	free(f->choose);
	free(f->pass);
	free(f);
}

enum step
flow_enter(struct flow *f, enum phase to)
{
	assert(phase_may_follow(f->phase, to));
	log_debug("%s %s -> %s", f->name, phase_name(f->phase), phase_name(to));
	f->phase = to;
	f->expired = false;
	if (to == PHASE_CLOSE)
		flow_close(f);
	else if (phase_limit_ms(to) != 0)
		timer_set(&f->limit, phase_limit_ms(to));
	else
		timer_stop(&f->limit);
	return STEP_AGAIN;
}

void
flow_fault(struct flow *f, enum reason reason, const char *detail)
{
	f->facts.fault = reason;
	snprintf(f->detail, sizeof(f->detail), "%s", detail);
	record_judge(f->generation, &f->facts, &f->verdict);
}

enum step
flow_stop(struct flow *f, enum reason reason, const char *detail)
{
	flow_fault(f, reason, detail);
	return flow_enter(f, PHASE_CLOSE);
}

void
flow_run(struct flow *f)
{
	static enum step (*const steps[PHASE_COUNT])(struct flow *) = {
		[PHASE_ENTRY] = step_entry,
		[PHASE_PEEK] = step_peek,
		[PHASE_JUDGE] = step_judge,
		[PHASE_DIAL] = step_dial,
		[PHASE_PASS] = step_pass,
		[PHASE_CHOOSE] = step_choose,
		[PHASE_SHAKE] = step_shake,
		[PHASE_SERVE] = step_serve,
		[PHASE_REFUSE] = step_refuse,
	};

	f->again = true;
	if (f->running)
		return;
	f->running = true;
	while (f->again && f->phase != PHASE_CLOSE) {
		f->again = false;
		if (steps[f->phase](f) == STEP_AGAIN)
			f->again = true;
	}
	f->running = false;
	if (f->phase != PHASE_CLOSE)
		flow_must_wait(f);
}

void
flow_wake(struct flow *f)
{
	struct request *r;

	LIST_FOREACH(r, &f->requests, entry)
		r->news = true;
	flow_run(f);
}

static void
on_news(struct stream *s UNUSED, void *arg)
{
	flow_run(arg);
}

static void
on_limit(void *arg)
{
	struct flow *f = arg;

	f->expired = true;
	flow_run(f);
}

void
flow_on_written(bool written, void *arg)
{
	struct flow *f = arg;

	f->is_recorded = written;
	f->record_failed = !written;
	flow_wake(f);
	flow_drop_record(f);
}

void
flow_drop_record(struct flow *f)
{
	f->n_records--;
	reap_if_unused(f);
}

void
flow_set_client(struct flow *f, struct stream *s)
{
	f->client = s;
	stream_on(s, on_news, f);
}

void
flow_set_kind(struct flow *f)
{
	struct slice name;
	enum scheme kind =
	    policy_kind(f->generation->program, &f->dst, f->port, &name);

	f->facts.scheme = scheme_is_passed(kind) ? kind : (enum scheme)0;
	f->facts.host = kind == SCHEME_TCP ? name : (struct slice){ 0 };
}

void
flow_set_destination(struct flow *f, const struct ip *dst, uint16_t port)
{
	f->dst = f->facts.dst = *dst;
	f->port = f->facts.port = port;
	if (f->generation != NULL)
		flow_set_kind(f);
}

/* NULL: no memory; the client was reset. */
static struct flow *
make(struct sandbox *sb, struct stream *client, enum phase first)
{
	struct flow *f = calloc(1, sizeof(*f));
	enum err err;

	if (f == NULL || timer_init(&f->limit, sb->loop, on_limit, f, &err)) {
		free(f);
		stream_reset(client);
		return NULL;
	}
	f->dead.free = flow_reaped;
	f->sandbox = sb;
	f->loop = sb->loop;
	f->phase = first;
	f->started_ms = clock_ms();
	LIST_INIT(&f->requests);
	snprintf(f->name, sizeof(f->name), "s%" PRIu32 "-%" PRIx64, sb->id,
	    ++sb->last_flow);
	if (sb->generation != NULL)
		f->generation = generation_ref(sb->generation);
	f->facts = (struct facts){ .kind = FACTS_CONNECT,
		.now_s = clock_wall_us() / 1000000 };
	LIST_INSERT_HEAD(&sb->flows, f, entry);
	sb->n_flows++;
	flow_set_client(f, client);
	timer_set(&f->limit, phase_limit_ms(first));
	return f;
}

static void
begin(struct flow *f, enum reason fault)
{
	if (f->generation == NULL)
		fault = REASON_POLICY_NONE;
	else if (fault == REASON_ALLOW &&
	    f->sandbox->n_flows > LIMIT_CONNECTIONS)
		fault = REASON_LIMIT_CONNS;
	if (fault == REASON_LIMIT_CONNS || fault == REASON_POLICY_NONE) {
		f->reset = true;
		(void)flow_stop(f, fault, "");
		return;
	}
	f->facts.fault = fault;
	flow_run(f);
}

void
flow_new(struct sandbox *sb, struct stream *client, const struct ip *dst,
    uint16_t port, enum reason fault)
{
	struct flow *f = make(sb, client, PHASE_PEEK);

	if (f == NULL)
		return;
	flow_set_destination(f, dst, port);
	begin(f, fault);
}

void
flow_new_entry(struct sandbox *sb, struct stream *client, struct entry *entry)
{
	struct flow *f = make(sb, client, PHASE_ENTRY);

	if (f == NULL) {
		entry_free(entry);
		return;
	}
	f->proxy = entry;
	begin(f, REASON_ALLOW);
}

void
flow_accept(struct sandbox *sb, int fd, const struct ip *dst, uint16_t port,
    enum reason fault)
{
	enum err err;
	struct stream *s = stream_tcp_new(sb->loop, fd, &err);

	if (s != NULL)
		flow_new(sb, s, dst, port, fault);
}

/* Nothing is under way: between exchanges. */
static bool
is_idle(const struct flow *f)
{
	const struct request *r;

	if (f->phase != PHASE_SERVE)
		return f->phase == PHASE_REFUSE;
	LIST_FOREACH(r, &f->requests, entry)
		if (!request_is_idle(r))
			return false;
	return true;
}

void
flow_abort(struct flow *f, enum reason reason)
{
	if (f->phase == PHASE_CLOSE)
		return;
	if (is_idle(f)) {
		(void)flow_enter(f, PHASE_CLOSE);
		return;
	}
	struct request *r;
	LIST_FOREACH(r, &f->requests, entry) {
		exchange_refuse(&r->x, reason, "");
		/* An answer that is cut must not look whole. */
		f->reset = f->reset || r->x.answering;
	}
	(void)flow_stop(f, reason, "");
}

static bool
has_expired(const struct generation *g, const struct verdict *v, uint64_t now_s)
{
	if (g == NULL || !v->allow || v->rule == VERDICT_NONE)
		return false;
	uint64_t until = program_expires(g->program, v->rule);
	return until != 0 && until <= now_s;
}

void
flow_expire(struct flow *f, uint64_t now_s)
{
	static const char why[] = "the rule that allowed it has expired";
	struct request *r;

	if ((f->phase == PHASE_DIAL || f->phase == PHASE_PASS) &&
	    has_expired(f->generation, &f->verdict, now_s)) {
		(void)flow_stop(f, REASON_POLICY_CHANGED, why);
		return;
	}
	LIST_FOREACH(r, &f->requests, entry) {
		const struct verdict *v =
		    r->latest != NULL ? &r->now : &r->verdict;
		if (!r->judged || !r->verdict.allow ||
		    !has_expired(request_by(r), v, now_s))
			continue;
		exchange_refuse(&r->x, REASON_POLICY_CHANGED, why);
		r->news = true;
	}
	flow_run(f);
}

bool
flow_finish(struct flow *f, enum reason reason)
{
	if (f->phase != PHASE_DIAL && f->phase != PHASE_PASS) {
		flow_abort(f, reason);
		return true;
	}
	bool over = f->phase == PHASE_PASS && pass_is_over(f);
	flow_run(f); /* it may have been lost meanwhile */
	if (f->phase == PHASE_PASS && over) {
		f->reset = false;
		(void)flow_enter(f, PHASE_CLOSE);
	}
	return f->phase == PHASE_CLOSE;
}
