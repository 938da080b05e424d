/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/wr.h"
#include "dial/inside.h"
#include "dial/tell.h"
#include "priv/ops.h"

#define DIALED_SIZE_MAX 1024 /* bytes of an answer's body */

#define TO(phase) (1U << ASK_##phase)

static const unsigned next[ASK_PHASES] = {
	[ASK_RESOLVE] = TO(CONNECT) | TO(OVER),
	[ASK_CONNECT] = TO(TUNNEL) | TO(CONFIRM) | TO(OVER),
	[ASK_TUNNEL] = TO(CONFIRM) | TO(OVER),
	[ASK_CONFIRM] = TO(OVER),
	[ASK_OVER] = 0,
};

bool
ask_may_follow(enum ask_phase from, enum ask_phase to)
{
	return from < ASK_PHASES && to < ASK_PHASES &&
	    (next[from] & 1U << to) != 0;
}

void
ask_reaped(struct loop_item *item)
{
	struct ask *q = (struct ask *)item;

	timer_release(&q->limit);
	free(q);
}

/* The one place where a request ends; whatever is pending is cancelled. */
static void
ask_close(struct ask *q)
{
	resolve_cancel(q->resolution);
	connect_cancel(q->connecting);
	tunnel_cancel(q->tunnel); /* before its descriptor closes */
	channel_cancel(q->keeper, q->telling);
	if (q->recording)
		recorder_forget(q->asks->recorder, q);
	if (q->fd >= 0)
		close(q->fd);
	q->resolution = NULL;
	q->connecting = NULL;
	q->tunnel = NULL;
	q->telling = 0;
	q->recording = false;
	q->fd = -1;
	timer_stop(&q->limit);
	if (q->page != NULL)
		q->page->n_dials--;
	LIST_REMOVE(q, entry);
	loop_reap(q->asks->loop, &q->dead);
}

void
ask_enter(struct ask *q, enum ask_phase to)
{
	assert(ask_may_follow(q->phase, to));
	q->phase = to;
	if (to == ASK_OVER)
		ask_close(q);
}

/* Tell the worker; it gets the socket if that is allowed. */
static void
answer(struct ask *q, enum reason reason, const char *detail)
{
	uint8_t body[DIALED_SIZE_MAX];
	struct wr w = wr_of(body, sizeof(body));
	char peer[IP_TEXT_SIZE] = "";
	enum err err = ERR_NONE;

	/* Of what was refused the worker learns no address. */
	if (reason == REASON_ALLOW)
		ip_text(&q->account.peer, peer);
	wr_u16(&w, (uint16_t)reason);
	wr_slice8(&w, slice_of_str(detail));
	wr_slice8(&w, slice_of_str(peer));
	wr_u64(&w, reason == REASON_ALLOW ? q->account.cookie : 0);
	struct msg m = { .op = OP_DIALED, .id = q->id, .body = wr_slice(&w) };
	if (reason == REASON_ALLOW)
		m.fds[m.n_fds++] = q->fd;
	/* The worker is gone, or reads nothing: it ends the flow by itself. */
	if (channel_send(q->worker, &m, &err) != 0)
		log_warn("an answer is lost: %s", err_text(err));
}

void
ask_say_refused(struct ask *q, enum reason reason, const char *detail)
{
	struct event e;

	q->account.refused = reason;
	q->account.detail = detail;
	account_event(&q->account, &e);
	if (recorder_send(q->asks->recorder, &e, NULL, NULL) != 0)
		log_error("the record of a refused dial is lost");
	answer(q, reason, detail);
}

/* End it with a refusal, recorded. */
void
ask_refuse(struct ask *q, enum reason reason, const char *detail)
{
	ask_say_refused(q, reason, detail);
	ask_enter(q, ASK_OVER);
}

void
ask_on_limit(void *arg)
{
	struct ask *q = arg;

	if (q->phase == ASK_RESOLVE)
		ask_refuse(q, REASON_UP_RESOLVE, "no answer in time");
	else if (q->phase == ASK_CONNECT)
		ask_refuse(q, REASON_UP_CONNECT, "no connection in time");
	else if (q->phase == ASK_TUNNEL)
		ask_refuse(q, REASON_UP_CONNECT,
		    "no answer of the proxy in time");
	else
		ask_refuse(q, REASON_SHUTDOWN,
		    "keeper or scribe does not answer");
}

/* Both know of it now: the socket is the worker's. */
static void
hand_over(struct ask *q)
{
	if (!q->told || !q->written)
		return;
	answer(q, REASON_ALLOW, "");
	ask_enter(q, ASK_OVER);
}

static void
on_told(struct msg *m, void *arg)
{
	struct ask *q = arg;

	q->telling = 0;
	enum reason reason = tell_answer(m);
	if (reason != REASON_ALLOW) {
		ask_refuse(q, reason,
		    m == NULL ? "the keeper is away" :
				"the keeper does not know this program");
		return;
	}
	q->told = true;
	hand_over(q);
}

static void
on_written(bool written, void *arg)
{
	struct ask *q = arg;

	q->recording = false;
	if (!written) {
		ask_refuse(q, asks_not_recorded(q->asks),
		    "it cannot be recorded");
		return;
	}
	q->written = true;
	hand_over(q);
}

/* Tell the keeper and the scribe, at once. */
void
ask_confirm(struct ask *q)
{
	struct tell tell = {
		.who = q->request.who,
		.cookie = q->account.cookie,
		.port = q->request.port,
		.host = q->account.facts.host,
	};
	enum err err = ERR_NONE;
	struct event e;

	ask_enter(q, ASK_CONFIRM);
	q->keeper = q->asks->keeper;
	if (q->keeper != NULL)
		q->telling = tell_send(q->keeper, &tell, on_told, q, &err);
	if (q->telling == 0) {
		ask_refuse(q, REASON_SHUTDOWN, "the keeper is away");
		return;
	}
	account_event(&q->account, &e);
	if (recorder_send(q->asks->recorder, &e, on_written, q) != 0) {
		ask_refuse(q, asks_not_recorded(q->asks),
		    "it cannot be recorded");
		return;
	}
	q->recording = true;
}

void
ask_start(struct ask *q)
{
	const char *detail;
	enum reason reason = ask_check(q, &detail);

	if (reason != REASON_ALLOW) {
		ask_refuse(q, reason, detail);
		return;
	}
	timer_set(&q->limit, LIMIT_DIAL_MS);
	ask_reach(q);
}

void
ask_cancel(struct ask *q)
{
	ask_enter(q, ASK_OVER);
}
