/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "dial/inside.h"

/* Keep the request beyond the message that it came in. */
static void
keep_request(struct ask *q, const struct request *r)
{
	q->request = *r;
	memcpy(q->flow, r->who.flow.p, r->who.flow.n);
	q->request.who.flow = slice_of(q->flow, r->who.flow.n);
	memcpy(q->digest, r->who.digest.p, r->who.digest.n);
	q->request.who.digest = slice_of(q->digest, r->who.digest.n);
	if (r->host.n != 0)
		memcpy(q->host, r->host.p, r->host.n);
	q->request.host = slice_of(q->host, r->host.n);
	q->account.flow = q->request.who.flow;
	q->account.page = q->page;
	q->account.facts = (struct facts){
		.kind = FACTS_DIAL,
		.rule = r->rule,
		.port = r->port,
		.host = q->request.host,
		.scheme = SCHEME_HTTPS,
	};
}

/* A worker that does this is not ours any more. */
static void
alarm_worker(struct asks *a, const char *what)
{
	struct event e;

	event_init(&e, EVENT_ALARM);
	event_str(&e, FIELD_VERDICT, "deny");
	event_str(&e, FIELD_REASON, reason_name(REASON_INTERNAL));
	event_str(&e, FIELD_DETAIL, what);
	if (recorder_send(a->recorder, &e, NULL, NULL) != 0)
		log_error("an alarm is lost: %s", what);
}

void
asks_alarm_foreign(struct asks *a)
{
	alarm_worker(a, "a worker asked for the sandbox of another worker");
}

/* There is no memory to keep it: said from here, the client need not wait. */
static void
refuse_unkept(struct asks *a, struct channel *worker, uint32_t id,
    const struct request *r)
{
	struct ask q = { .asks = a,
		.worker = worker,
		.id = id,
		.fd = -1,
		.page = book_find(&a->book, r->who.sandbox) };

	keep_request(&q, r);
	ask_say_refused(&q, REASON_INTERNAL, "out of memory");
}

void
ask_take(struct asks *a, struct channel *worker, const struct msg *m)
{
	struct request r;
	struct ask *q;
	enum err err;

	if (!request_read(m->body, &r) || m->id == 0 || m->n_fds != 0) {
		alarm_worker(a, "a worker sent a malformed request");
		return;
	}
	q = calloc(1, sizeof(*q));
	if (q == NULL ||
	    timer_init(&q->limit, a->loop, ask_on_limit, q, &err) != 0) {
		free(q);
		refuse_unkept(a, worker, m->id, &r);
		return;
	}
	q->dead.free = ask_reaped;
	q->asks = a;
	q->worker = worker;
	q->id = m->id;
	q->fd = -1;
	q->page = book_find(&a->book, r.who.sandbox);
	if (q->page != NULL)
		q->page->n_dials++;
	keep_request(q, &r);
	LIST_INSERT_HEAD(&a->open, q, entry);
	ask_start(q);
}

struct asks *
asks_new(struct loop *l, struct resolver *resolver, struct recorder *recorder,
    enum err *err)
{
	struct asks *a = calloc(1, sizeof(*a));

	if (a == NULL) {
		*err = ERR_MEMORY;
		return NULL;
	}
	a->loop = l;
	a->resolver = resolver;
	a->recorder = recorder;
	book_init(&a->book);
	LIST_INIT(&a->open);
	return a;
}

void
asks_free(struct asks *a)
{
	if (a == NULL)
		return;
	while (!LIST_EMPTY(&a->open))
		ask_cancel(LIST_FIRST(&a->open));
	book_release(&a->book);
	owner_free(a->owner);
	free(a);
}

void
asks_set_owner(struct asks *a, struct owner *o)
{
	owner_free(a->owner);
	a->owner = o;
}

void
asks_set_keeper(struct asks *a, struct channel *keeper)
{
	struct ask *q = LIST_FIRST(&a->open);

	/* The old channel is about to go, and with it what was asked on it. */
	for (struct ask *after; q != NULL; q = after) {
		after = LIST_NEXT(q, entry);
		if (q->telling != 0)
			ask_refuse(q, REASON_SHUTDOWN, "the keeper is away");
	}
	a->keeper = keeper;
}

int
asks_set_name(struct asks *a, uint32_t sandbox, struct slice name,
    enum err *err)
{
	struct page *p = book_get(&a->book, sandbox, err);

	return p == NULL ? -1 : page_set_name(p, name, err);
}

/* All dials of a page end, since what they borrow is about to go. */
static void
refuse_page(struct asks *a, const struct page *p, enum reason reason,
    const char *detail)
{
	struct ask *q = LIST_FIRST(&a->open);

	for (struct ask *after; q != NULL; q = after) {
		after = LIST_NEXT(q, entry);
		if (q->page == p)
			ask_refuse(q, reason, detail);
	}
}

int
asks_set_program(struct asks *a, uint32_t sandbox, uint32_t generation,
    struct slice digest, struct program *program, enum err *err)
{
	struct page *p = book_get(&a->book, sandbox, err);

	if (p == NULL) {
		program_free(program);
		return -1;
	}
	refuse_page(a, p, REASON_POLICY_CHANGED, "the policy has changed");
	return page_set_program(p, generation, digest, program, err);
}

void
asks_forget_sandbox(struct asks *a, uint32_t sandbox)
{
	struct page *p = book_find(&a->book, sandbox);

	if (p == NULL)
		return;
	refuse_page(a, p, REASON_SHUTDOWN, "the sandbox is gone");
	book_forget(&a->book, p);
}

void
asks_forget(struct asks *a, const struct channel *worker)
{
	struct ask *q = LIST_FIRST(&a->open);

	for (struct ask *after; q != NULL; q = after) {
		after = LIST_NEXT(q, entry);
		if (q->worker == worker)
			ask_cancel(q);
	}
}
