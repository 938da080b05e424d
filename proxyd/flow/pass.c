/* SPDX-License-Identifier: Apache-2.0 */
/* DIAL and PASS: an upstream for bytes that nobody reads, and those bytes. */
#include "flow/pass.h"
#include "base/clock.h"
#include "flow/record.h"
#include "flow/step.h"
#include "http/pool.h"

static void
on_again(void *arg)
{
	struct flow *f = arg;

	f->pass->asked = false;
	flow_run(f);
}

static void
on_dialled(const struct dial_answer *a, void *arg)
{
	struct flow *f = arg;
	struct pass *p = f->pass;

	f->asked = NULL;
	if (a->reason == REASON_POLICY_CHANGED &&
	    again_later(&f->sandbox->again_list, &f->retry, on_again, f))
		return;
	p->upstream = a->stream;
	p->cookie = a->cookie;
	snprintf(p->address, sizeof(p->address), "%.*s", SLICE_ARG(a->address));
	if (a->stream == NULL) {
		p->failed =
		    a->reason == REASON_ALLOW ? REASON_INTERNAL : a->reason;
		snprintf(p->detail, sizeof(p->detail), "%.*s",
		    SLICE_ARG(a->detail));
	}
	flow_run(f);
}

static void
ask_dial(struct flow *f)
{
	struct sandbox *sb = f->sandbox;
	struct slice only;
	struct host host;
	struct dial_ask ask = {
		.generation = f->generation,
		.rule = f->verdict.rule,
		.host = &host,
		.port = f->port,
		.flow = f->name,
	};

	judged_host(f, &host);
	ask.name_it =
	    !program_rule_host(f->generation->program, f->verdict.rule, &only);
	f->pass->asked = true;
	f->asked = sb->asks->dial(sb->asks_arg, sb, &ask, on_dialled, f);
}

/* Take it on, if anything may be taken on at this moment. */
static enum step
begin(struct flow *f)
{
	struct sandbox *sb = f->sandbox;
	enum reason reason = sb->asks->may_admit(sb->asks_arg);

	if (sb->asks->is_behind(sb->asks_arg))
		return STEP_WAIT; /* sandbox_run() comes back to it */
	if (reason != REASON_ALLOW)
		return flow_stop(f, reason, "");
	/* What is idle gives way to what is wanted. */
	if (sb->n_upstreams + pool_count(sb->pool) >= LIMIT_UPSTREAMS &&
	    !pool_drop_oldest(sb->pool))
		return flow_stop(f, REASON_LIMIT_CONNS,
		    "too many upstream connections");
	f->pass = calloc(1, sizeof(*f->pass));
	if (f->pass == NULL)
		return flow_stop(f, REASON_INTERNAL, "out of memory");
	sb->n_upstreams++;
	spend_init(&f->pass->spend, f->generation->program, f->verdict.rule,
	    &f->generation->spent);
	reason = spend_connection(&f->pass->spend, clock_ms());
	if (reason != REASON_ALLOW)
		return flow_stop(f, reason, f->pass->spend.text);
	record_flow_begin(f);
	return STEP_AGAIN;
}

enum step
step_dial(struct flow *f)
{
	const struct pass *p = f->pass;

	if (stream_is_broken(f->client))
		return flow_stop(f, REASON_CLIENT_ABORT,
		    "gone before there was an upstream");
	if (f->expired)
		return flow_stop(f, REASON_UP_CONNECT, "no connection in time");
	if (p == NULL)
		return begin(f);
	if (f->record_failed)
		return flow_stop(f, REASON_AUDIT_FULL,
		    "the record could not be written");
	if (!f->is_recorded)
		return STEP_WAIT;
	if (!p->asked)
		ask_dial(f);
	if (p->failed != REASON_ALLOW)
		return flow_stop(f, p->failed, p->detail);
	return p->upstream == NULL ? STEP_WAIT : flow_enter(f, PHASE_PASS);
}

static void
on_moved(void *arg)
{
	flow_run(arg);
}

/* Close both, without a reset: that would drop what has not left yet. */
static enum step
end(struct flow *f)
{
	f->reset = false;
	return flow_enter(f, PHASE_CLOSE);
}

/*
 * One side is gone, and so is the other.  If its end was passed on before,
 * nothing of it was cut, and it only did not wait for the other's.
 */
static enum step
lost(struct flow *f)
{
	const struct stream *client = f->client, *upstream = f->pass->upstream;
	bool is_client = stream_is_broken(client);
	const struct stream *s = is_client ? client : upstream;

	if (s->ended && (is_client ? upstream : client)->shut)
		return end(f);
	return flow_stop(f,
	    is_client ? REASON_CLIENT_ABORT : REASON_UP_RESPONSE,
	    stream_text(s));
}

static uint64_t
idle_ms(const struct pass *p)
{
	return p->spend.limits.idle_ms != 0 ? p->spend.limits.idle_ms :
					      LIMIT_IDLE_MS;
}

/* False: more has gone up than the rule lets pass. */
static bool
count_upload(struct pass *p)
{
	uint64_t n = p->upstream->n_out - p->n_counted;

	p->n_counted += n;
	return spend_passed(&p->spend, n, clock_ms());
}

enum step
step_pass(struct flow *f)
{
	struct pass *p = f->pass;

	if (p->splice == NULL) {
		p->splice = splice_new(f->client, p->upstream,
		    &f->sandbox->pipes, on_moved, f);
		timer_set(&f->limit, idle_ms(p));
	}
	if (p->splice == NULL)
		return flow_stop(f, REASON_INTERNAL, "out of memory");
	if (!count_upload(p))
		return flow_stop(f, REASON_LIMIT_BYTES, p->spend.text);
	if (splice_state(p->splice) == SPLICE_LOST)
		return lost(f);
	if (splice_state(p->splice) == SPLICE_OVER)
		return end(f);
	uint64_t n = f->client->n_in + f->client->n_out + p->upstream->n_in +
	    p->upstream->n_out;
	if (n != p->n_moved) {
		p->n_moved = n;
		f->expired = false;
		timer_set(&f->limit, idle_ms(p));
	}
	if (f->expired)
		return flow_stop(f, REASON_LIMIT_TIME,
		    "no byte of either side in time");
	return STEP_WAIT;
}

bool
pass_is_over(struct flow *f)
{
	struct pass *p = f->pass;

	if (p->splice == NULL)
		return false;
	/* The command may have ended this instant: see its end, too. */
	splice_look(p->splice);
	return f->client->ended && p->upstream->shut;
}

void
pass_close(struct flow *f)
{
	struct pass *p = f->pass;

	if (p == NULL)
		return;
	splice_free(p->splice);
	p->splice = NULL;
	if (p->upstream != NULL) {
		f->bytes_up += p->upstream->n_out;
		f->bytes_down += f->client->n_out;
		if (f->reset)
			stream_reset(p->upstream);
		else
			stream_close(p->upstream);
	}
	p->upstream = NULL;
	spend_end(&p->spend, 0, clock_ms());
	f->sandbox->n_upstreams--;
}
