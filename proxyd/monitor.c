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

#include "audit/event.h"
#include "base/log.h"
#include "base/rd.h"
#include "ns/job.h"
#include "ns/netns.h"
#include "proxyd/monitor_feed.h"

static void begin_ending(struct monitor *m);

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
	(void)monitor_record(m, &e, NULL, NULL);
	if (m->attached)
		return;
	/* The log may have begun or not: nobody waits for an answer. */
	fill(m, &e, EVENT_STOP);
	(void)monitor_record(m, &e, NULL, NULL);
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
	monitor_stop(m);
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

static int
keep_program(struct monitor *m)
{
	if (state_keep_program(m, m->program, m->digest) == 0)
		return 0;
	monitor_fail(m, "cannot keep the program %s/programs/sha256-%s: %s",
	    buf_text(&m->state_dir), m->digest + 7, strerror(errno));
	return -1;
}

/* Steward and clerk have answered: everybody gets what they work with. */
static void
begin_readying(struct monitor *m)
{
	struct event e;
	struct buf sets;

	m->stage = STAGE_READYING;
	name_sandbox(m);
	if (sandbox_take_name(m) != 0 || keep_program(m) != 0 ||
	    state_open_log(m) != 0 || sandbox_prepare(m) != 0)
		return;
	feed_all(m);
	if (m->stage != STAGE_READYING)
		return;
	fill(m, &e, EVENT_PROGRAM);
	(void)monitor_record(m, &e, NULL, NULL);
	fill(m, &e, EVENT_ATTACH);
	buf_init(&sets, 1 << 20);
	event_str(&e, FIELD_COMMAND, m->cfg->command[0]);
	if (m->cfg->n_set != 0)
		event_text(&e, FIELD_PARAMETERS, list_sets(m->cfg, &sets));
	bool sent = monitor_record(m, &e, on_attached, m);
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
		(void)monitor_record(m, &e, NULL, NULL);
	}
}

void
monitor_record_end(struct monitor *m)
{
	struct event e;

	fill(m, &e, EVENT_DETACH);
	event_number(&e, FIELD_EXIT, (uint64_t)m->status);
	(void)monitor_record(m, &e, NULL, NULL);
	fill(m, &e, EVENT_STOP);
	/* One that is dying closes its channel before its end is seen. */
	if (!monitor_record(m, &e, on_last_written, m) &&
	    m->children[ROLE_SCRIBE].pid == 0)
		monitor_stop(m);
}

static void
begin_ending(struct monitor *m)
{
	/* One that died a moment ago is needed for the last records. */
	roles_look(m);
	if (m->stage >= STAGE_ENDING)
		return;
	m->stage = STAGE_ENDING;
	monitor_deadline(m, MONITOR_END_MS);
	feed_end_worker(m);
	record_drops(m);
	monitor_record_end(m);
}

static void
step(struct monitor *m)
{
	/* The scribe's key is signed by the keeper: that one is ready first. */
	if (m->stage == STAGE_LOADING && m->program != NULL &&
	    m->trust.n != 0 && !m->ca_waits)
		begin_readying(m);
	if (m->stage == STAGE_READYING && m->attached && roles_are_ready(m) &&
	    sandbox_is_ready(m)) {
		monitor_deadline(m, 0);
		m->stage = STAGE_RUNNING;
		sandbox_go(m);
	}
	if (m->stage == STAGE_ENDING && m->children[ROLE_SCRIBE].pid == 0)
		monitor_stop(m);
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
		monitor_stop(m);
}

static void
failed(struct monitor *m, const char *text)
{
	/* A log that has begun is closed in good order. */
	if (m->log_fd >= 0 && m->stage < STAGE_ENDING)
		record_failure(m, text);
	if (m->attached && m->stage < STAGE_ENDING)
		begin_ending(m);
	else
		monitor_stop(m);
}

static bool
uses(const struct monitor *m, uint32_t credential)
{
	return m->program != NULL && secret_is_named(m->program, credential);
}

static unsigned *
spools(struct monitor *m, struct role_process *c UNUSED, uint32_t sandbox)
{
	return sandbox == MONITOR_SANDBOX ? &m->n_spools : NULL;
}

static const struct monitor_ops ops = {
	.step = step,
	.failed = failed,
	.ended = feed_ended,
	.beat = feed_beat,
	.uses = uses,
	.spools = spools,
};

static int
begin(struct monitor *m)
{
	if (monitor_begin(m) != 0)
		return -1;
	/* Namespaces and roles come up while these read. */
	if (state_open(m) != 0 || load_start(m) != 0 || sandbox_start(m) != 0 ||
	    roles_start(m) != 0 || feed_start_worker(m) != 0)
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

int
monitor_run(const struct monitor_config *cfg)
{
	struct monitor m;

	monitor_init(&m, &ops, cfg);
	if (begin(&m) == 0 && m.stage != STAGE_DONE)
		loop_run(m.loop);
	report_end(&m);
	stop_all(&m);
	report_json(&m);
	monitor_release(&m);
	if (m.dies_by != 0)
		job_die(m.dies_by);
	return m.status;
}
