/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "audit/event.h"
#include "audit/facts_event.h"
#include "base/ascii.h"
#include "seen.h"

static void
count(struct seen *n, const struct peer *peers, size_t n_peers)
{
	for (size_t i = 0; i < n_peers; i++) {
		n->sends += peers[i].sends.n;
		n->got += peers[i].got.n;
	}
}

struct seen
seen_now(const struct world *w)
{
	struct seen n = { .records = w->records.n,
		.asked = w->n_asked,
		.flows = w->sandbox->n_flows };

	count(&n, w->clients, w->n_clients);
	count(&n, w->upstream, w->n_upstreams);
	return n;
}

void
seen_same(const struct world *w, struct seen before)
{
	struct seen now = seen_now(w);

	assert(before.sends == now.sends && before.got == now.got);
	assert(before.records == now.records && before.asked == now.asked);
	assert(before.flows == now.flows);
}

/* P: decide(record.facts) = record.verdict, for every record. */
static void
decide_again(struct world *w, const struct event *e)
{
	struct facts f;
	struct slice verdict = event_text_of(e, FIELD_VERDICT);
	struct slice reason = event_text_of(e, FIELD_REASON);

	if (!event_has(e, FIELD_FACTS_KIND))
		return;
	if (!facts_from_event(e, &f)) {
		w->n_wrong++;
		return;
	}
	size_t generation = event_number_of(e, FIELD_GENERATION);
	assert(generation > 0 && generation <= w->n_programs);
	struct verdict v = policy_decide(w->programs[generation - 1], &f);
	if (!slice_eq_str(verdict, verdict_name(&v)) ||
	    !slice_eq_str(reason, reason_name(v.reason)))
		w->n_wrong++;
}

static void
note_flow(struct world *w, const struct event *e)
{
	struct slice name = event_text_of(e, FIELD_FLOW);
	struct slice id = slice_from(name, SLICE("s1-").n);
	struct world_flow *f;
	size_t n = 0;

	for (size_t i = 0; i < id.n; i++)
		n = n * 16 + (size_t)ascii_hex(id.p[i]);
	assert(n != 0 && n <= WORLD_CLIENTS_MAX);
	f = &w->flows[n - 1];
	f->n_begun += e->kind == EVENT_FLOW_BEGIN;
	f->n_ended += e->kind == EVENT_FLOW_END;
	f->n_requests += e->kind == EVENT_REQUEST_END;
	f->n_faults += e->kind == EVENT_FLOW_END &&
	    slice_has_prefix(event_text_of(e, FIELD_REASON), SLICE("h2."));
}

size_t
world_n_accounted(const struct world *w)
{
	size_t n = 0;

	for (size_t i = 0; i < WORLD_CLIENTS_MAX; i++) {
		const struct world_flow *f = &w->flows[i];
		unsigned end =
		    f->n_begun != 0 || f->n_requests == 0 || f->n_faults != 0 ?
		    1 :
		    0;
		n += f->n_begun + f->n_ended + f->n_requests != 0 &&
		    f->n_begun <= 1 && f->n_ended == end;
	}
	return n;
}

/* The names in the credentials of a request that was announced. */
static size_t
n_announced(const struct event *e)
{
	struct slice names = event_text_of(e, FIELD_CREDENTIAL);
	size_t n = names.n != 0;

	if (e->kind != EVENT_REQUEST_BEGIN && e->kind != EVENT_QUESTION)
		return 0;
	for (size_t i = 0; i < names.n; i++)
		n += names.p[i] == ' ';
	return n;
}

void
seen_release(struct world *w)
{
	w->n_wrong += ++w->n_releases > w->n_announced;
}

void
seen_record(struct world *w, const struct event *e)
{
	decide_again(w, e);
	w->n_records++;
	w->n_announced += n_announced(e);
	w->n_changed +=
	    slice_eq(event_text_of(e, FIELD_REASON), SLICE("policy.changed"));
	note_flow(w, e);
}

bool
seen_has(const struct world *w, const char *line)
{
	return w->records.n != 0 &&
	    memmem(w->records.p, w->records.n, line, strlen(line)) != NULL;
}
