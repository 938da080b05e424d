/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "base/rd.h"
#include "flow/flow.h"
#include "net/origdst.h"
#include "policy/shelf.h"
#include "proxyd/worker.h"

#define IPV4_SOCKETS 3 /* of OP_SANDBOX where there is no IPv6 */

static void
sandbox_reaped(struct loop_item *item)
{
	struct worker_sandbox *s = (struct worker_sandbox *)item;

	sandbox_free(s->flows);
	shelf_sweep(s->worker->programs);
	free(s);
}

struct worker_sandbox *
worker_sandbox_get(struct worker *w, uint32_t id)
{
	struct worker_sandbox *s = ids_find(&w->by_id, id);
	enum err err;

	if (s != NULL)
		return s;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->dead.free = sandbox_reaped;
	s->worker = w;
	s->flows = sandbox_new(w->loop, &asks_roles, &w->roles, id, &err);
	if (s->flows == NULL ||
	    (s->flows->leaves = leaf_cache_new(w->roles.server, &err)) ==
		NULL) {
		sandbox_free(s->flows);
		free(s);
		return NULL;
	}
	leaf_cache_set_keeper(s->flows->leaves, w->roles.keeper);
	LIST_INSERT_HEAD(&w->sandboxes, s, entry);
	ids_put(&w->by_id, &s->by_id, id, s);
	return s;
}

bool
worker_take_program(struct worker *w, struct msg *m)
{
	struct rd in = rd_of(m->body);
	uint32_t id = rd_u32(&in);
	uint32_t generation = rd_u32(&in);
	struct slice digest = rd_slice8(&in);
	enum err err;

	if (!rd_is_done(&in) || m->n_fds != 1 || m->fds[0] < 0)
		return false;
	struct worker_sandbox *s = worker_sandbox_get(w, id);
	if (s == NULL)
		return false;
	struct program *p = shelf_map(w->programs, digest, m->fds[0], &err);
	if (p == NULL) {
		/* The one in force stays in force; none means: no. */
		log_error("cannot use the program: %s", err_text(err));
		return true;
	}
	if (!sandbox_set_program(s->flows, p, generation, digest))
		return false;
	if (s->dns != NULL)
		dns_server_set_program(s->dns, p);
	return true;
}

static void
on_accept(int fd, void *arg)
{
	struct worker_sandbox *s = arg;
	struct ip dst;
	uint16_t port;
	enum reason fault = origdst_get(fd, &dst, &port);

	if (s->dns != NULL)
		s->flows->n_questions += dns_server_take_allowed(s->dns);
	flow_accept(s->flows, fd, &dst, port, fault);
}

static void
on_refused(const struct dns_said *said, void *arg)
{
	struct worker_sandbox *s = arg;
	const struct generation *g = s->flows->generation;
	struct facts_text text;
	struct event e;

	dns_said_event(g->program, said, &text, &e);
	event_str(&e, FIELD_SANDBOX, s->flows->name);
	event_text(&e, FIELD_POLICY, program_policy_name(g->program));
	event_str(&e, FIELD_PROGRAM, g->digest);
	event_number(&e, FIELD_GENERATION, g->number);
	(void)!recorder_send(s->worker->roles.recorder, &e, NULL, NULL);
}

/* One of the six sockets; -1: it is not there. */
static int
take_socket(struct msg *m, size_t which)
{
	if (m->n_fds != IPV4_SOCKETS)
		return msg_take_fd(m, which);
	return which % 2 == 0 ? msg_take_fd(m, which / 2) : -1;
}

/* Sockets 2 to 5; without a program there is nothing to answer by. */
static bool
take_answerer(struct worker_sandbox *s, struct msg *m)
{
	const struct dns_sockets sockets = {
		.udp = { take_socket(m, 2), take_socket(m, 3) },
		.tcp = { take_socket(m, 4), take_socket(m, 5) },
	};
	enum err err = ERR_MISSING;

	if (s->flows->generation == NULL)
		return false;
	dns_server_free(s->dns);
	s->dns = dns_server_new(s->worker->loop, &sockets,
	    s->flows->generation->program, on_refused, s, &err);
	if (s->dns == NULL)
		log_error("cannot answer questions: %s", err_text(err));
	return s->dns != NULL;
}

static bool
take_placeholders(struct worker_sandbox *s, struct rd *in)
{
	uint16_t n = rd_u16(in);
	enum err err;

	for (uint16_t i = 0; i < n && !in->bad; i++) {
		uint32_t credential = rd_u32(in);
		struct slice text = rd_slice16(in);
		if (!in->bad &&
		    placeholder_set_add(&s->flows->placeholders, credential,
			text, &err) != 0)
			return false;
	}
	return rd_is_done(in);
}

bool
worker_take_sandbox(struct worker *w, struct msg *m)
{
	struct rd in = rd_of(m->body);
	uint32_t id = rd_u32(&in);
	struct slice name = rd_slice8(&in);
	enum err err;

	if (in.bad)
		return false;
	struct worker_sandbox *s = worker_sandbox_get(w, id);
	if (s == NULL || !take_placeholders(s, &in))
		return false;
	sandbox_set_name(s->flows, name);
	if (m->n_fds == 0) /* it comes by ENTRY alone */
		return s->flows->generation != NULL;
	for (size_t i = 0; i < WORKER_LISTENERS; i++) {
		int fd = take_socket(m, i);
		if (fd < 0)
			continue;
		listener_free(s->listeners[i]);
		s->listeners[i] = listener_new(w->loop, fd, on_accept, s, &err);
		if (s->listeners[i] == NULL) {
			log_error("cannot listen: %s", err_text(err));
			return false;
		}
	}
	return take_answerer(s, m);
}

bool
worker_take_forget(struct worker *w, struct msg *m)
{
	struct rd in = rd_of(m->body);
	uint32_t id = rd_u32(&in);
	struct worker_sandbox *s = ids_find(&w->by_id, id);

	if (!rd_is_done(&in))
		return false;
	if (s == NULL)
		return true;
	/* What is put there later is reaped before: its flows. */
	loop_reap(w->loop, &s->dead);
	LIST_REMOVE(s, entry);
	ids_remove(&w->by_id, &s->by_id);
	worker_sandbox_close(s);
	sandbox_close(s->flows);
	return true;
}

void
worker_sandbox_close(struct worker_sandbox *s)
{
	for (size_t i = 0; i < WORKER_LISTENERS; i++) {
		listener_free(s->listeners[i]);
		s->listeners[i] = NULL;
	}
	worker_entry_close(s);
	dns_server_free(s->dns);
	s->dns = NULL;
	(void)sandbox_finish(s->flows);
}
