/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Role: the scribe, the only writer of the audit log.
 *
 * It has one descriptor to write to and the key of this log's checkpoints,
 * which it makes at its start and which ends with it.  It takes records from
 * the other roles, each of which may send certain kinds only, numbers and
 * chains them, and answers when they are in the file.
 */
#include <signal.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/rd.h"
#include "base/wr.h"
#include "priv/dispatch.h"
#include "proxyd/roles.h"
#include "proxyd/scribe_state.h"

void
scribe_say(struct peer *p, uint16_t op, uint32_t id, struct slice body)
{
	struct msg m = { .op = op, .id = id, .body = body };
	enum err err = ERR_NONE;

	if (!channel_is_open(p->channel) ||
	    channel_send(p->channel, &m, &err) == 0)
		return;
	/* One that has just ended is noticed by its channel. */
	if (err != ERR_CLOSED)
		log_warn("%s to the %s: %s", dispatch_op_name(op),
		    role_name(p->role), err_text(err));
}

void
scribe_say_status(struct peer *p)
{
	uint8_t body = p->scribe->took;

	scribe_say(p, OP_STATUS, 0, slice_of(&body, 1));
}

static void
on_certified(struct msg *m, void *arg)
{
	struct scribe *s = arg;
	struct rd r = rd_of(m == NULL ? (struct slice){ 0 } : m->body);
	bool good = rd_u8(&r) == 1;
	struct slice machine = rd_slice8(&r), signature = rd_slice8(&r);

	s->certifying = false;
	if (m == NULL)
		return; /* the next keeper is asked */
	if (!good || !rd_is_done(&r) || machine.n != SIGN_PUBLIC_SIZE ||
	    signature.n != SIGN_SIZE) {
		log_error("the keeper does not sign the key of the audit log");
		scribe_refuse_early(s);
		return;
	}
	if (!journal_start(s->journal, machine.p, signature.p)) {
		scribe_refuse_early(s);
		return;
	}
	scribe_update_status(s);
	scribe_take_early(s);
}

/* Once there is a log, and a keeper: nothing is written before its answer. */
static void
ask_for_certificate(struct scribe *s)
{
	struct channel *keeper = s->peers[ROLE_KEEPER].channel;
	uint8_t body[1 + SIGN_PUBLIC_SIZE];
	struct wr w = wr_of(body, sizeof(body));
	struct msg m = { .op = OP_CERTIFY };
	enum err err = ERR_NONE;

	if (s->journal == NULL || !journal_is_read(s->journal) ||
	    s->certifying || journal_is_started(s->journal) ||
	    !channel_is_open(keeper))
		return;
	wr_slice8(&w, slice_of(journal_key(s->journal), SIGN_PUBLIC_SIZE));
	m.body = wr_slice(&w);
	s->certifying = channel_ask(keeper, &m, on_certified, s, &err) != 0;
}

static void
lose_log(struct scribe *s, const char *why, enum err err)
{
	log_error("cannot go on with this audit log: %s (%s)", why,
	    err_text(err));
	journal_free(s->journal);
	s->journal = NULL;
	scribe_refuse_early(s);
}

/*
 * What an earlier scribe of this run left open.  Where there is one worker it is
 * that one's; of several nobody knows whose it is, and it ends with the log.
 */
static void
give_flows(struct peer *worker)
{
	if (worker->number == SCRIBE_ONLY_WORKER)
		journal_give_flows(worker->scribe->journal, worker);
}

/* A piece of a log that is gone on with; then whoever waits is heard. */
static void
on_read(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	static const struct timeval next_turn = { 0, 0 };
	struct scribe *s = arg;
	const char *why;

	switch (journal_read(s->journal, SCRIBE_READ_SIZE, &why)) {
	case RESUME_MORE:
		event_add(s->read, &next_turn);
		return;
	case RESUME_BAD:
		lose_log(s, why, ERR_INTEGRITY);
		return;
	case RESUME_DONE:
		break;
	}
	for (size_t i = 0; i < SCRIBE_WORKERS_MAX; i++)
		if (s->workers[i].channel != NULL)
			give_flows(&s->workers[i]);
	ask_for_certificate(s);
}

static void
take_log(struct scribe *s, struct msg *m)
{
	struct rd r = rd_of(m->body);
	unsigned flags = rd_u8(&r);
	const char *why;
	enum err err = ERR_NONE;
	int fd = msg_take_fd(m, 0);

	if (fd < 0 || s->journal != NULL || !rd_is_done(&r)) {
		log_error("a log without a file, or a second one");
		if (fd >= 0)
			close(fd);
		return;
	}
	s->journal = journal_open(fd, (flags & OPS_LOG_AGAIN) != 0, &why, &err);
	if (s->journal == NULL) {
		lose_log(s, why, err);
		return;
	}
	if ((flags & OPS_LOG_GAPS) != 0)
		journal_allow_gaps(s->journal);
	on_read(-1, 0, s);
}

static void on_msg(struct channel *c, struct msg *m, void *arg);

static void
lose_peer(struct peer *p)
{
	channel_free(p->channel);
	p->channel = NULL;
	if (p->role == ROLE_KEEPER)
		p->scribe->certifying = false;
	scribe_forget_peer(p);
}

/* The place of the worker of that number; NULL: there are too many. */
static struct peer *
worker_of(struct scribe *s, uint32_t number)
{
	struct peer *room = NULL;

	for (size_t i = 0; i < SCRIBE_WORKERS_MAX; i++) {
		struct peer *p = &s->workers[i];
		if (p->channel != NULL && p->number == number)
			return p;
		if (p->channel == NULL && room == NULL)
			room = p;
	}
	if (room != NULL)
		room->number = number;
	return room;
}

static void
take_channel(struct scribe *s, struct msg *m)
{
	struct rd r = rd_of(m->body);
	unsigned role = rd_u8(&r);
	uint32_t number = rd_u32(&r);
	struct peer *p = NULL;
	enum err err = ERR_NONE;
	int fd = msg_take_fd(m, 0);

	if (rd_is_done(&r) && fd >= 0 && role != ROLE_MONITOR &&
	    dispatch_may((enum role)role, ROLE_SCRIBE, OP_EVENT))
		p = role == ROLE_WORKER ? worker_of(s, number) :
					  &s->peers[role];
	if (p == NULL) {
		log_error("a channel to nobody");
		if (fd >= 0)
			close(fd);
		return;
	}
	if (p->channel != NULL)
		lose_peer(p);
	p->channel = channel_new(s->loop, fd, on_msg, p, &err);
	if (p->channel == NULL) {
		log_error("channel to the %s: %s", role_name(p->role),
		    err_text(err));
		return;
	}
	scribe_say_status(p);
	if (role == ROLE_WORKER && s->journal != NULL &&
	    journal_is_read(s->journal))
		give_flows(p);
	if (role == ROLE_KEEPER)
		ask_for_certificate(s);
}

static void
on_gone(struct peer *p)
{
	if (p->role != ROLE_MONITOR) {
		lose_peer(p);
		return;
	}
	scribe_end(p->scribe);
	loop_stop(p->scribe->loop);
}

static void
on_msg(struct channel *c UNUSED, struct msg *m, void *arg)
{
	struct peer *p = arg;
	struct scribe *s = p->scribe;
	enum err err = ERR_NONE;

	if (m == NULL)
		on_gone(p);
	else if (!dispatch_may(p->role, ROLE_SCRIBE, m->op))
		p->n_refused++;
	else if (m->op == OP_PING) {
		scribe_say(p, OP_PONG, 0, (struct slice){ 0 });
		scribe_say_tally(s);
	} else if (m->op == OP_LOG)
		take_log(s, m);
	else if (m->op == OP_CHANNEL)
		take_channel(s, m);
	else if (m->op == OP_NAME &&
	    owners_take(s->owners, m->body, NULL, NULL, &err) != 0)
		log_error("a name: %s", err_text(err));
	else if (m->op == OP_EVENT)
		scribe_take_event(p, m->body, m->id);
	else if (m->op == OP_EVENTS)
		scribe_take_events(p, m->body, m->id);
}

static void
on_flush(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	scribe_flush(arg);
}

static void
on_tick(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct scribe *s = arg;

	/* A log that could not be started is tried again. */
	ask_for_certificate(s);
	scribe_tick(s);
}

static int
set_up(struct scribe *s, enum err *err)
{
	static const struct timeval second = { 1, 0 };
	struct peer *monitor = &s->peers[ROLE_MONITOR];

	STAILQ_INIT(&s->early);
	for (int r = 0; r < ROLE_COUNT; r++)
		s->peers[r] =
		    (struct peer){ .scribe = s, .role = (enum role)r };
	for (size_t i = 0; i < SCRIBE_WORKERS_MAX; i++)
		s->workers[i] =
		    (struct peer){ .scribe = s, .role = ROLE_WORKER };
	if (digest_setup(err) != 0 || (s->owners = owners_new(err)) == NULL ||
	    (s->loop = loop_new(err)) == NULL)
		return -1;
	s->read = event_new(loop_base(s->loop), -1, 0, on_read, s);
	s->flush = event_new(loop_base(s->loop), -1, 0, on_flush, s);
	s->tick = event_new(loop_base(s->loop), -1, EV_PERSIST, on_tick, s);
	*err = ERR_MEMORY;
	if (s->read == NULL || s->flush == NULL || s->tick == NULL ||
	    event_priority_set(s->flush, LOOP_PRIORITY_REAP) != 0 ||
	    event_add(s->tick, &second) != 0)
		return -1;
	monitor->channel =
	    channel_new(s->loop, ROLE_MONITOR_FD, on_msg, monitor, err);
	return monitor->channel == NULL ? -1 : 0;
}

int
scribe_main(void)
{
	struct scribe *s = mem_alloc(sizeof(*s));
	enum err err = ERR_NONE;

	/* A file-size limit is an answer to write(2), not our end. */
	signal(SIGXFSZ, SIG_IGN);
	if (set_up(s, &err) != 0) {
		log_error("cannot start: %s", err_text(err));
		return 1;
	}
	if (isolate_role(ROLE_SCRIBE) != 0 || isolate_last(ROLE_SCRIBE) != 0)
		return 1;
	scribe_say(&s->peers[ROLE_MONITOR], OP_READY, 0, (struct slice){ 0 });
	loop_run(s->loop);
	journal_free(s->journal);
	return 0;
}
