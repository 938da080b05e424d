/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steward, once a generation of files; the clerk, for one policy after the
 * other.  A clerk that has read the owner's policies is kept for the next; one
 * that has read a caller's own text is not: what took it over might speak in the
 * next one's place.
 */
#include <sys/mman.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/rd.h"
#include "base/wr.h"
#include "priv/dispatch.h"
#include "proxyd/monitor_ca.h"
#include "proxyd/monitor_load.h"
#include "serve/state.h"

#define TEXT "the text of the request" /* an inline policy, in messages */

/* A policy that is to be compiled. */
struct job {
	STAILQ_ENTRY(job) entry;
	struct box *box; /* held; NULL: dropped */
	job_done *done;
	const struct files *files; /* borrowed: the generation */
	size_t file;		   /* of it; its n: the request's own text */
	char policy[256];
	char name[PATH_MAX]; /* of the file, in messages */
	uint64_t since_ms;   /* at work; 0: it waits */
	bool asked;
};

/* u16 n, n names; flags; home */
static void
write_owner(struct serve *s, struct msg *msg, struct wr *w)
{
	wr_u16(w, (uint16_t)s->files.n_config);
	for (size_t i = 0; i < s->files.n_config; i++) {
		wr_slice16(w, slice_of_str(s->files.at[i].path));
		msg->fds[msg->n_fds] = files_open(&s->files, i);
		msg->n_fds += msg->fds[msg->n_fds] >= 0;
	}
	int roots = open(LOAD_SYSTEM_ROOTS, O_RDONLY | O_CLOEXEC);
	wr_u8(w, roots >= 0 ? OPS_LOAD_ROOTS : 0);
	wr_slice16(w, SLICE(""));
	if (roots >= 0)
		msg->fds[msg->n_fds++] = roots;
}

static void
on_owner(struct msg *msg, void *arg)
{
	struct serve *s = arg;
	struct monitor *m = &s->m;
	struct rd r = rd_of(msg == NULL ? (struct slice){ 0 } : msg->body);
	bool good = rd_u8(&r) == 1;
	struct slice text = rd_slice32(&r);
	enum err err = ERR_NONE;

	if (msg == NULL || !rd_is_done(&r)) {
		monitor_fail(m, "the steward ended without an answer");
		return;
	}
	ssize_t ignored UNUSED = write(STDERR_FILENO, text.p, text.n);
	m->owner_fd = good ? msg_take_fd(msg, 0) : -1;
	m->owner = m->owner_fd < 0 ? NULL : owner_map(m->owner_fd, &err);
	if (m->owner == NULL) {
		monitor_fail(m, "the configuration in %s cannot be loaded",
		    s->cfg->dir);
		return;
	}
	/* It is on our own stack: its channel is freed by the next second. */
	s->steward.ready = true;
	if (ca_send(m) == 0)
		monitor_step(m);
}

/* Which number a job's file has for its clerk: 0, the others from 1. */
static int
open_included(struct job *job, uint32_t from, struct slice path,
    uint32_t *number, const char **why)
{
	size_t i;

	*why = "a policy in a request includes presets alone";
	if (job == NULL || job->file >= job->files->n)
		return -1;
	i = files_include(job->files, from == 0 ? job->file : from - 1, path,
	    why);
	if (i == job->files->n)
		return -1;
	*number = i == job->file ? 0 : (uint32_t)i + 1;
	int fd = files_open(job->files, i);
	if (fd < 0)
		*why = strerror(errno);
	return fd;
}

static void
include(struct role_process *c, const struct msg *msg)
{
	struct serve *s = serve_of(c->monitor);
	struct msg answer = { .op = OP_INCLUDED, .id = msg->id };
	struct rd r = rd_of(msg->body);
	uint32_t from = rd_u16(&r), number = 0;
	struct slice path = rd_slice16(&r);
	const char *why = "asked in a form that is not known";
	uint8_t body[512];
	struct wr w = wr_of(body, sizeof(body));
	enum err err = ERR_NONE;
	int fd = -1;

	if (rd_is_done(&r) && c->role == ROLE_STEWARD)
		fd = load_open_bundle(path, &why);
	else if (rd_is_done(&r))
		fd = open_included(STAILQ_FIRST(&s->jobs), from, path, &number,
		    &why);
	wr_u8(&w, fd >= 0 ? 1 : 0);
	wr_u16(&w, (uint16_t)number);
	wr_slice16(&w, slice_of_str(fd >= 0 ? "" : why));
	answer.body = wr_slice(&w);
	if (fd >= 0)
		answer.fds[answer.n_fds++] = fd;
	/* If it cannot be said, the job's time ends it. */
	if (channel_send(c->channel, &answer, &err) != 0)
		log_warn("an answer to the %s is lost", role_name(c->role));
	if (fd >= 0)
		close(fd);
}

void
control_heard(struct monitor *m UNUSED, struct role_process *c, struct msg *msg)
{
	if (msg->op == OP_INCLUDE)
		include(c, msg);
	else if (msg->op == OP_REQUEST)
		control_request(c, msg);
}

int
steward_start(struct serve *s)
{
	static uint8_t body[MSG_BODY_MAX];
	struct wr w = wr_of(body, sizeof(body));
	struct msg msg = { .op = OP_LOAD_OWNER };
	enum err err = ERR_FULL;

	if (s->files.n_config >= MSG_FDS_MAX) {
		monitor_fail(&s->m, "more than %d files in %s", MSG_FDS_MAX - 1,
		    s->cfg->dir);
		return -1;
	}
	write_owner(s, &msg, &w);
	msg.body = wr_slice(&w);
	s->steward.role = ROLE_STEWARD;
	bool asked = !w.bad && role_start(&s->m, &s->steward, &err) == 0 &&
	    channel_ask(s->steward.channel, &msg, on_owner, s, &err) != 0;
	msg_close_fds(&msg);
	if (!asked)
		monitor_fail(&s->m, "cannot ask the steward: %s",
		    err_text(err));
	return asked ? 0 : -1;
}

static void
job_free(struct job *job)
{
	if (job->box != NULL)
		box_let_go(job->box);
	free(job);
}

/* The first job is over. */
static void
finish(struct serve *s, int fd, struct slice text)
{
	struct job *job = STAILQ_FIRST(&s->jobs);

	STAILQ_REMOVE_HEAD(&s->jobs, entry);
	s->clerk_ms = clock_ms();
	if (job->box != NULL)
		job->done(job->box, fd, text);
	else if (fd >= 0)
		close(fd);
	job_free(job);
}

static void
on_policy(struct msg *msg, void *arg)
{
	struct serve *s = arg;
	struct job *job = STAILQ_FIRST(&s->jobs);
	struct rd r = rd_of(msg == NULL ? (struct slice){ 0 } : msg->body);
	bool good = rd_u8(&r) == 1;
	struct slice text = rd_slice32(&r);

	if (job == NULL || !job->asked)
		return;
	if (msg == NULL || !rd_is_done(&r))
		finish(s, -1, SLICE("the clerk ended without an answer"));
	else
		finish(s, good ? msg_take_fd(msg, 0) : -1, text);
	/* Else its process is just being put away; the next is for its heir. */
	if (msg != NULL)
		jobs_next(s);
}

/* Values of the parameters, as LOAD_POLICY has them. */
static void
put_values(const struct box *b, struct wr *w)
{
	const struct control_attach *a = &b->asked;

	wr_slice8(w, slice_of_str(b->name));
	wr_slice8(w, SLICE(""));
	wr_slice8(w, slice_of_str(b->tenant));
	wr_u8(w, (uint8_t)a->n_sets);
	for (size_t i = 0; i < a->n_sets; i++) {
		wr_slice16(w, a->sets[i].key);
		wr_slice16(w, a->sets[i].value);
	}
	wr_u8(w, (uint8_t)b->n_added);
	for (size_t i = 0; i < b->n_added; i++) {
		wr_u32(w, b->added[i].number);
		wr_slice16(w, slice_of_str(b->added[i].url));
		wr_u64(w, b->added[i].expires_s);
	}
}

static int
open_text(struct slice text)
{
	int fd = memfd_create("duenna-policy", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n &&
	    lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Hand the first job to the clerk.  False: it cannot be. */
static bool
ask(struct serve *s, struct job *job)
{
	static uint8_t body[MSG_BODY_MAX];
	struct wr w = wr_of(body, sizeof(body));
	struct msg msg = { .op = OP_LOAD_POLICY };
	bool own = job->file < job->files->n;
	enum err err = ERR_NONE;
	int fd;

	/* A caller's own text never meets a clerk that had another one's. */
	if (!own)
		role_end(&s->clerk);
	s->clerk.role = ROLE_CLERK;
	if (s->clerk.pid == 0 && role_start(&s->m, &s->clerk, &err) != 0)
		return false;
	fd = own ? files_open(job->files, job->file) :
		   open_text(job->box->asked.policy_text);
	if (fd < 0)
		return false;
	wr_slice16(&w, slice_of_str(job->name));
	wr_slice16(&w, slice_of_str(job->policy));
	wr_u8(&w, OPS_LOAD_ADDED | (own ? OPS_LOAD_TRUSTED : 0));
	put_values(job->box, &w);
	msg.body = wr_slice(&w);
	msg.fds[msg.n_fds++] = fd;
	msg.fds[msg.n_fds++] = s->m.owner_fd;
	job->asked = !w.bad &&
	    channel_ask(s->clerk.channel, &msg, on_policy, s, &err) != 0;
	close(fd);
	return job->asked;
}

void
jobs_next(struct serve *s)
{
	struct job *job;

	while ((job = STAILQ_FIRST(&s->jobs)) != NULL && job->since_ms == 0) {
		job->since_ms = clock_ms();
		if (job->box != NULL && ask(s, job))
			return;
		finish(s, -1, SLICE("the clerk cannot be asked"));
	}
}

/*
 * "FILE" or "FILE:NAME" into its parts: the file's path and the policy.  Of
 * "FILE" it is the only one in it.
 */
static bool
find_policy(const char *dir, struct slice policy, struct job *job,
    const char **why)
{
	const uint8_t *colon = memchr(policy.p, ':', policy.n);
	size_t n = colon == NULL ? policy.n : (size_t)(colon - policy.p);
	char *real = realpath(dir, NULL);

	*why = "the folder of the configuration is gone";
	if (real == NULL)
		return false;
	bool fits =
	    snprintf(job->name, sizeof(job->name), "%s/policies/%.*s.yaml",
		real, (int)n, (const char *)policy.p) < (int)sizeof(job->name);
	free(real);
	if (colon != NULL)
		fits = fits &&
		    snprintf(job->policy, sizeof(job->policy), "%.*s",
			(int)(policy.n - n - 1),
			(const char *)colon + 1) < (int)sizeof(job->policy);
	*why = "no such file in policies/ when the files were read";
	job->file = fits ? files_find(job->files, job->name) : job->files->n;
	return job->file < job->files->n;
}

int
job_add(const struct files *f, struct box *b, job_done *done,
    enum control_code *code, const char **why)
{
	struct serve *s = b->serve;
	struct job *job = calloc(1, sizeof(*job));

	*code = CONTROL_FAULT;
	*why = "out of memory";
	if (job == NULL)
		return -1;
	job->done = done;
	job->files = f;
	job->file = f->n;
	snprintf(job->name, sizeof(job->name), "%s", TEXT);
	*code = CONTROL_POLICY_UNKNOWN;
	if (b->asked.policy_text.n == 0 &&
	    !find_policy(s->cfg->dir, b->asked.policy, job, why)) {
		free(job);
		return -1;
	}
	job->box = b;
	b->n_waits++;
	STAILQ_INSERT_TAIL(&s->jobs, job, entry);
	jobs_next(s);
	return 0;
}

void
job_drop(struct box *b)
{
	struct job *job;

	STAILQ_FOREACH(job, &b->serve->jobs, entry) {
		if (job->box != b)
			continue;
		job->box = NULL;
		box_let_go(b);
	}
}

void
jobs_look(struct serve *s)
{
	struct job *job = STAILQ_FIRST(&s->jobs);
	uint64_t now = clock_ms();

	if (s->steward.ready && s->m.owner != NULL)
		role_end(&s->steward);
	/* What it is asked is answered with nothing, and ends there. */
	if (job != NULL && now - job->since_ms > LIMIT_CLERK_MS)
		role_end(&s->clerk);
	if (job == NULL && now - s->clerk_ms > LIMIT_CLERK_IDLE_MS)
		role_end(&s->clerk);
	jobs_next(s);
}

void
jobs_end(struct serve *s)
{
	struct job *job;

	while ((job = STAILQ_FIRST(&s->jobs)) != NULL) {
		STAILQ_REMOVE_HEAD(&s->jobs, entry);
		job_free(job);
	}
	role_end(&s->clerk);
	role_end(&s->steward);
}
