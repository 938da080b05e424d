/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a run:
 *
 *	LOADING   state opened, roles and namespaces on their way, while two
 *		  steward and clerk read configuration and policy
 *	READYING  everybody gets the program; the keeper sends its CA
 *	RUNNING   the command runs; roles that die are started again
 *	ENDING    the last records are written
 *	DONE      the loop ends, everything is put away
 *
 * Every callback changes what it knows and calls monitor_step().
 */
#include <sys/random.h>
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include <event2/event.h>

#include "audit/event.h"
#include "base/log.h"
#include "base/rd.h"
#include "base/utf8.h"
#include "ns/job.h"
#include "ns/netns.h"
#include "proxyd/monitor_state.h"

static void
set_deadline(struct monitor *m, uint64_t ms)
{
	struct timeval t = { .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000 * 1000) };

	if (ms == 0)
		event_del(m->deadline);
	else
		event_add(m->deadline, &t);
}

static void
stop(struct monitor *m)
{
	m->stage = STAGE_DONE;
	loop_stop(m->loop);
}

static void record_failure(struct monitor *m, const char *text);
static void begin_ending(struct monitor *m);

void
monitor_fail(struct monitor *m, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (m->stage == STAGE_DONE)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* It may have names of files in it, which others have chosen. */
	utf8_tame((uint8_t *)text, strlen(text), '\n');
	fprintf(stderr, "duenna: %s\n", text);
	m->status = MONITOR_FAULT;
	/* A log that has begun is closed in good order. */
	if (m->log_fd >= 0 && m->stage < STAGE_ENDING)
		record_failure(m, text);
	if (m->attached && m->stage < STAGE_ENDING)
		begin_ending(m);
	else
		stop(m);
}

/* Write a record of our own.  `on_written` NULL: no answer wanted. */
static bool
record(struct monitor *m, const struct event *e, channel_on_answer *on_written)
{
	struct channel *c = m->children[ROLE_SCRIBE].channel;
	uint8_t body[4096];
	struct msg msg = { .op = OP_EVENT };
	enum err err = ERR_NONE;
	size_t n = event_encode(e, body, sizeof(body));

	msg.body = slice_of(body, n);
	if (n == 0 || c == NULL)
		return false;
	if (on_written == NULL)
		return channel_send(c, &msg, &err) == 0;
	return channel_ask(c, &msg, on_written, m, &err) != 0;
}

static void
fill(struct monitor *m, struct event *e, enum event_kind kind)
{
	event_init(e, kind);
	event_str(e, FIELD_SANDBOX, m->name);
	event_text(e, FIELD_POLICY, program_policy_name(m->program));
	event_str(e, FIELD_PROGRAM, m->digest);
	event_number(e, FIELD_GENERATION, MONITOR_GENERATION);
}

static void
record_failure(struct monitor *m, const char *text)
{
	struct event e;

	fill(m, &e, EVENT_ALARM);
	event_str(&e, FIELD_DETAIL, text);
	if (m->why != REASON_ALLOW)
		event_reason(&e, m->why);
	(void)record(m, &e, NULL);
	if (m->attached)
		return;
	/* The log may have begun or not: nobody waits for an answer. */
	fill(m, &e, EVENT_STOP);
	(void)record(m, &e, NULL);
}

static void
on_attached(struct msg *msg, void *arg)
{
	struct monitor *m = arg;
	struct rd r = rd_of(msg == NULL ? (struct slice){ 0 } : msg->body);

	if (rd_u8(&r) != 1 || r.bad) {
		monitor_fail(m,
		    "cannot write the audit log %s; "
		    "nothing is allowed that cannot be recorded",
		    buf_text(&m->log_path));
		return;
	}
	m->attached = true;
	monitor_step(m);
}

static void
on_last_written(struct msg *msg, void *arg)
{
	struct monitor *m = arg;

	/* A scribe that died is told again when the next one is there. */
	if (msg == NULL && m->children[ROLE_SCRIBE].pid != 0)
		return;
	m->log_ended = msg != NULL;
	stop(m);
}

/* The sandbox's name: given, or the policy's with the digits that the clerk
 * had for it. */
static void
name_sandbox(struct monitor *m)
{
	if (m->cfg->name != NULL)
		snprintf(m->name, sizeof(m->name), "%s", m->cfg->name);
	else
		program_sandbox_name(program_policy_name(m->program),
		    slice_of_str(m->digits), m->name);
}

/* Which values the caller gave to parameters, for the record. */
static struct slice
list_sets(const struct monitor_config *cfg, struct buf *out)
{
	for (size_t i = 0; i < cfg->n_set; i++)
		buf_putf(out, "%s%s", i == 0 ? "" : " ", cfg->set[i]);
	return buf_slice(out);
}

/* Steward and clerk have answered: everybody gets what they work with. */
static void
begin_readying(struct monitor *m)
{
	struct event e;
	struct buf sets;

	m->stage = STAGE_READYING;
	name_sandbox(m);
	if (sandbox_take_name(m) != 0 || state_keep_program(m) != 0 ||
	    state_open_log(m) != 0 || sandbox_prepare(m) != 0)
		return;
	roles_feed(m);
	if (m->stage != STAGE_READYING)
		return;
	fill(m, &e, EVENT_PROGRAM);
	(void)record(m, &e, NULL);
	fill(m, &e, EVENT_ATTACH);
	buf_init(&sets, 1 << 20);
	event_str(&e, FIELD_COMMAND, m->cfg->command[0]);
	if (m->cfg->n_set != 0)
		event_text(&e, FIELD_PARAMETERS, list_sets(m->cfg, &sets));
	bool sent = record(m, &e, on_attached);
	buf_release(&sets);
	if (!sent)
		monitor_fail(m, "the scribe takes no records");
}

/* Packets that went neither to duenna nor to loopback, by their counters. */
static void
record_drops(struct monitor *m)
{
	struct netns_counters n;
	struct event e;

	if (sandbox_counters(m, &n) != 0)
		return;
	const struct {
		const char *what;
		uint64_t count;
	} rows[] = { { "UDP", n.udp }, { "ICMP", n.icmp },
		{ "other protocols", n.other } };
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].count == 0)
			continue;
		fill(m, &e, EVENT_DROP);
		event_str(&e, FIELD_REASON, reason_name(REASON_L3_PROTO));
		event_str(&e, FIELD_DETAIL, rows[i].what);
		event_number(&e, FIELD_COUNTED, rows[i].count);
		(void)record(m, &e, NULL);
	}
}

void
monitor_record_end(struct monitor *m)
{
	struct event e;

	fill(m, &e, EVENT_DETACH);
	event_number(&e, FIELD_EXIT, (uint64_t)m->status);
	(void)record(m, &e, NULL);
	fill(m, &e, EVENT_STOP);
	/* One that is dying closes its channel before its end is seen. */
	if (!record(m, &e, on_last_written) &&
	    m->children[ROLE_SCRIBE].pid == 0)
		stop(m);
}

static void
begin_ending(struct monitor *m)
{
	/* One that died a moment ago is needed for the last records. */
	roles_look(m);
	if (m->stage >= STAGE_ENDING)
		return;
	m->stage = STAGE_ENDING;
	set_deadline(m, MONITOR_END_MS);
	roles_end_worker(m);
	record_drops(m);
	monitor_record_end(m);
}

void
monitor_step(struct monitor *m)
{
	/* The scribe's key is signed by the keeper: that one is ready first. */
	if (m->stage == STAGE_LOADING && m->program != NULL &&
	    m->trust.n != 0 && !m->ca_waits)
		begin_readying(m);
	if (m->stage == STAGE_READYING && m->attached && roles_are_ready(m) &&
	    sandbox_is_ready(m)) {
		set_deadline(m, 0);
		m->stage = STAGE_RUNNING;
		sandbox_go(m);
	}
	if (m->stage == STAGE_ENDING && m->children[ROLE_SCRIBE].pid == 0)
		stop(m);
}

void
monitor_command_ended(struct monitor *m, int status)
{
	if (m->stage >= STAGE_ENDING)
		return;
	m->status = status;
	if (m->stage == STAGE_RUNNING)
		begin_ending(m);
	else
		stop(m);
}

static void
on_deadline(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct monitor *m = arg;

	if (m->stage == STAGE_ENDING) {
		log_warn("the last records may be missing from %s",
		    buf_text(&m->log_path));
		stop(m);
		return;
	}
	monitor_fail(m,
	    "the roles were not ready in time "
	    "(`duenna doctor` shows what is missing)");
}

static int
begin(struct monitor *m)
{
	enum err err = ERR_NONE;

	m->loop = loop_new(&err);
	if (m->loop != NULL)
		m->deadline =
		    event_new(loop_base(m->loop), -1, 0, on_deadline, m);
	if (m->loop == NULL || m->deadline == NULL) {
		fprintf(stderr, "duenna: cannot start: %s\n", err_text(err));
		return -1;
	}
	if (!isolate_has_user()) {
		monitor_fail(m,
		    "started by root of a user namespace that has no user for "
		    "duenna's roles (`duenna`, else 65534), as `unshare -r` "
		    "makes one: start it outside of it as the user that you "
		    "are, or give it more users: `unshare --map-root-user "
		    "--map-auto`");
		return -1;
	}
	set_deadline(m, MONITOR_START_MS);
	/* Namespaces and roles come up while these read. */
	if (state_open(m) != 0 || load_start(m) != 0 || sandbox_start(m) != 0 ||
	    roles_start(m) != 0)
		return -1;
	return 0;
}

static void
stop_all(struct monitor *m)
{
	sandbox_end(m);
	commands_end(m);
	roles_end(m);
	state_drop_empty_log(m);
}

static void
put_away(struct monitor *m)
{
	int fds[] = { m->owner_fd, m->program_fd, m->log_fd, m->state_fd,
		m->key_fd };

	for (size_t i = 0; i < COUNT_OF(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	policy_files_release(&m->files);
	owner_free(m->owner);
	program_free(m->program);
	buf_release(&m->log_path);
	buf_release(&m->state_dir);
	buf_release(&m->trust);
	buf_release(&m->last_hash);
	if (m->deadline != NULL)
		event_free(m->deadline);
	loop_free(m->loop);
}

int
monitor_run(const struct monitor_config *cfg)
{
	struct monitor m = { .cfg = cfg,
		.status = MONITOR_FAULT,
		.owner_fd = -1,
		.program_fd = -1,
		.log_fd = -1,
		.state_fd = -1,
		.key_fd = -1 };

	signal(SIGPIPE, SIG_IGN);
	LIST_INIT(&m.commands);
	for (int r = 0; r < ROLE_COUNT; r++)
		m.children[r].pidfd = -1;
	m.clerk.pidfd = -1;
	buf_init(&m.log_path, 8192);
	buf_init(&m.state_dir, 4096);
	buf_init(&m.trust, 65536);
	buf_init(&m.last_hash, 256);
	if (begin(&m) == 0 && m.stage != STAGE_DONE)
		loop_run(m.loop);
	report_end(&m);
	stop_all(&m);
	report_json(&m);
	put_away(&m);
	if (m.dies_by != 0)
		job_die(m.dies_by);
	return m.status;
}
