/* SPDX-License-Identifier: Apache-2.0 */
/* What the monitors of `run` and of `serve` begin and end with. */
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include <event2/event.h>

#include "audit/event.h"
#include "base/utf8.h"
#include "proxyd/monitor_state.h"

void
monitor_init(struct monitor *m, const struct monitor_ops *ops,
    const struct monitor_config *cfg)
{
	*m = (struct monitor){ .ops = ops,
		.cfg = cfg,
		.status = MONITOR_FAULT,
		.owner_fd = -1,
		.program_fd = -1,
		.log_fd = -1,
		.state_fd = -1,
		.key_fd = -1,
		.secret_owner = geteuid() };
	signal(SIGPIPE, SIG_IGN);
	LIST_INIT(&m->commands);
	TAILQ_INIT(&m->running);
	for (int r = 0; r < ROLE_COUNT; r++) {
		m->children[r].role = (enum role)r;
		m->children[r].pidfd = -1;
	}
	m->clerk.pidfd = -1;
	buf_init(&m->log_path, 8192);
	buf_init(&m->state_dir, 4096);
	buf_init(&m->trust, 65536);
	buf_init(&m->last_hash, 256);
}

static void
on_deadline(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct monitor *m = arg;

	if (m->stage == STAGE_ENDING) {
		fprintf(stderr,
		    "duenna: the last records may be missing from %s\n",
		    buf_text(&m->log_path));
		monitor_stop(m);
		return;
	}
	monitor_fail(m,
	    "the roles were not ready in time "
	    "(`duenna doctor` shows what is missing)");
}

int
monitor_begin(struct monitor *m)
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
	monitor_deadline(m, MONITOR_START_MS);
	return 0;
}

void
monitor_release(struct monitor *m)
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

void
monitor_step(struct monitor *m)
{
	m->ops->step(m);
}

void
monitor_stop(struct monitor *m)
{
	m->stage = STAGE_DONE;
	loop_stop(m->loop);
}

void
monitor_deadline(struct monitor *m, uint64_t ms)
{
	struct timeval t = { .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000 * 1000) };

	if (ms == 0)
		event_del(m->deadline);
	else
		event_add(m->deadline, &t);
}

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
	m->ops->failed(m, text);
}

bool
monitor_record(struct monitor *m, const struct event *e,
    channel_on_answer *on_written, void *arg)
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
	return channel_ask(c, &msg, on_written, arg, &err) != 0;
}
