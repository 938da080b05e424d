/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/queue.h>

#include <search.h>
#include <stdlib.h>

#include "audit/flows.h"

struct flow {
	TAILQ_ENTRY(flow) entry;
	const void *owner; /* compared only */
	size_t n_sandbox, n_flow;
	uint8_t bytes[]; /* the sandbox's name, then the flow's id */
};

struct flows {
	void *root; /* tsearch's, of all in the list */
	TAILQ_HEAD(, flow) list;
	size_t n;
	struct flow *taken; /* owned: what was given last */
};

struct flows *
flows_new(enum err *err)
{
	struct flows *f = calloc(1, sizeof(*f));

	if (f == NULL)
		*err = ERR_MEMORY;
	else
		TAILQ_INIT(&f->list);
	return f;
}

void
flows_free(struct flows *f)
{
	struct event end;

	if (f == NULL)
		return;
	while (flows_take_any(f, &end))
		;
	free(f->taken);
	free(f);
}

static int
compare(const void *a, const void *b)
{
	const struct flow *x = a, *y = b;
	size_t n = x->n_sandbox + x->n_flow;

	if (x->n_sandbox != y->n_sandbox)
		return x->n_sandbox < y->n_sandbox ? -1 : 1;
	if (x->n_flow != y->n_flow)
		return x->n_flow < y->n_flow ? -1 : 1;
	return memcmp(x->bytes, y->bytes, n);
}

static struct flow *
flow_new(const struct event *e, const void *owner)
{
	struct slice sandbox = event_text_of(e, FIELD_SANDBOX);
	struct slice id = event_text_of(e, FIELD_FLOW);
	struct flow *f = calloc(1, sizeof(*f) + sandbox.n + id.n);

	if (f == NULL)
		return NULL;
	f->owner = owner;
	f->n_sandbox = sandbox.n;
	f->n_flow = id.n;
	if (sandbox.n != 0)
		memcpy(f->bytes, sandbox.p, sandbox.n);
	if (id.n != 0)
		memcpy(f->bytes + sandbox.n, id.p, id.n);
	return f;
}

static void
take_out(struct flows *f, struct flow *flow)
{
	tdelete(flow, &f->root, compare);
	TAILQ_REMOVE(&f->list, flow, entry);
	f->n--;
}

static bool
begin(struct flows *f, struct flow *new)
{
	struct flow **found;

	if (new == NULL || f->n >= FLOWS_MAX)
		goto fail;
	found = tsearch(new, &f->root, compare);
	if (found == NULL)
		goto fail;
	if (*found != new) {
		/* Announced twice: the later one counts. */
		(*found)->owner = new->owner;
		free(new);
		return true;
	}
	TAILQ_INSERT_TAIL(&f->list, new, entry);
	f->n++;
	return true;
fail:
	free(new);
	return false;
}

/* The entry of the flow that a record is of, or NULL. */
static struct flow *
find(const struct flows *f, const struct event *e)
{
	struct flow *key = flow_new(e, NULL);
	struct flow **found =
	    key == NULL ? NULL : tfind(key, &f->root, compare);

	free(key);
	return found == NULL ? NULL : *found;
}

bool
flows_has(const struct flows *f, const struct event *e)
{
	return find(f, e) != NULL;
}

bool
flows_put(struct flows *f, const struct event *e, const void *owner)
{
	struct flow *flow;

	if (e->kind == EVENT_FLOW_BEGIN)
		return begin(f, flow_new(e, owner));
	if (e->kind != EVENT_FLOW_END)
		return true;
	flow = find(f, e);
	if (flow != NULL) {
		take_out(f, flow);
		free(flow);
	}
	return true;
}

bool
flows_is_empty(const struct flows *f)
{
	return f->n == 0;
}

void
flows_give(struct flows *f, const void *owner)
{
	struct flow *flow;

	TAILQ_FOREACH(flow, &f->list, entry)
		if (flow->owner == NULL)
			flow->owner = owner;
}

static bool
take(struct flows *f, struct flow *flow, struct event *end)
{
	free(f->taken);
	f->taken = flow;
	if (flow == NULL)
		return false;
	take_out(f, flow);
	event_init(end, EVENT_FLOW_END);
	event_text(end, FIELD_SANDBOX, slice_of(flow->bytes, flow->n_sandbox));
	event_text(end, FIELD_FLOW,
	    slice_of(flow->bytes + flow->n_sandbox, flow->n_flow));
	event_reason(end, REASON_INTERNAL);
	return true;
}

bool
flows_take(struct flows *f, const void *owner, struct event *end)
{
	struct flow *flow;

	TAILQ_FOREACH(flow, &f->list, entry)
		if (flow->owner == owner)
			break;
	return take(f, flow, end);
}

bool
flows_take_any(struct flows *f, struct event *end)
{
	return take(f, TAILQ_FIRST(&f->list), end);
}
