/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/rd.h"
#include "base/wr.h"
#include "priv/dispatch.h"
#include "priv/spawn.h"
#include "proxyd/monitor_state.h"

/* Who talks to whom, beside the monitor. */
static const enum role links[][2] = {
	{ ROLE_WORKER, ROLE_DIALER },
	{ ROLE_WORKER, ROLE_KEEPER },
	{ ROLE_WORKER, ROLE_SCRIBE },
	{ ROLE_DIALER, ROLE_KEEPER },
	{ ROLE_DIALER, ROLE_SCRIBE },
	{ ROLE_KEEPER, ROLE_SCRIBE },
};

/* Those that are always there, in the order in which they are started. */
static const enum role roles[] = { ROLE_SCRIBE, ROLE_KEEPER, ROLE_DIALER };

void
roles_send(struct role_process *c, uint16_t op, struct slice body,
    const int *fds, size_t n_fds)
{
	struct msg msg = { .op = op, .body = body, .n_fds = n_fds };
	enum err err = ERR_NONE;

	for (size_t i = 0; i < n_fds; i++)
		msg.fds[i] = fds[i];
	/* A role that is gone is noticed by its pidfd and fed anew. */
	if (channel_send(c->channel, &msg, &err) != 0)
		log_debug("%s not sent to %s: %s", dispatch_op_name(op),
		    role_name(c->role), err_text(err));
}

static void
send_channel(struct role_process *to, const struct role_process *of, int fd)
{
	uint8_t body[8];
	struct wr w = wr_of(body, sizeof(body));

	wr_u8(&w, (uint8_t)of->role);
	wr_u32(&w, of->number);
	roles_send(to, OP_CHANNEL, wr_slice(&w), &fd, 1);
}

/* Give each of two roles one end of a new channel. */
static int
link_roles(struct role_process *one, struct role_process *two, enum err *err)
{
	int pair[2];

	if (spawn_pair(pair, err) != 0)
		return -1;
	send_channel(one, two, pair[0]);
	send_channel(two, one, pair[1]);
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static bool
are_linked(enum role a, enum role b)
{
	for (size_t i = 0; i < COUNT_OF(links); i++)
		if ((links[i][0] == a && links[i][1] == b) ||
		    (links[i][0] == b && links[i][1] == a))
			return true;
	return false;
}

static void
on_trust(struct monitor *m, struct slice body)
{
	struct rd r = rd_of(body);
	struct slice der = rd_slice16(&r);

	if (!rd_is_done(&r) || der.n == 0)
		return;
	buf_clear(&m->trust);
	buf_put(&m->trust, der);
}

static void
on_tally(struct monitor *m, struct slice body)
{
	struct rd r = rd_of(body);
	uint64_t denied = rd_u64(&r), reported = rd_u64(&r);
	uint64_t alarms = rd_u64(&r), missing = rd_u64(&r);
	struct slice hash = rd_slice8(&r);
	uint64_t refused[REASON_COUNT];

	for (size_t i = 0; i < REASON_COUNT; i++)
		refused[i] = rd_u64(&r);
	if (!rd_is_done(&r))
		return;
	memcpy(m->n_refused, refused, sizeof(refused));
	m->n_denied = denied;
	m->n_reported = reported;
	m->n_alarms = alarms;
	m->n_missing = missing;
	buf_clear(&m->last_hash);
	buf_put(&m->last_hash, hash);
}

static void
on_role_msg(struct channel *ch UNUSED, struct msg *msg, void *arg)
{
	struct role_process *c = arg;
	struct monitor *m = c->monitor;

	if (msg == NULL)
		return; /* its pidfd tells the rest */
	if (!dispatch_may(c->role, ROLE_MONITOR, msg->op)) {
		log_warn("%s sent %s, which it may not", role_name(c->role),
		    dispatch_op_name(msg->op));
		return;
	}
	c->heard_ms = clock_ms();
	if (msg->op == OP_READY)
		c->ready = true;
	else if (msg->op == OP_TRUST)
		on_trust(m, msg->body);
	else if (msg->op == OP_FRESH)
		secret_send_again(m, msg->body);
	else if (msg->op == OP_TALLY)
		on_tally(m, msg->body);
	else if (msg->op == OP_SPOOL)
		spool_send(c, msg);
	else if (m->ops->heard != NULL)
		m->ops->heard(m, c, msg);
	monitor_step(m);
}

bool
role_crashes_too_often(struct role_process *c)
{
	uint64_t now = clock_ms();

	for (size_t i = MONITOR_CRASHES - 1; i > 0; i--)
		c->crashes[i] = c->crashes[i - 1];
	c->crashes[0] = now;
	uint64_t oldest = c->crashes[MONITOR_CRASHES - 1];
	return oldest != 0 && now - oldest < MONITOR_CRASH_SPAN_MS;
}

static void
forget_child(struct role_process *c)
{
	if (c->ended != NULL)
		event_free(c->ended);
	channel_free(c->channel);
	if (c->pidfd >= 0)
		close(c->pidfd);
	c->ended = NULL;
	c->channel = NULL;
	c->pidfd = -1;
	c->pid = 0;
	c->ready = false;
	TAILQ_REMOVE(&c->monitor->running, c, entry);
}

static void
describe_end(int status, char *text, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(text, size, "killed by signal %d%s", WTERMSIG(status),
		    WTERMSIG(status) == SIGSYS ?
			" (a system call outside its list)" :
			"");
	else
		snprintf(text, size, "exited with %d", WEXITSTATUS(status));
}

static void
on_ended(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct role_process *c = arg;
	struct monitor *m = c->monitor;
	char how[64];
	int status = 0;

	if (waitpid(c->pid, &status, WNOHANG) != c->pid)
		return;
	describe_end(status, how, sizeof(how));
	forget_child(c);
	m->ops->ended(m, c, how);
}

void
roles_look(struct monitor *m)
{
	for (size_t i = 0; i < COUNT_OF(roles); i++)
		if (m->children[roles[i]].pid != 0)
			on_ended(-1, 0, &m->children[roles[i]]);
}

static int
watch_child(struct monitor *m, struct role_process *c, struct spawned *s,
    enum err *err)
{
	c->monitor = m;
	c->pid = s->pid;
	c->pidfd = s->pidfd;
	c->heard_ms = clock_ms();
	TAILQ_INSERT_TAIL(&m->running, c, entry);
	c->channel = channel_new(m->loop, s->channel, on_role_msg, c, err);
	c->ended = event_new(loop_base(m->loop), c->pidfd, EV_READ | EV_PERSIST,
	    on_ended, c);
	if (c->channel != NULL && c->ended != NULL &&
	    event_add(c->ended, NULL) == 0)
		return 0;
	*err = ERR_MEMORY;
	return -1;
}

/* Channels to those that it talks to and that are there. */
static int
link_all(struct role_process *c, enum err *err)
{
	struct role_process *other;

	TAILQ_FOREACH(other, &c->monitor->running, entry)
		if (other != c && other->channel != NULL &&
		    are_linked(c->role, other->role) &&
		    link_roles(c, other, err) != 0)
			return -1;
	return 0;
}

int
role_start(struct monitor *m, struct role_process *c, enum err *err)
{
	struct spawned s;

	if (spawn_role(c->role, &s, err) != 0)
		return -1;
	if (watch_child(m, c, &s, err) != 0) {
		role_end(c);
		return -1;
	}
	if (c->role == ROLE_KEEPER) {
		/* At once: its CA and key are wanted by all that follows. */
		const struct slice nothing = { 0 };
		int fds[2] = { m->state_fd, m->key_fd };
		roles_send(c, OP_STATE, nothing, fds, m->key_fd < 0 ? 1 : 2);
	}
	if (link_all(c, err) == 0)
		return 0;
	role_end(c);
	return -1;
}

void
role_end(struct role_process *c)
{
	pid_t pid = c->pid;

	if (pid == 0)
		return;
	forget_child(c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Ask each role for a sign of life; one that gave none for long is killed. */
static void
on_heartbeat(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct monitor *m = arg;
	const struct slice nothing = { 0 };

	struct role_process *c;

	m->ops->beat(m);
	TAILQ_FOREACH(c, &m->running, entry) {
		if (clock_ms() - c->heard_ms > LIMIT_HEARTBEAT_MISSED_MS) {
			log_warn("the %s does not answer; it is killed",
			    role_name(c->role));
			kill(c->pid, SIGKILL);
			continue;
		}
		roles_send(c, OP_PING, nothing, NULL, 0);
	}
}

int
roles_start(struct monitor *m)
{
	struct timeval each = { .tv_sec = LIMIT_HEARTBEAT_MS / 1000 };
	enum err err = ERR_NONE;

	m->heartbeat =
	    event_new(loop_base(m->loop), -1, EV_PERSIST, on_heartbeat, m);
	if (m->heartbeat == NULL || event_add(m->heartbeat, &each) != 0)
		return -1;
	for (size_t i = 0; i < COUNT_OF(roles); i++) {
		if (role_start(m, &m->children[roles[i]], &err) == 0)
			continue;
		monitor_fail(m, "cannot start the %s: %s", role_name(roles[i]),
		    err_text(err));
		return -1;
	}
	return 0;
}

bool
roles_are_ready(const struct monitor *m)
{
	const struct role_process *c;

	TAILQ_FOREACH(c, &m->running, entry)
		if (!c->ready)
			return false;
	for (size_t i = 0; i < COUNT_OF(roles); i++)
		if (m->children[roles[i]].pid == 0)
			return false;
	return m->trust.n != 0;
}

/* A log that was begun and not ended gets its last checkpoint. */
static void
wait_for_log(struct monitor *m, struct role_process *scribe)
{
	struct pollfd ended = { .fd = scribe->pidfd, .events = POLLIN };

	channel_free(scribe->channel);
	scribe->channel = NULL;
	if (m->log_fd >= 0 && !m->log_ended)
		(void)poll(&ended, 1, MONITOR_LOG_MS);
}

/* The channels close, the roles end with them; none outlives the monitor. */
void
roles_end(struct monitor *m)
{
	struct role_process *scribe = &m->children[ROLE_SCRIBE], *c;

	if (scribe->pid != 0)
		wait_for_log(m, scribe);
	while ((c = TAILQ_FIRST(&m->running)) != NULL)
		role_end(c);
	if (m->heartbeat != NULL)
		event_free(m->heartbeat);
	m->heartbeat = NULL;
}
