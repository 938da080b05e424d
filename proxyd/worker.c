/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <signal.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rd.h"
#include "policy/shelf.h"
#include "priv/dispatch.h"
#include "priv/role.h"
#include "proxyd/roles.h"
#include "proxyd/worker.h"
#include "tls/blocks.h"

/* For records that are still on their way when the monitor is gone; and before
 * those, for bytes of clients that are gone, too. */
#define LAST_WORDS_MS 500
#define LAST_BYTES_MS 300
#define LAST_LOOK_MS 2

/* Buffers of streams come and go with each request: keep their pages. */
#define KEPT_HEAP (8 << 20)

static void
set_keeper(struct worker *w, struct channel *c)
{
	struct worker_sandbox *s;

	LIST_FOREACH(s, &w->sandboxes, entry)
		leaf_cache_set_keeper(s->flows->leaves, c);
	w->roles.keeper = c;
}

/*
 * A channel that closed: its role is away.  Every question that waits there was
 * answered with NULL before this.
 */
static void
lose(struct worker *w, struct channel *c)
{
	if (c == w->roles.dialer)
		w->roles.dialer = NULL;
	if (c == w->roles.keeper)
		set_keeper(w, NULL);
	if (c == w->scribe) {
		recorder_set_channel(w->roles.recorder, NULL);
		w->scribe = NULL;
	}
	channel_free(c);
}

/* The scribe has caught up. */
static void
on_ready(bool ready, void *arg)
{
	struct worker *w = arg;
	struct worker_sandbox *s;

	if (!ready)
		return;
	LIST_FOREACH(s, &w->sandboxes, entry)
		sandbox_run(s->flows);
}

static void
on_role_msg(struct channel *c, struct msg *m, void *arg)
{
	struct worker *w = arg;

	if (c == w->scribe)
		recorder_take_msg(w->roles.recorder, m);
	if (m == NULL)
		lose(w, c);
}

static bool
take_channel(struct worker *w, struct msg *m)
{
	struct rd in = rd_of(m->body);
	uint8_t role = rd_u8(&in);
	uint32_t number = rd_u32(&in);
	enum err err;

	if (!rd_is_done(&in) || number != 0 ||
	    (role != ROLE_DIALER && role != ROLE_KEEPER && role != ROLE_SCRIBE))
		return false;
	int fd = msg_take_fd(m, 0);
	if (fd < 0) {
		/* It is not sent again.  A new worker is better than one that
		 * can admit nothing any more. */
		log_error("no descriptor left for the %s",
		    role_name((enum role)role));
		loop_stop(w->loop);
		return false;
	}
	struct channel *c = channel_new(w->loop, fd, on_role_msg, w, &err);
	if (c == NULL)
		return false;
	/* An old one that this replaces reports its end by itself. */
	if (role == ROLE_DIALER)
		w->roles.dialer = c;
	else if (role == ROLE_KEEPER)
		set_keeper(w, c);
	else {
		recorder_set_channel(w->roles.recorder, c);
		w->scribe = c;
	}
	return true;
}

static void
pong(struct worker *w, uint32_t id)
{
	const struct msg m = { .op = OP_PONG, .id = id };
	enum err err;

	/* If it cannot be said, the monitor draws its own conclusion. */
	(void)!channel_send(w->monitor, &m, &err);
}

/* The monitor's end closed, so the run is over: end what is open, and end. */
static void
say_goodbye(struct worker *w)
{
	struct worker_sandbox *s;

	LIST_FOREACH(s, &w->sandboxes, entry)
		worker_sandbox_close(s);
	recorder_flush(w->roles.recorder);
	w->goodbye_ms = clock_ms();
	timer_set(&w->last, 0);
}

/* True once no flow is left. */
static bool
finish_flows(struct worker *w, bool now)
{
	struct worker_sandbox *s;
	bool done = true;

	LIST_FOREACH(s, &w->sandboxes, entry) {
		if (now)
			sandbox_close(s->flows);
		done = sandbox_finish(s->flows) && done;
	}
	return done;
}

static void
on_monitor_msg(struct channel *c UNUSED, struct msg *m, void *arg)
{
	struct worker *w = arg;
	bool valid = true;

	if (m == NULL) {
		say_goodbye(w);
		return;
	}
	if (!dispatch_may(ROLE_MONITOR, ROLE_WORKER, m->op))
		valid = false;
	else if (m->op == OP_PING)
		pong(w, m->id);
	else if (m->op == OP_CHANNEL)
		valid = take_channel(w, m);
	else if (m->op == OP_OWNER)
		valid = worker_take_owner(w, m);
	else if (m->op == OP_PROGRAM)
		valid = worker_take_program(w, m);
	else if (m->op == OP_SANDBOX)
		valid = worker_take_sandbox(w, m);
	else if (m->op == OP_FORGET)
		valid = worker_take_forget(w, m);
	else if (m->op == OP_ENTRY)
		valid = worker_take_entry(w, m);
	if (!valid)
		log_warn("the monitor's %s cannot be used",
		    dispatch_op_name(m->op));
}

static void
on_last(void *arg)
{
	struct worker *w = arg;

	uint64_t passed = clock_ms() - w->goodbye_ms;

	bool done = finish_flows(w, passed >= LAST_BYTES_MS);
	recorder_flush(w->roles.recorder);
	if (done &&
	    (w->scribe == NULL || recorder_is_empty(w->roles.recorder) ||
		passed >= LAST_WORDS_MS))
		loop_stop(w->loop);
	else
		timer_set(&w->last, LAST_LOOK_MS);
}

static int
set_up(struct worker *w)
{
	enum err err = ERR_NONE;

	LIST_INIT(&w->sandboxes);
	ids_init(&w->by_id);
	w->programs = shelf_new(&err);
	if (w->programs == NULL)
		goto fail;
	w->loop = loop_new(&err);
	if (w->loop == NULL)
		goto fail;
	w->roles.loop = w->loop;
	w->roles.server = ctx_server_new(&err);
	if (w->roles.server == NULL)
		goto fail;
	w->roles.recorder = recorder_new(w->loop, on_ready, w, &err);
	if (w->roles.recorder == NULL ||
	    timer_init(&w->last, w->loop, on_last, w, &err) != 0)
		goto fail;
	w->monitor =
	    channel_new(w->loop, ROLE_MONITOR_FD, on_monitor_msg, w, &err);
	if (w->monitor == NULL)
		goto fail;
	w->roles.monitor = w->monitor;
	return 0;
fail:
	log_error("cannot start: %s", err_text(err));
	return -1;
}

int
worker_main(void)
{
	static struct worker worker;
	const struct msg ready = { .op = OP_READY };
	enum err err;

	signal(SIGPIPE, SIG_IGN);
	mallopt(M_TRIM_THRESHOLD, KEPT_HEAP);
	(void)blocks_use();
	if (isolate_role(ROLE_WORKER) != 0 || set_up(&worker) != 0 ||
	    isolate_last(ROLE_WORKER) != 0)
		return 1;
	if (channel_send(worker.monitor, &ready, &err) != 0)
		return 1;
	loop_run(worker.loop);
	return 0;
}
