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

/* The roles of a run, in the order in which they are started. */
static const enum role roles[] = { ROLE_SCRIBE, ROLE_KEEPER, ROLE_DIALER,
	ROLE_WORKER };

/* Who talks to whom, beside the monitor. */
static const enum role links[][2] = {
	{ ROLE_WORKER, ROLE_DIALER },
	{ ROLE_WORKER, ROLE_KEEPER },
	{ ROLE_WORKER, ROLE_SCRIBE },
	{ ROLE_DIALER, ROLE_KEEPER },
	{ ROLE_DIALER, ROLE_SCRIBE },
	{ ROLE_KEEPER, ROLE_SCRIBE },
};

static int role_start(struct monitor *m, enum role role);

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

/* Give each of two roles one end of a new channel. */
static void
link_roles(struct monitor *m, enum role a, enum role b)
{
	struct role_process *one = &m->children[a], *two = &m->children[b];
	uint8_t name_of_a = (uint8_t)a, name_of_b = (uint8_t)b;
	enum err err = ERR_NONE;
	int pair[2];

	if (one->channel == NULL || two->channel == NULL)
		return;
	if (spawn_pair(pair, &err) != 0) {
		monitor_fail(m, "cannot connect %s and %s: %s", role_name(a),
		    role_name(b), err_text(err));
		return;
	}
	roles_send(one, OP_CHANNEL, slice_of(&name_of_b, 1), &pair[0], 1);
	roles_send(two, OP_CHANNEL, slice_of(&name_of_a, 1), &pair[1], 1);
	close(pair[0]);
	close(pair[1]);
}

/* Those who have it from no other message write it into their records. */
static void
feed_name(struct monitor *m, struct role_process *c)
{
	uint8_t body[128];
	struct wr w = wr_of(body, sizeof(body));

	if (c->role != ROLE_DIALER && c->role != ROLE_KEEPER)
		return;
	wr_u32(&w, MONITOR_SANDBOX);
	wr_slice8(&w, slice_of_str(m->name));
	roles_send(c, OP_NAME, wr_slice(&w), NULL, 0);
}

static void
feed_program(struct monitor *m, struct role_process *c)
{
	uint8_t body[128];
	struct wr w = wr_of(body, sizeof(body));

	wr_u32(&w, MONITOR_SANDBOX);
	wr_u32(&w, MONITOR_GENERATION);
	wr_slice8(&w, slice_of_str(m->digest));
	roles_send(c, OP_PROGRAM, wr_slice(&w), &m->program_fd, 1);
}

/* Send one role what it works with, as far as it is known. */
static void
feed(struct monitor *m, struct role_process *c)
{
	const struct slice nothing = { 0 };
	uint8_t log;

	if (m->program_fd < 0 || c->channel == NULL)
		return;
	log = (uint8_t)((c->crashes[0] != 0 ? OPS_LOG_AGAIN : 0) |
	    (owner_allows_gaps(m->owner) ? OPS_LOG_GAPS : 0));
	if (c->role == ROLE_SCRIBE)
		roles_send(c, OP_LOG, slice_of(&log, 1), &m->log_fd, 1);
	else
		roles_send(c, OP_OWNER, nothing, &m->owner_fd, 1);
	feed_name(m, c);
	if (c->role == ROLE_DIALER)
		host_send(m);
	feed_program(m, c);
	if (c->role == ROLE_KEEPER && secrets_send(m) != 0)
		return;
	if (c->role == ROLE_WORKER)
		sandbox_feed(m, c);
}

void
roles_feed(struct monitor *m)
{
	for (size_t i = 0; i < COUNT_OF(roles); i++)
		feed(m, &m->children[roles[i]]);
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

	if (!rd_is_done(&r))
		return;
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
		spool_send(m, msg);
	monitor_step(m);
}

/* Remember a crash; true if it was one too many within the span. */
static bool
crashes_too_often(struct role_process *c)
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
	/* They went with it. */
	if (c->role == ROLE_WORKER)
		c->monitor->n_spools = 0;
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

/* While the log is closed only the scribe is needed, and the keeper, who signs
 * a new scribe's key. */
static void
ended_at_the_end(struct monitor *m, struct role_process *c)
{
	bool needed = c->role == ROLE_SCRIBE || c->role == ROLE_KEEPER;

	if (m->stage == STAGE_ENDING && needed && !crashes_too_often(c) &&
	    role_start(m, c->role) == 0) {
		feed(m, c);
		if (c->role == ROLE_SCRIBE)
			monitor_record_end(m);
	}
	monitor_step(m);
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
	if (m->stage >= STAGE_ENDING) {
		ended_at_the_end(m, c);
		return;
	}
	if (m->stage < STAGE_RUNNING) {
		monitor_fail(m, "the %s did not start: %s", role_name(c->role),
		    how);
		return;
	}
	if (crashes_too_often(c)) {
		monitor_fail(m,
		    "the %s ended three times within a minute "
		    "(last: %s); the sandbox is cut off",
		    role_name(c->role), how);
		return;
	}
	log_warn("the %s ended (%s); it is started again", role_name(c->role),
	    how);
	if (role_start(m, c->role) != 0)
		return;
	feed(m, c);
}

void
roles_look(struct monitor *m)
{
	for (size_t i = 0; i < COUNT_OF(roles); i++)
		if (m->children[roles[i]].pid != 0)
			on_ended(-1, 0, &m->children[roles[i]]);
}

static int
watch_child(struct monitor *m, struct role_process *c, struct spawned *s)
{
	enum err err = ERR_NONE;

	c->monitor = m;
	c->pid = s->pid;
	c->pidfd = s->pidfd;
	c->heard_ms = clock_ms();
	c->channel = channel_new(m->loop, s->channel, on_role_msg, c, &err);
	c->ended = event_new(loop_base(m->loop), c->pidfd, EV_READ | EV_PERSIST,
	    on_ended, c);
	if (c->channel != NULL && c->ended != NULL &&
	    event_add(c->ended, NULL) == 0)
		return 0;
	monitor_fail(m, "out of memory");
	return -1;
}

static int
role_start(struct monitor *m, enum role role)
{
	struct role_process *c = &m->children[role];
	struct spawned s;
	enum err err = ERR_NONE;

	if (spawn_role(role, &s, &err) != 0) {
		monitor_fail(m, "cannot start the %s: %s", role_name(role),
		    err_text(err));
		return -1;
	}
	c->role = role;
	if (watch_child(m, c, &s) != 0)
		return -1;
	if (role == ROLE_KEEPER) {
		/* At once: its CA and key are wanted by all that follows. */
		const struct slice nothing = { 0 };
		int fds[2] = { m->state_fd, m->key_fd };
		roles_send(c, OP_STATE, nothing, fds, m->key_fd < 0 ? 1 : 2);
	}
	for (size_t i = 0; i < COUNT_OF(links); i++)
		if (links[i][0] == role || links[i][1] == role)
			link_roles(m, links[i][0], links[i][1]);
	return 0;
}

/* A clerk or steward at work answers nobody; one that is stopped will never be done. */
static void
look_at_clerk(struct monitor *m)
{
	struct role_process *c = &m->clerk;
	siginfo_t info = { 0 };

	if (c->pid == 0)
		return;
	if (waitid(P_PID, (id_t)c->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) !=
		0 ||
	    info.si_pid == 0)
		c->heard_ms = clock_ms();
	else if (clock_ms() - c->heard_ms > LIMIT_HEARTBEAT_MISSED_MS)
		monitor_fail(m,
		    "the %s, process %ld, was stopped by a signal; nothing "
		    "was run",
		    role_name(c->role), (long)c->pid);
}

/* Ask each role for a sign of life; one that gave none for long is killed. */
static void
on_heartbeat(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct monitor *m = arg;
	const struct slice nothing = { 0 };

	if (m->program_fd >= 0)
		host_look(m);
	look_at_clerk(m);
	for (size_t i = 0; i < COUNT_OF(roles); i++) {
		struct role_process *c = &m->children[roles[i]];
		if (c->pid == 0)
			continue;
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

	m->heartbeat =
	    event_new(loop_base(m->loop), -1, EV_PERSIST, on_heartbeat, m);
	if (m->heartbeat == NULL || event_add(m->heartbeat, &each) != 0)
		return -1;
	for (size_t i = 0; i < COUNT_OF(roles); i++)
		if (role_start(m, roles[i]) != 0)
			return -1;
	return 0;
}

bool
roles_are_ready(const struct monitor *m)
{
	for (size_t i = 0; i < COUNT_OF(roles); i++)
		if (!m->children[roles[i]].ready)
			return false;
	return m->trust.n != 0;
}

void
roles_end_worker(struct monitor *m)
{
	struct role_process *c = &m->children[ROLE_WORKER];

	channel_free(c->channel);
	c->channel = NULL;
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
	for (size_t i = 0; i < COUNT_OF(roles); i++) {
		struct role_process *c = &m->children[roles[i]];
		pid_t pid = c->pid;
		if (pid == 0)
			continue;
		if (c->role == ROLE_SCRIBE)
			wait_for_log(m, c);
		forget_child(c);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	if (m->heartbeat != NULL)
		event_free(m->heartbeat);
	m->heartbeat = NULL;
}
