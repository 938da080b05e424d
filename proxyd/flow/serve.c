/* SPDX-License-Identifier: Apache-2.0 */
/* SERVE: one exchange after another, in the clear. */
#include "flow/hostile.h"
#include "flow/request.h"
#include "flow/step.h"

/* The exchange is over: another one, or the way out. */
static enum step
served(struct flow *f)
{
	bool next = request_may_continue(f->request);
	bool cut = request_was_cut(f->request);
	bool lost = request_is_lost(f->request);

	request_free(f->request);
	f->request = NULL;
	if (next)
		return STEP_AGAIN;
	f->reset = cut;
	/* What was answered before may still be on its way to a client that
	 * only ended its side. */
	if (cut || (lost && stream_is_broken(f->client)))
		return flow_enter(f, PHASE_CLOSE);
	return flow_enter(f, PHASE_REFUSE);
}

enum step
step_serve(struct flow *f)
{
	enum hostile obeyed = hostile_obey(f);

	if (obeyed != HOSTILE_NO)
		return obeyed == HOSTILE_WAIT ? STEP_WAIT :
						flow_enter(f, PHASE_REFUSE);
	if (f->request == NULL)
		f->request = request_new(f);
	if (f->request == NULL) {
		f->reset = true;
		return flow_stop(f, REASON_INTERNAL, "out of memory");
	}
	return request_run(f->request) ? served(f) : STEP_WAIT;
}
