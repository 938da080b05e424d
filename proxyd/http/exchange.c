/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/exchange_step.h"

#define IDLE UINT64_MAX
#define TO(phase) (1U << EXCHANGE_##phase)

static const struct {
	const char *name;
	unsigned next;	   /* set of phases */
	uint64_t limit_ms; /* 0: not armed on entering; IDLE: x->idle_ms */
} phases[EXCHANGE_PHASE_COUNT] = {
	/* HEAD arms its own: idle before its first byte, head behind it. */
	[EXCHANGE_HEAD] = { "HEAD", TO(JUDGE) | TO(GONE), 0 },
	[EXCHANGE_JUDGE] = { "JUDGE",
	    TO(READ) | TO(REACH) | TO(REFUSE) | TO(GONE), LIMIT_REFUSE_MS },
	[EXCHANGE_READ] = { "READ", TO(REACH) | TO(REFUSE) | TO(GONE),
	    LIMIT_PUSH_LIST_MS },
	[EXCHANGE_REACH] = { "REACH",
	    TO(ATTACH) | TO(JUDGE) | TO(REFUSE) | TO(GONE), LIMIT_DIAL_MS },
	[EXCHANGE_ATTACH] = { "ATTACH",
	    TO(SEND) | TO(REACH) | TO(JUDGE) | TO(REFUSE) | TO(GONE),
	    LIMIT_RELEASE_MS },
	[EXCHANGE_SEND] = { "SEND",
	    TO(ANSWER) | TO(TUNNEL) | TO(REACH) | TO(REFUSE) | TO(GONE), IDLE },
	[EXCHANGE_ANSWER] = { "ANSWER", TO(DONE) | TO(GONE), IDLE },
	[EXCHANGE_TUNNEL] = { "TUNNEL", TO(DONE) | TO(GONE), IDLE },
	[EXCHANGE_REFUSE] = { "REFUSE", TO(DONE) | TO(GONE), LIMIT_REFUSE_MS },
	[EXCHANGE_DONE] = { "DONE", 0, 0 },
	[EXCHANGE_GONE] = { "GONE", 0, 0 },
};

const char *
exchange_phase_name(enum exchange_phase p)
{
	assert(p < EXCHANGE_PHASE_COUNT);
	return phases[p].name;
}

bool
exchange_may_follow(enum exchange_phase from, enum exchange_phase to)
{
	return (phases[from].next & 1U << to) != 0;
}

void
exchange_drop_upstream(struct exchange *x, bool reset)
{
	if (x->upstream == NULL)
		return;
	if (reset)
		stream_reset(x->upstream);
	else
		stream_close(x->upstream);
	x->upstream = NULL;
	x->head_sent = false;
}

/* The one place an exchange ends. */
static void
exchange_close(struct exchange *x)
{
	timer_stop(&x->limit);
	if (x->phase == EXCHANGE_GONE)
		x->version->cut(x);
	/* A message that was not whole must not look so. */
	exchange_drop_upstream(x, x->phase == EXCHANGE_GONE && x->head_sent);
	x->ops->ended(x, x->arg);
}

enum exchange_step
exchange_enter(struct exchange *x, enum exchange_phase to)
{
	assert(exchange_may_follow(x->phase, to));
	log_debug("%s.%" PRIu64 " %s -> %s", x->flow, x->number,
	    exchange_phase_name(x->phase), exchange_phase_name(to));
	x->phase = to;
	x->asked = x->answer_yes = x->expired = false;
	if (to == EXCHANGE_DONE || to == EXCHANGE_GONE)
		exchange_close(x);
	else if (phases[to].limit_ms != 0)
		timer_set(&x->limit,
		    phases[to].limit_ms == IDLE ? x->idle_ms :
						  phases[to].limit_ms);
	return EXCHANGE_AGAIN;
}

static void
note(struct exchange *x, enum reason reason, const char *detail)
{
	/* The first thing that went wrong is the one that counts. */
	if (x->fail.reason != REASON_ALLOW || reason == REASON_ALLOW)
		return;
	x->fail = (struct parse_fail){ .reason = reason, .detail = detail };
}

enum exchange_step
exchange_lose(struct exchange *x, enum reason reason, const char *detail)
{
	note(x, reason, detail);
	x->close = true;
	return exchange_enter(x, EXCHANGE_GONE);
}

enum exchange_step
exchange_fail(struct exchange *x, enum reason reason, const char *detail)
{
	if (x->answering)
		return exchange_lose(x, reason, detail);
	note(x, reason, detail);
	x->refusal.reason = reason;
	if (x->refusal.policy.n == 0)
		refusal_put_escaped(&x->refusal.policy, slice_of_str(detail),
		    STREAM_TEXT_SIZE);
	x->was_close = x->close;
	x->close = true;
	exchange_drop_upstream(x, x->head_sent);
	return exchange_enter(x, EXCHANGE_REFUSE);
}

enum exchange_phase
exchange_run(struct exchange *x)
{
	static enum exchange_step (*const steps[EXCHANGE_PHASE_COUNT])(
	    struct exchange *) = {
		[EXCHANGE_HEAD] = exchange_step_head,
		[EXCHANGE_JUDGE] = exchange_step_judge,
		[EXCHANGE_READ] = exchange_step_read,
		[EXCHANGE_REACH] = exchange_step_reach,
		[EXCHANGE_ATTACH] = exchange_step_attach,
		[EXCHANGE_SEND] = exchange_step_send,
		[EXCHANGE_ANSWER] = exchange_step_answer,
		[EXCHANGE_TUNNEL] = exchange_step_tunnel,
		[EXCHANGE_REFUSE] = exchange_step_refuse,
	};

	while (x->phase != EXCHANGE_DONE && x->phase != EXCHANGE_GONE)
		if (steps[x->phase](x) == EXCHANGE_WAIT)
			break;
	return x->phase;
}

static void
on_limit(void *arg)
{
	struct exchange *x = arg;

	x->expired = true;
	x->ops->on_limit(x->arg);
}

int
exchange_init(struct exchange *x, struct loop *l, struct stream *client,
    const struct exchange_ops *ops, void *arg, enum err *err)
{
	x->ops = ops;
	x->arg = arg;
	x->client = client;
	x->phase = EXCHANGE_HEAD;
	x->idle_ms = LIMIT_IDLE_MS;
	buf_init(&x->head, LIMIT_HEAD_SIZE);
	buf_init(&x->answer_head, LIMIT_HEAD_SIZE);
	refusal_init(&x->refusal);
	way_init(&x->up, H1_CLIENT, x->version->has_end);
	way_init(&x->down, H1_UPSTREAM, x->version->has_end);
	x->fail = (struct parse_fail){ REASON_ALLOW, "", 0 };
	if (timer_init(&x->limit, l, on_limit, x, err) != 0)
		return -1;
	timer_set(&x->limit, LIMIT_CLIENT_IDLE_MS);
	if (x->version->has_head) {
		x->begun = true;
		x->started_ms = clock_ms();
	}
	return 0;
}

void
exchange_release(struct exchange *x)
{
	/* One that has not begun is no request yet: there is nothing to say. */
	bool begun = x->phase != EXCHANGE_HEAD || x->begun;
	if (x->phase != EXCHANGE_DONE && x->phase != EXCHANGE_GONE)
		(void)exchange_lose(x,
		    begun ? REASON_CLIENT_ABORT : REASON_ALLOW, "ended");
	timer_release(&x->limit);
	way_release(&x->up);
	way_release(&x->down);
	refusal_release(&x->refusal);
	buf_release(&x->head);
	buf_release(&x->answer_head);
}

bool
exchange_may_continue(const struct exchange *x)
{
	return x->phase == EXCHANGE_DONE && !x->close;
}

void
exchange_allow(struct exchange *x)
{
	if (x->phase == EXCHANGE_JUDGE || x->phase == EXCHANGE_READ)
		x->answer_yes = true;
}

void
exchange_reached(struct exchange *x, struct stream *s, bool pooled)
{
	if (x->phase != EXCHANGE_REACH || x->refused) {
		stream_close(s);
		return;
	}
	x->upstream = s;
	x->is_pooled = pooled;
	x->answer_yes = true;
}

void
exchange_reach_again(struct exchange *x)
{
	if (x->phase != EXCHANGE_REACH && x->phase != EXCHANGE_ATTACH)
		return;
	exchange_drop_upstream(x, false);
	if (x->phase == EXCHANGE_ATTACH)
		(void)exchange_enter(x, EXCHANGE_REACH);
	x->asked = x->answer_yes = false;
}

bool
exchange_judge_again(struct exchange *x)
{
	if ((x->phase != EXCHANGE_JUDGE && x->phase != EXCHANGE_REACH &&
		x->phase != EXCHANGE_ATTACH) ||
	    x->reads || x->refused || !x->version->read_again(x))
		return false;
	exchange_drop_upstream(x, false);
	way_release(&x->up);
	way_init(&x->up, H1_CLIENT, x->version->has_end);
	way_set(&x->up, x->req.body, x->req.body, x->req.length);
	x->credentials = (struct exchange_slots){ NULL };
	x->host = NULL;
	x->path = (struct slice){ 0 };
	x->port = 0;
	x->idle_ms = LIMIT_IDLE_MS;
	x->upgrade = x->skip_cookies = false;
	x->asked = x->answer_yes = false;
	if (x->phase != EXCHANGE_JUDGE)
		(void)exchange_enter(x, EXCHANGE_JUDGE);
	return true;
}

void
exchange_attached(struct exchange *x, const struct exchange_slots *slots)
{
	if (x->phase != EXCHANGE_ATTACH)
		return;
	x->credentials = *slots;
	x->answer_yes = true;
}

void
exchange_refuse(struct exchange *x, enum reason reason, const char *detail)
{
	note(x, reason, detail);
	x->refusal.reason = reason;
	x->refused = true;
}
