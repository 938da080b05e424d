/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Role: the porter, which reads the control socket.
 *
 * The monitor accepts a connection, looks who is at its other end and what that
 * user may, and hands it over.  All bytes of callers are read here: HTTP, JSON;
 * what comes of them goes to the monitor as a request (priv/control.h), which
 * it reads as hostile input, and compares with what it knows of the caller.
 *
 * A porter reads for one user in its life: with the bytes of one somebody may
 * take it over, and it must not speak for another then.
 */
#include <sys/random.h>

#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/rd.h"
#include "control/content.h"
#include "priv/dispatch.h"
#include "proxyd/porter_state.h"
#include "proxyd/roles.h"

static bool
take_control(struct porter *p, struct msg *m)
{
	struct rd r = rd_of(m->body);
	uint32_t uid = rd_u32(&r);
	uint8_t rights = rd_u8(&r);

	if (!rd_is_done(&r) || m->n_fds != 1 || (p->has_uid && p->uid != uid))
		return false;
	p->has_uid = true;
	p->uid = uid;
	conn_begin(p, msg_take_fd(m, 0), uid, rights);
	return true;
}

static bool
say(struct porter *p, uint16_t op, uint32_t id)
{
	struct msg m = { .op = op, .id = id };
	enum err err = ERR_NONE;

	return channel_send(p->monitor, &m, &err) == 0;
}

static void
on_monitor_msg(struct channel *c UNUSED, struct msg *m, void *arg)
{
	struct porter *p = arg;
	bool good = false;

	if (m == NULL) {
		loop_stop(p->loop);
		return;
	}
	if (!dispatch_may(ROLE_MONITOR, ROLE_PORTER, m->op))
		good = false;
	else if (m->op == OP_PING)
		good = say(p, OP_PONG, 0);
	else if (m->op == OP_CONTROL)
		good = take_control(p, m);
	if (!good)
		log_warn("the monitor's %s cannot be used",
		    dispatch_op_name(m->op));
}

/* Before the list of system calls: see content_setup(). */
static int
set_up(struct porter *p, enum err *err)
{
	size_t seed = 0;

	LIST_INIT(&p->conns);
	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed)) {
		*err = ERR_SYSTEM;
		return -1;
	}
	content_setup(seed | 1);
	p->loop = loop_new(err);
	if (p->loop == NULL)
		return -1;
	p->monitor =
	    channel_new(p->loop, ROLE_MONITOR_FD, on_monitor_msg, p, err);
	return p->monitor == NULL ? -1 : 0;
}

static void
end(struct porter *p)
{
	struct conn *c;

	while ((c = LIST_FIRST(&p->conns)) != NULL)
		conn_close(c);
	channel_free(p->monitor);
	loop_free(p->loop);
}

int
porter_main(void)
{
	static struct porter porter;
	enum err err = ERR_NONE;

	if (isolate_role(ROLE_PORTER) != 0)
		return 1;
	if (set_up(&porter, &err) != 0) {
		log_error("cannot start: %s", err_text(err));
		return 1;
	}
	if (isolate_last(ROLE_PORTER) != 0 || !say(&porter, OP_READY, 0))
		return 1;
	loop_run(porter.loop);
	end(&porter);
	return 0;
}
