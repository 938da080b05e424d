/* SPDX-License-Identifier: Apache-2.0 */
/* SERVE: one exchange after another, in the clear. */
#include "flow/hostile.h"
#include "flow/request.h"
#include "flow/step.h"

/* The exchange is over: another one, or the way out. */
static enum step
served(struct flow *f, struct request *r)
{
	bool next = request_may_continue(r);
	bool cut = request_was_cut(r);
	bool lost = request_is_lost(r);

	request_free(r);
	if (next)
		return STEP_AGAIN;
	f->reset = cut;
	/* What was answered before may still be on its way to a client that
	 * only ended its side. */
	if (cut || (lost && stream_is_broken(f->client)))
		return flow_enter(f, PHASE_CLOSE);
	return flow_enter(f, PHASE_REFUSE);
}

/* Nothing has come: wait for it, but not for ever. */
static enum step
wait_for_request(struct flow *f)
{
	if (stream_is_broken(f->client))
		return flow_enter(f, PHASE_CLOSE);
	if (stream_is_eof(f->client) || f->expired)
		return flow_enter(f, PHASE_REFUSE);
	if (!timer_is_set(&f->limit))
		timer_set(&f->limit, LIMIT_CLIENT_IDLE_MS);
	return STEP_WAIT;
}

enum step
step_serve(struct flow *f)
{
	if (f->alpn == ALPN_H2)
		return step_serve_h2(f);
	enum hostile obeyed = hostile_obey(f);
	struct request *r = LIST_FIRST(&f->requests);

	if (obeyed != HOSTILE_NO)
		return obeyed == HOSTILE_WAIT ? STEP_WAIT :
						flow_enter(f, PHASE_REFUSE);
	/* A request has room for two heads: an idle connection has none. */
	if (r == NULL && stream_peek(f->client).n == 0)
		return wait_for_request(f);
	timer_stop(&f->limit);
	f->expired = false; /* what it waited for has come */
	if (r == NULL)
		r = request_new(f, f->client);
	if (r == NULL) {
		f->reset = true;
		return flow_stop(f, REASON_INTERNAL, "out of memory");
	}
	return request_run(r) ? served(f, r) : STEP_WAIT;
}
