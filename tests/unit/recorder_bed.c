/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder_bed.h"

void
confirm(struct bed *b, uint32_t id, bool written)
{
	uint8_t body = written;
	struct msg m = { .op = OP_WRITTEN, .id = id };
	enum err err = ERR_NONE;

	m.body = slice_of(&body, 1);
	assert_int_equal(channel_send(b->scribe, &m, &err), 0);
}

static void
note(struct bed *b, struct slice body, uint32_t id)
{
	struct event e;

	assert_true(b->n_got < COUNT_OF(b->got));
	b->got[b->n_got].id = id;
	b->got[b->n_got].empty = body.n == 0;
	if (body.n != 0) {
		assert_true(event_decode(body, &e));
		b->got[b->n_got].kind = e.kind;
		b->got[b->n_got].repeated = event_has(&e, FIELD_REPEATED);
		b->got[b->n_got].count = event_number_of(&e, FIELD_COUNTED);
	}
	b->n_got++;
}

static void
on_scribe(struct channel *c UNUSED, struct msg *m, void *arg)
{
	struct bed *b = arg;
	struct rd r = rd_of(m == NULL ? (struct slice){ 0 } : m->body);

	if (m == NULL)
		return;
	b->n_messages++;
	if (m->op == OP_EVENT) {
		note(b, m->body, m->id);
	} else {
		assert_int_equal(m->op, OP_EVENTS);
		while (!rd_is_done(&r)) {
			struct slice one = rd_slice16(&r);
			assert_false(r.bad);
			assert_int_not_equal(one.n, 0);
			note(b, one, r.in.n == 0 ? m->id : 0);
		}
	}
	if (b->answers && m->id != 0)
		confirm(b, m->id, true);
}

static void
on_ours(struct channel *c UNUSED, struct msg *m, void *arg)
{
	struct bed *b = arg;

	recorder_take_msg(b->r, m);
}

static void
on_ready(bool ready, void *arg)
{
	struct bed *b = arg;

	b->ready += ready ? 1 : 0;
	b->unready += ready ? 0 : 1;
}

void
on_written(bool written, void *arg)
{
	struct bed *b = arg;

	b->yes += written ? 1 : 0;
	b->no += written ? 0 : 1;
}

void
run(struct bed *b)
{
	for (int i = 0; i < 100; i++)
		event_base_loop(loop_base(b->loop), EVLOOP_NONBLOCK);
}

void
connect_scribe(struct bed *b, bool takes)
{
	uint8_t body = takes;
	struct msg m = { .op = OP_STATUS };
	enum err err = ERR_NONE;
	int pair[2];

	assert_int_equal(spawn_pair(pair, &err), 0);
	b->ours = channel_new(b->loop, pair[0], on_ours, b, &err);
	b->scribe = channel_new(b->loop, pair[1], on_scribe, b, &err);
	assert_non_null(b->ours);
	assert_non_null(b->scribe);
	recorder_set_channel(b->r, b->ours);
	m.body = slice_of(&body, 1);
	assert_int_equal(channel_send(b->scribe, &m, &err), 0);
	run(b);
}

void
lose_scribe(struct bed *b)
{
	channel_free(b->scribe);
	b->scribe = NULL;
	run(b);
	channel_free(b->ours);
	b->ours = NULL;
	run(b);
}

int
set_up(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));
	enum err err = ERR_NONE;

	b->loop = loop_new(&err);
	b->r = recorder_new(b->loop, on_ready, b, &err);
	assert_non_null(b->r);
	*state = b;
	return 0;
}

int
tear_down(void **state)
{
	struct bed *b = *state;

	recorder_free(b->r);
	channel_free(b->ours);
	channel_free(b->scribe);
	loop_free(b->loop);
	free(b);
	clock_set(0, 0);
	return 0;
}

int
send_kind(struct bed *b, enum event_kind kind, recorder_on_written *cb)
{
	struct event e;

	event_init(&e, kind);
	event_number(&e, FIELD_BYTES_UP, 0); /* no budget */
	return recorder_send(b->r, &e, cb, b);
}
