/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers: each has the sandboxes of one tenant.  What the roles work with, and
 * what happens when one dies.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/wr.h"
#include "cred/placeholder.h"
#include "ns/inlet.h"
#include "serve/entry.h"

/* The one with the fewest sandboxes; of `n` that the tenant has. */
static struct serve_worker *
find(struct serve *s, const char *tenant, size_t *n)
{
	struct serve_worker *w, *least = NULL;

	*n = 0;
	TAILQ_FOREACH(w, &s->workers, next) {
		if (strcmp(w->tenant, tenant) != 0)
			continue;
		++*n;
		if (least == NULL || w->n_boxes < least->n_boxes)
			least = w;
	}
	return least;
}

static void
worker_free(struct serve *s, struct serve_worker *w)
{
	role_end(&w->c);
	TAILQ_REMOVE(&s->workers, w, next);
	s->n_workers--;
	free(w);
}

static struct serve_worker *
worker_new(struct serve *s, const char *tenant, enum err *err)
{
	struct serve_worker *w = calloc(1, sizeof(*w));

	*err = ERR_MEMORY;
	if (w == NULL)
		return NULL;
	w->c.role = ROLE_WORKER;
	w->c.number = s->next_worker++;
	w->c.pidfd = -1;
	w->idle_ms = clock_ms();
	snprintf(w->tenant, sizeof(w->tenant), "%s", tenant);
	TAILQ_INSERT_TAIL(&s->workers, w, next);
	s->n_workers++;
	if (role_start(&s->m, &w->c, err) != 0) {
		worker_free(s, w);
		return NULL;
	}
	serve_feed(s, &w->c);
	return w;
}

struct serve_worker *
worker_pick(struct serve *s, const char *tenant, enum err *err)
{
	size_t n;
	struct serve_worker *w = find(s, tenant, &n);

	*err = ERR_FULL;
	bool room = s->n_workers < SERVE_WORKERS_MAX;
	if (w == NULL && !room)
		return NULL;
	if (room &&
	    (w == NULL || (n < s->n_cores && w->n_boxes >= SERVE_BOXES_FIRST)))
		w = worker_new(s, tenant, err);
	if (w != NULL)
		w->n_boxes++;
	return w;
}

void
worker_leave(struct serve_worker *w)
{
	w->n_boxes--;
	w->idle_ms = clock_ms();
}

void
workers_look(struct serve *s)
{
	struct serve_worker *w = TAILQ_FIRST(&s->workers);

	for (struct serve_worker *after; w != NULL; w = after) {
		after = TAILQ_NEXT(w, next);
		if (w->n_boxes == 0 && clock_ms() - w->idle_ms > SERVE_IDLE_MS)
			worker_free(s, w);
	}
}

void
workers_end(struct serve *s)
{
	struct serve_worker *w;

	/* They end what is open, and say so: the scribe waits for that. */
	TAILQ_FOREACH(w, &s->workers, next) {
		channel_free(w->c.channel);
		w->c.channel = NULL;
	}
}

static void
send_name(struct box *b, struct role_process *to)
{
	uint8_t body[128];
	struct wr w = wr_of(body, sizeof(body));

	wr_u32(&w, b->id);
	wr_u32(&w, b->worker->c.number);
	wr_slice8(&w, slice_of_str(b->name));
	roles_send(to, OP_NAME, wr_slice(&w), NULL, 0);
}

static void
send_program(struct box *b, struct role_process *to)
{
	uint8_t body[128];
	struct wr w = wr_of(body, sizeof(body));

	wr_u32(&w, b->id);
	wr_u32(&w, b->generation);
	wr_slice8(&w, slice_of_str(b->image->digest));
	roles_send(to, OP_PROGRAM, wr_slice(&w), &b->image->fd, 1);
}

/* A name and a program, to one that is there. */
static void
tell(struct box *b, struct role_process *to)
{
	if (to->channel == NULL)
		return;
	if (to->role != ROLE_WORKER)
		send_name(b, to);
	if (to->role != ROLE_SCRIBE)
		send_program(b, to);
}

void
box_send_program(struct box *b)
{
	struct role_process *all = b->serve->m.children;
	struct role_process *to[] = { &all[ROLE_KEEPER], &all[ROLE_DIALER],
		&b->worker->c };

	for (size_t i = 0; i < COUNT_OF(to); i++)
		if (to[i]->channel != NULL)
			send_program(b, to[i]);
}

void
box_tell(struct box *b)
{
	struct role_process *all = b->serve->m.children;

	b->told = true;
	tell(b, &all[ROLE_SCRIBE]);
	tell(b, &all[ROLE_KEEPER]);
	tell(b, &all[ROLE_DIALER]);
	tell(b, &b->worker->c);
}

/* Listeners, once they are here, and placeholders. */
static void
send_sandbox(struct box *b)
{
	static uint8_t body[32768];
	struct wr w = wr_of(body, sizeof(body));
	int fds[NETNS_LINKS];
	size_t n = 0;

	wr_u32(&w, b->id);
	wr_slice8(&w, slice_of_str(b->name));
	wr_u16(&w, (uint16_t)b->n_places);
	for (size_t i = 0; i < b->n_places; i++) {
		wr_u32(&w, b->places[i].credential);
		wr_slice16(&w, slice_of(b->places[i].text, b->places[i].n));
	}
	if (b->has_capture)
		n = inlet_for_worker(b->capture.socket, fds);
	roles_send(&b->worker->c, OP_SANDBOX, wr_slice(&w), fds, n);
}

void
box_feed(struct box *b)
{
	if (b->worker->c.channel == NULL ||
	    (!b->has_capture && b->entry_fd < 0))
		return;
	send_sandbox(b);
	entry_feed(b);
}

void
box_forget(struct box *b)
{
	struct role_process *all = b->serve->m.children;
	struct role_process *to[] = { &b->worker->c, &all[ROLE_DIALER],
		&all[ROLE_KEEPER] };
	uint8_t body[4];
	struct wr w = wr_of(body, sizeof(body));

	wr_u32(&w, b->id);
	for (size_t i = 0; i < COUNT_OF(to); i++)
		if (to[i]->channel != NULL)
			roles_send(to[i], OP_FORGET, wr_slice(&w), NULL, 0);
}

/* The sandboxes that it has to know, each. */
static void
feed_boxes(struct serve *s, struct role_process *c)
{
	struct box *b;

	TAILQ_FOREACH(b, &s->boxes, entry) {
		if (!b->told || (c->role == ROLE_WORKER && &b->worker->c != c))
			continue;
		tell(b, c);
		if (c->role == ROLE_WORKER)
			box_feed(b);
	}
}

void
serve_feed(struct serve *s, struct role_process *c)
{
	const struct slice nothing = { 0 };
	struct monitor *m = &s->m;
	uint8_t log;

	if (m->owner_fd < 0 || m->log_fd < 0 || c->channel == NULL)
		return;
	if (c->role == ROLE_SCRIBE)
		feed_boxes(s, c);
	log = (uint8_t)((c->crashes[0] != 0 ? OPS_LOG_AGAIN : 0) |
	    (owner_allows_gaps(m->owner) ? OPS_LOG_GAPS : 0));
	if (c->role == ROLE_SCRIBE) {
		roles_send(c, OP_LOG, slice_of(&log, 1), &m->log_fd, 1);
		return;
	}
	roles_send(c, OP_OWNER, nothing, &m->owner_fd, 1);
	if (c->role == ROLE_DIALER)
		host_send(m);
	feed_boxes(s, c);
	if (c->role != ROLE_KEEPER)
		return;
	/* One that cannot be had is said, and refused at its requests. */
	for (uint32_t i = 0; i < owner_n_credentials(m->owner); i++)
		s->sent[i] = m->ops->uses(m, i);
	if (secrets_send(m) != 0)
		log_error("the secrets are not all with the keeper");
}

/* Third crash within a minute: its sandboxes are cut off, not those of others. */
static void
cut_off(struct serve *s, struct serve_worker *w, const char *how)
{
	struct box *b = TAILQ_FIRST(&s->boxes);

	log_error("the worker of tenant `%s` ended three times within a minute "
		  "(last: %s); its sandboxes are cut off",
	    w->tenant, how);
	for (struct box *after; b != NULL; b = after) {
		after = TAILQ_NEXT(b, entry);
		if (b->worker == w)
			detach_now(b, REASON_INTERNAL,
			    "its worker ended three times within a "
			    "minute");
	}
	worker_free(s, w);
}

static void
worker_ended(struct serve *s, struct serve_worker *w, const char *how)
{
	enum err err = ERR_NONE;
	struct box *b;

	/* Files went with it. */
	TAILQ_FOREACH(b, &s->boxes, entry)
		if (b->worker == w)
			b->n_spools = 0;
	if (role_crashes_too_often(&w->c)) {
		cut_off(s, w, how);
		return;
	}
	log_warn("a worker of tenant `%s` ended (%s); it is started again",
	    w->tenant, how);
	if (role_start(&s->m, &w->c, &err) == 0)
		serve_feed(s, &w->c);
	else
		cut_off(s, w, err_text(err));
}

/* Those that serve all.  While one is away workers admit nothing. */
static void
other_ended(struct serve *s, struct role_process *c, const char *how)
{
	struct monitor *m = &s->m;
	enum err err = ERR_NONE;

	if (m->stage < STAGE_RUNNING) {
		monitor_fail(m, "the %s did not start: %s", role_name(c->role),
		    how);
		return;
	}
	if (role_crashes_too_often(c)) {
		monitor_fail(m,
		    "the %s ended three times within a minute "
		    "(last: %s)",
		    role_name(c->role), how);
		return;
	}
	log_warn("the %s ended (%s); it is started again", role_name(c->role),
	    how);
	if (role_start(m, c, &err) == 0)
		serve_feed(s, c);
	else
		monitor_fail(m, "cannot start the %s: %s", role_name(c->role),
		    err_text(err));
}

void
serve_ended(struct monitor *m, struct role_process *c, const char *how)
{
	struct serve *s = serve_of(m);

	s->counts.ended[c->role]++;
	if (m->stage >= STAGE_ENDING)
		monitor_step(m);
	else if (c->role == ROLE_WORKER)
		worker_ended(s, (struct serve_worker *)c, how);
	else if (c->role == ROLE_PORTER)
		control_porter_ended(c, how);
	else if (c->role == ROLE_STEWARD && !c->ready)
		monitor_fail(m, "the steward ended: %s", how);
	else if (c->role == ROLE_CLERK)
		jobs_next(s);
	else if (c->role != ROLE_STEWARD)
		other_ended(s, c, how);
}
