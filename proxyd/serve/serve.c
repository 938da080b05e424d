/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a gateway's life:
 *
 *	LOADING   files are read, roles come up, the steward reads the
 *		  configuration
 *	READYING  everybody gets it; the log begins
 *	RUNNING   sandboxes come and go
 *	ENDING    workers end what is open; the last records are written
 *	DONE      the loop ends, all is put away
 */
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "audit/event.h"
#include "base/log.h"
#include "base/mem.h"
#include "certs/bundle.h"
#include "proxyd/monitor_ca.h"
#include "serve/restore.h"

#define MONITOR_NAME "serve" /* in the name of the log */

static const int ending[] = { SIGTERM, SIGINT };

/* For those who put a sandbox together: what it has to trust. */
static bool
write_ca(struct serve *s)
{
	struct slice cas[OWNER_CA_KINDS];
	size_t n = ca_published(&s->m, cas);
	char path[4096];
	struct buf pem;

	buf_init(&pem, 1 << 20);
	bool good = true;
	for (size_t i = 0; good && i < n; i++)
		good = bundle_put_pem(&pem, cas[i]);
	snprintf(path, sizeof(path), "%s/ca.pem", s->cfg->state);
	int fd = open(path,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	good = good && fd >= 0 && write(fd, pem.p, pem.n) == (ssize_t)pem.n;
	if (fd >= 0)
		close(fd);
	buf_release(&pem);
	if (!good)
		monitor_fail(&s->m, "cannot write %s: %s", path,
		    strerror(errno));
	return good;
}

static void
begin_readying(struct serve *s)
{
	struct monitor *m = &s->m;

	m->stage = STAGE_READYING;
	snprintf(m->name, sizeof(m->name), MONITOR_NAME);
	s->sent = mem_array(owner_n_credentials(m->owner) + 1, sizeof(bool));
	if (!write_ca(s) || state_open_log(m) != 0)
		return;
	serve_feed(s, &m->children[ROLE_SCRIBE]);
	serve_feed(s, &m->children[ROLE_KEEPER]);
	serve_feed(s, &m->children[ROLE_DIALER]);
}

static void
on_last_written(struct msg *msg, void *arg)
{
	struct serve *s = arg;

	s->m.log_ended = msg != NULL;
	monitor_stop(&s->m);
}

static void
begin_ending(struct serve *s)
{
	struct monitor *m = &s->m;
	struct event e;
	struct box *b;

	if (m->stage >= STAGE_ENDING)
		return;
	m->stage = STAGE_ENDING;
	notify("STOPPING=1");
	monitor_deadline(m, MONITOR_END_MS);
	workers_end(s);
	TAILQ_FOREACH(b, &s->boxes, entry) {
		if (b->state != BOX_ATTACHED)
			continue;
		serve_fill(b, &e, EVENT_DETACH);
		(void)monitor_record(m, &e, NULL, NULL);
	}
	event_init(&e, EVENT_STOP);
	if (m->log_fd < 0 || !monitor_record(m, &e, on_last_written, s))
		monitor_stop(m);
}

static void
step(struct monitor *m)
{
	struct serve *s = serve_of(m);

	/* The scribe's key is signed by the keeper: that one is ready first. */
	if (m->stage == STAGE_LOADING && m->owner != NULL && m->trust.n != 0 &&
	    !m->ca_waits)
		begin_readying(s);
	if (m->stage == STAGE_READYING && m->children[ROLE_SCRIBE].ready &&
	    m->children[ROLE_KEEPER].ready && m->children[ROLE_DIALER].ready) {
		monitor_deadline(m, 0);
		m->stage = STAGE_RUNNING;
		restore_begin(s);
	}
	if (m->stage == STAGE_ENDING && m->children[ROLE_SCRIBE].pid == 0)
		monitor_stop(m);
}

static void
failed(struct monitor *m, const char *text)
{
	struct event e;

	if (m->log_fd < 0 || m->stage >= STAGE_ENDING) {
		monitor_stop(m);
		return;
	}
	event_init(&e, EVENT_ALARM);
	event_str(&e, FIELD_DETAIL, text);
	(void)monitor_record(m, &e, NULL, NULL);
	begin_ending(serve_of(m));
}

static void
beat(struct monitor *m)
{
	struct serve *s = serve_of(m);

	if (m->owner_fd >= 0)
		host_look(m);
	jobs_look(s);
	if (m->stage == STAGE_RUNNING)
		reload_look(s);
	workers_look(s);
	control_look(s);
	if (m->stage == STAGE_RUNNING)
		notify("WATCHDOG=1");
}

static bool
uses(const struct monitor *m, uint32_t credential)
{
	const struct image *i;

	LIST_FOREACH(i, &((const struct serve *)m)->images, entry)
		if (secret_is_named(i->program, credential))
			return true;
	return false;
}

static unsigned *
spools(struct monitor *m, struct role_process *c, uint32_t sandbox)
{
	struct box *b = ids_find(&serve_of(m)->by_id, sandbox);

	return b != NULL && b->worker != NULL && &b->worker->c == c ?
	    &b->n_spools :
	    NULL;
}

static const struct monitor_ops ops = {
	.step = step,
	.failed = failed,
	.ended = serve_ended,
	.heard = control_heard,
	.beat = beat,
	.uses = uses,
	.spools = spools,
};

static void
on_signal(evutil_socket_t number UNUSED, short what UNUSED, void *arg)
{
	struct serve *s = arg;

	if (s->m.stage < STAGE_RUNNING)
		monitor_stop(&s->m);
	else {
		s->m.status = 0;
		begin_ending(s);
	}
}

static void
on_reload(evutil_socket_t number UNUSED, short what UNUSED, void *arg)
{
	struct serve *s = arg;

	if (s->m.stage == STAGE_RUNNING)
		reload_begin(s, (struct caller){ 0 });
}

static int
watch_signals(struct serve *s)
{
	for (size_t i = 0; i < COUNT_OF(ending); i++) {
		s->signals[i] =
		    evsignal_new(loop_base(s->m.loop), ending[i], on_signal, s);
		if (s->signals[i] == NULL ||
		    event_add(s->signals[i], NULL) != 0)
			return -1;
	}
	s->signals[COUNT_OF(ending)] =
	    evsignal_new(loop_base(s->m.loop), SIGHUP, on_reload, s);
	return s->signals[COUNT_OF(ending)] == NULL ||
		event_add(s->signals[COUNT_OF(ending)], NULL) != 0 ?
	    -1 :
	    0;
}

/* One gateway a state: its key, its log, its socket. */
static int
take_state(struct serve *s)
{
	char path[4096];

	if (state_open(&s->m) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s/lock", s->cfg->state);
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock >= 0 && flock(s->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	monitor_fail(&s->m,
	    errno == EWOULDBLOCK ? "another gateway has %s" : "cannot lock %s",
	    s->cfg->state);
	return -1;
}

static int
read_files(struct serve *s)
{
	struct buf why;
	int result;

	buf_init(&why, 8192);
	result = files_read(&s->files, s->cfg->dir, &why);
	if (result != 0)
		monitor_fail(&s->m, "%s", buf_text(&why));
	buf_release(&why);
	return result;
}

static int
begin(struct serve *s)
{
	struct rlimit files;

	/* A policy, a namespace, a listener is a descriptor. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	if (monitor_begin(&s->m) != 0 || watch_signals(s) != 0)
		return -1;
	if (geteuid() != 0) {
		monitor_fail(&s->m,
		    "a gateway is started by root: it enters the namespaces "
		    "of others");
		return -1;
	}
	if (take_state(s) != 0 || read_files(s) != 0 || roles_start(&s->m) != 0)
		return -1;
	return steward_start(s);
}

static void
put_away(struct serve *s)
{
	while (!TAILQ_EMPTY(&s->boxes))
		box_end(TAILQ_FIRST(&s->boxes));
	control_end(s);
	jobs_end(s);
	commands_end(&s->m);
	roles_end(&s->m);
	state_drop_empty_log(&s->m);
	while (!TAILQ_EMPTY(&s->workers)) {
		struct serve_worker *w = TAILQ_FIRST(&s->workers);
		TAILQ_REMOVE(&s->workers, w, next);
		free(w);
	}
	for (size_t i = 0; i < COUNT_OF(s->signals); i++)
		if (s->signals[i] != NULL)
			event_free(s->signals[i]);
	reload_end(s);
	files_release(&s->files);
	free(s->sent);
	if (s->lock >= 0)
		close(s->lock);
}

static void
init(struct serve *s, const struct serve_config *cfg)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	s->cfg = cfg;
	s->run = (struct monitor_config){ .state = cfg->state };
	monitor_init(&s->m, &ops, &s->run);
	s->steward.pidfd = s->clerk.pidfd = s->lock = s->socket = -1;
	s->n_cores = n < 1 ? 1 : (size_t)n;
	s->next_worker = SERVE_NUMBER_FIRST;
	STAILQ_INIT(&s->jobs);
	LIST_INIT(&s->images);
	TAILQ_INIT(&s->boxes);
	TAILQ_INIT(&s->workers);
	TAILQ_INIT(&s->porters);
	ids_init(&s->by_id);
	for (size_t i = 0; i < SERVE_BUCKETS; i++)
		LIST_INIT(&s->by_name[i]);
}

int
serve_run(const struct serve_config *cfg)
{
	struct serve *s = mem_alloc(sizeof(*s));
	int status;

	init(s, cfg);
	if (begin(s) == 0 && s->m.stage != STAGE_DONE)
		loop_run(s->m.loop);
	put_away(s);
	status = s->m.status;
	monitor_release(&s->m);
	free(s);
	return status;
}
