/* SPDX-License-Identifier: Apache-2.0 */
/* The roles of a run: what each works with, and what happens when one ends. */
#include <sys/wait.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/wr.h"
#include "proxyd/monitor_feed.h"

/* Those that are there from the start, in the order in which they are fed. */
static const enum role roles[] = { ROLE_SCRIBE, ROLE_KEEPER, ROLE_DIALER,
	ROLE_WORKER };

/* Those who have it from no other message write it into their records. */
static void
feed_name(struct monitor *m, struct role_process *c)
{
	uint8_t body[128];
	struct wr w = wr_of(body, sizeof(body));

	if (c->role == ROLE_WORKER)
		return;
	wr_u32(&w, MONITOR_SANDBOX);
	wr_u32(&w, MONITOR_WORKER);
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
	feed_name(m, c);
	if (c->role == ROLE_SCRIBE)
		roles_send(c, OP_LOG, slice_of(&log, 1), &m->log_fd, 1);
	else
		roles_send(c, OP_OWNER, nothing, &m->owner_fd, 1);
	if (c->role == ROLE_DIALER)
		host_send(m);
	feed_program(m, c);
	if (c->role == ROLE_KEEPER && secrets_send(m) != 0)
		return;
	if (c->role == ROLE_WORKER)
		sandbox_feed(m, c);
}

void
feed_all(struct monitor *m)
{
	for (size_t i = 0; i < COUNT_OF(roles); i++)
		feed(m, &m->children[roles[i]]);
}

/* Start it, for the first time or again. */
static int
start(struct monitor *m, enum role role)
{
	enum err err = ERR_NONE;

	if (role_start(m, &m->children[role], &err) == 0)
		return 0;
	monitor_fail(m, "cannot start the %s: %s", role_name(role),
	    err_text(err));
	return -1;
}

int
feed_start_worker(struct monitor *m)
{
	m->children[ROLE_WORKER].number = MONITOR_WORKER;
	return start(m, ROLE_WORKER);
}

void
feed_end_worker(struct monitor *m)
{
	struct role_process *c = &m->children[ROLE_WORKER];

	channel_free(c->channel);
	c->channel = NULL;
}

/* While the log is closed only the scribe is needed, and the keeper, who signs
 * a new scribe's key. */
static void
ended_at_the_end(struct monitor *m, struct role_process *c)
{
	bool needed = c->role == ROLE_SCRIBE || c->role == ROLE_KEEPER;

	if (m->stage == STAGE_ENDING && needed && !role_crashes_too_often(c) &&
	    start(m, c->role) == 0) {
		feed(m, c);
		if (c->role == ROLE_SCRIBE)
			monitor_record_end(m);
	}
	monitor_step(m);
}

void
feed_ended(struct monitor *m, struct role_process *c, const char *how)
{
	/* They went with it. */
	if (c->role == ROLE_WORKER)
		m->n_spools = 0;
	if (m->stage >= STAGE_ENDING) {
		ended_at_the_end(m, c);
		return;
	}
	if (m->stage < STAGE_RUNNING) {
		monitor_fail(m, "the %s did not start: %s", role_name(c->role),
		    how);
		return;
	}
	if (role_crashes_too_often(c)) {
		monitor_fail(m,
		    "the %s ended three times within a minute "
		    "(last: %s); the sandbox is cut off",
		    role_name(c->role), how);
		return;
	}
	log_warn("the %s ended (%s); it is started again", role_name(c->role),
	    how);
	if (start(m, c->role) == 0)
		feed(m, c);
}

/* A clerk or steward at work answers nobody; one that is stopped will never be
 * done. */
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

void
feed_beat(struct monitor *m)
{
	if (m->program_fd >= 0)
		host_look(m);
	look_at_clerk(m);
}
