/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/sandbox.h"
#include "base/clock.h"
#include "base/limits.h"
#include "cred/search.h"
#include "flow/flow.h"
#include "flow/link.h"
#include "flow/reload.h"
#include "http/pool.h"
#include "policy/same.h"
#include "tls/leaf.h"

#define EXPIRY_MS 1000

struct generation *
generation_ref(struct generation *g)
{
	g->refs++;
	return g;
}

void
generation_unref(struct generation *g)
{
	if (g == NULL || --g->refs != 0)
		return;
	look_slots_release(&g->slots);
	spend_rules_release(&g->spent);
	program_free(g->program);
	free(g);
}

/* Looked at each second, whatever the clock of the wall did meanwhile. */
static void
watch_expiry(struct sandbox *s)
{
	if (program_may_expire(s->generation->program))
		timer_set(&s->expiry, EXPIRY_MS);
	else
		timer_stop(&s->expiry);
}

/* What a rule allowed ends with it. */
static void
on_expiry(void *arg)
{
	struct sandbox *s = arg;
	uint64_t now_s = clock_wall_us() / 1000000;
	struct flow *f, *next;

	for (f = LIST_FIRST(&s->flows); f != NULL; f = next) {
		next = LIST_NEXT(f, entry);
		flow_expire(f, now_s);
	}
	watch_expiry(s);
}

struct sandbox *
sandbox_new(struct loop *l, const struct asks *asks, void *asks_arg,
    uint32_t id, enum err *err)
{
	struct sandbox *s = calloc(1, sizeof(*s));

	*err = ERR_MEMORY;
	if (s == NULL)
		return NULL;
	s->loop = l;
	s->asks = asks;
	s->asks_arg = asks_arg;
	s->id = id;
	placeholder_set_init(&s->placeholders);
	LIST_INIT(&s->flows);
	LIST_INIT(&s->links);
	LIST_INIT(&s->proofs);
	holds_init(s);
	budget_init(&s->handshakes, LIMIT_HANDSHAKES_PER_S,
	    (uint64_t)2 * LIMIT_HANDSHAKES_PER_S, clock_ms());
	pipes_init(&s->pipes);
	choices_init(&s->choices);
	if (timer_init(&s->expiry, l, on_expiry, s, err) != 0) {
		free(s);
		return NULL;
	}
	if (again_list_init(&s->again_list, l, err) != 0) {
		timer_release(&s->expiry);
		free(s);
		return NULL;
	}
	s->pool = pool_new(l);
	if (s->pool == NULL) {
		timer_release(&s->expiry);
		again_list_release(&s->again_list);
		free(s);
		*err = ERR_MEMORY;
		return NULL;
	}
	*err = ERR_NONE;
	return s;
}

void
sandbox_set_name(struct sandbox *s, struct slice name)
{
	snprintf(s->name, sizeof(s->name), "%.*s", SLICE_ARG(name));
}

void
sandbox_run(struct sandbox *s)
{
	struct flow *f, *next;

	/* One may end, which takes it off the list. */
	for (f = LIST_FIRST(&s->flows); f != NULL; f = next) {
		next = LIST_NEXT(f, entry);
		flow_wake(f);
	}
}

void
sandbox_close(struct sandbox *s)
{
	while (!LIST_EMPTY(&s->flows))
		flow_abort(LIST_FIRST(&s->flows), REASON_SHUTDOWN);
	links_close(s);
}

bool
sandbox_finish(struct sandbox *s)
{
	struct flow *f, *next;

	for (f = LIST_FIRST(&s->flows); f != NULL; f = next) {
		next = LIST_NEXT(f, entry);
		(void)flow_finish(f, REASON_SHUTDOWN);
	}
	return LIST_EMPTY(&s->flows);
}

void
sandbox_free(struct sandbox *s)
{
	if (s == NULL)
		return;
	sandbox_close(s);
	holds_release(s);
	pool_free(s->pool);
	choices_release(&s->choices);
	timer_release(&s->expiry);
	again_list_release(&s->again_list);
	pipes_release(&s->pipes);
	leaf_cache_free(s->leaves);
	placeholder_set_release(&s->placeholders);
	search_free(s->placeholder_forms);
	generation_unref(s->generation);
	free(s->echo_hits);
	free(s);
}

/* `program` becomes its own, also on failure.  NULL: no memory. */
static struct generation *
generation_new(struct program *program, uint32_t number, struct slice digest)
{
	struct generation *g = calloc(1, sizeof(*g));

	if (g == NULL) {
		program_free(program);
		return NULL;
	}
	g->refs = 1;
	g->number = number;
	g->program = program;
	snprintf(g->digest, sizeof(g->digest), "%.*s", SLICE_ARG(digest));
	if (spend_rules_init(&g->spent, program, clock_ms()) &&
	    look_slots_init(&g->slots, program) == 0)
		return g;
	generation_unref(g);
	return NULL;
}

/* Which rules had answers with secrets stays known. */
static void
carry_echoes(const struct sandbox *s, const struct program *p, uint8_t *hits)
{
	uint32_t near = 0;

	for (uint32_t i = 0; i < s->n_echo_hits; i++) {
		if (s->echo_hits[i] == 0)
			continue;
		uint32_t now = same_rule(s->generation->program, i, p, &near);
		if (now != VERDICT_NONE)
			hits[now] = s->echo_hits[i];
	}
}

bool
sandbox_set_program(struct sandbox *s, struct program *program, uint32_t number,
    struct slice digest)
{
	uint32_t n_rules = program_n_rules(program);
	uint8_t *hits = calloc(n_rules + 1, 1);
	struct generation *former = s->generation;
	struct generation *g = generation_new(program, number, digest);

	if (g == NULL || hits == NULL) {
		generation_unref(g);
		free(hits);
		return false;
	}
	if (former != NULL) {
		spend_rules_carry(&g->spent, program, &former->spent,
		    former->program);
		carry_echoes(s, program, hits);
	}
	free(s->echo_hits);
	s->echo_hits = hits;
	s->n_echo_hits = n_rules;
	s->generation = g;
	watch_expiry(s);
	reload(s);
	generation_unref(former);
	return true;
}

void
sandbox_note_echo(struct sandbox *s, uint32_t rule)
{
	if (rule < s->n_echo_hits && s->echo_hits[rule] < UINT8_MAX)
		s->echo_hits[rule]++;
}

bool
sandbox_is_echoing(const struct sandbox *s, uint32_t rule)
{
	return rule < s->n_echo_hits && s->echo_hits[rule] >= LIMIT_ECHO_HITS;
}
