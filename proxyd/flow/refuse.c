/* SPDX-License-Identifier: Apache-2.0 */
/*
 * REFUSE: our alert or last answer to leave, our end to be announced, and then
 * what the client still sends is read for a while and dropped: closing on
 * unread bytes resets, and a reset can overtake our answer (SM-24, UP-07).
 */
#include "flow/step.h"

/* RFC 8446 6: a fatal alert in a plaintext record. */
static void
put_alert(struct flow *f)
{
	const uint8_t alert[] = { 0x15, 3, 3, 0, 2, 2, f->alert };

	if (!stream_put(f->client, slice_of(alert, sizeof(alert))))
		f->reset = true;
}

enum step
step_refuse(struct flow *f)
{
	struct stream *client = f->client;

	if (f->h2 != NULL)
		return step_refuse_h2(f);
	if (!f->shut) {
		f->shut = true;
		if (f->alert != 0)
			put_alert(f);
		stream_shut(client);
	}
	f->drained += stream_peek(client).n;
	stream_take(client, stream_peek(client).n);
	if (f->drained > LIMIT_DRAIN_SIZE || f->expired ||
	    stream_is_broken(client))
		return flow_enter(f, PHASE_CLOSE);
	if (stream_is_shut(client) && stream_is_eof(client))
		return flow_enter(f, PHASE_CLOSE);
	if (stream_is_shut(client) && !f->draining) {
		f->draining = true;
		timer_set(&f->limit, LIMIT_DRAIN_MS);
	}
	return STEP_WAIT;
}
