/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/reload.h"
#include "base/clock.h"
#include "flow/choose.h"
#include "flow/link.h"
#include "flow/pass.h"
#include "flow/record.h"
#include "flow/step.h"
#include "http/h2.h"
#include "http/pool.h"
#include "policy/same.h"

static const char why[] =
    "the policy has changed and does not allow it any more";

static uint64_t
now_s(void)
{
	return clock_wall_us() / 1000000;
}

/*
 * A name has the address of its pattern, and may have another one now, such as
 * that of a rule of its own: what was the name's stays the name's.
 */
static void
move_dst(const struct program *was, const struct program *p,
    struct facts *facts)
{
	struct slice name = facts->sni.n != 0 ? facts->sni : facts->host;
	struct ip ip;

	if (name.n != 0 && program_address(was, name, &ip) &&
	    ip_eq(&ip, &facts->dst) && program_address(p, name, &ip))
		facts->dst = ip;
}

/* One that `addresses:` opened, and does not any more. */
static bool
is_closed(const struct program *was, const struct program *p, struct slice host,
    uint16_t port, const char *address)
{
	struct ip ip;

	return address[0] != '\0' && ip_parse(slice_of_str(address), &ip) &&
	    program_opens(was, host, port, &ip, now_s()) &&
	    !program_opens(p, host, port, &ip, now_s());
}

/* --- requests ------------------------------------------------------------ */

/* It is on its way to the origin: nothing of it can be done otherwise. */
static bool
is_sent(const struct request *r)
{
	return r->x.phase >= EXCHANGE_SEND && r->x.phase <= EXCHANGE_TUNNEL;
}

enum answer {
	ANSWER_NO,
	ANSWER_OTHERWISE, /* not as it was made ready */
	ANSWER_YES,
};

static enum answer
judge_request_again(struct request *r)
{
	struct generation *g = r->flow->sandbox->generation;
	const struct program *was = r->generation->program;
	struct facts facts = r->facts;

	if (g == r->generation)
		return ANSWER_YES;
	/* Facts name a placeholder's credential by its place. */
	if (facts.placeholder != PLACEHOLDER_NONE &&
	    !same_credentials(was, g->program))
		return ANSWER_OTHERWISE;
	facts.now_s = now_s();
	move_dst(was, g->program, &facts);
	struct verdict v = policy_decide(g->program, &facts);
	if (!v.allow ||
	    is_closed(was, g->program, host_slice(&r->host), r->facts.port,
		r->address))
		return ANSWER_NO;
	bool same = same_treatment(was, &r->verdict, g->program, &v);
	/* What was made ready for it is not what is wanted now. */
	if (!same && !is_sent(r))
		return ANSWER_OTHERWISE;
	r->is_otherwise = !same;
	generation_unref(r->latest);
	r->latest = generation_ref(g);
	r->now = v;
	return ANSWER_YES;
}

bool
reload_allows(struct request *r)
{
	return judge_request_again(r) == ANSWER_YES;
}

static void
reload_request(struct request *r)
{
	if (!r->judged || !r->verdict.allow || r->ended || r->x.refused ||
	    r->x.phase >= EXCHANGE_REFUSE)
		return;
	enum answer answer = judge_request_again(r);
	if (answer == ANSWER_YES)
		request_reach_again(r);
	else if (answer == ANSWER_NO || !request_judge_again(r))
		exchange_refuse(&r->x, REASON_POLICY_CHANGED, why);
}

/* --- flows --------------------------------------------------------------- */

static void
set_generation(struct flow *f)
{
	struct generation *g = f->sandbox->generation;

	generation_unref(f->generation);
	f->generation = generation_ref(g);
}

static void
judge_again(struct flow *f)
{
	if (f->generation != NULL)
		move_dst(f->generation->program,
		    f->sandbox->generation->program, &f->facts);
	set_generation(f);
	f->facts.now_s = now_s();
	record_judge(f->generation, &f->facts, &f->verdict);
}

/* What is asked for it is asked anew. */
static void
forget_asked(struct flow *f)
{
	const struct sandbox *sb = f->sandbox;

	sb->asks->cancel(sb->asks_arg, f->asked);
	f->asked = NULL;
	again_cancel(&f->retry);
}

static void
reload_choose(struct flow *f)
{
	choose_close(f);
	free(f->choose);
	f->choose = NULL;
	judge_again(f);
	if (!f->verdict.allow || !choose_is_needed(f))
		(void)flow_enter(f, PHASE_SHAKE);
}

static void
reload_shake(struct flow *f)
{
	judge_again(f);
	if (f->shook)
		return;
	forget_asked(f);
	f->asked_leaf = false;
}

/* Does it pass unread as it did, to where it did? */
static bool
still_passes(struct flow *f)
{
	const struct program *p = f->sandbox->generation->program;
	struct facts facts = f->facts;
	struct slice name;

	if (policy_kind(p, &f->dst, f->port, &name) != facts.scheme)
		return false;
	if (facts.scheme == SCHEME_TCP && !slice_eq(name, facts.host))
		return false;
	if (facts.scheme == SCHEME_TCP)
		facts.host = name; /* the former's goes with it */
	facts.now_s = now_s();
	struct verdict v = policy_decide(p, &facts);
	if (!v.allow ||
	    (f->pass != NULL &&
		is_closed(f->generation->program, p,
		    facts.scheme == SCHEME_TCP ? name : facts.sni, f->port,
		    f->pass->address)))
		return false;
	set_generation(f);
	f->facts = facts;
	f->verdict = v;
	return true;
}

static void
reload_passed(struct flow *f)
{
	if (!still_passes(f)) {
		(void)flow_stop(f, REASON_POLICY_CHANGED, why);
		return;
	}
	if (f->phase != PHASE_DIAL || f->pass == NULL)
		return;
	forget_asked(f);
	f->pass->asked = false;
}

/* Nothing can be asked for on it any more: it ends behind what is under way. */
static void
end_served(struct flow *f)
{
	struct request *r;

	LIST_FOREACH(r, &f->requests, entry)
		request_drain(r);
	if (f->h2 != NULL) {
		f->leaving = true;
		f->expired = false;
		h2_shut(f->h2);
		if (LIST_EMPTY(&f->requests))
			timer_set(&f->limit, LIMIT_REFUSE_MS);
	} else if (LIST_EMPTY(&f->requests) && f->alpn != ALPN_H2) {
		(void)flow_enter(f, PHASE_REFUSE);
	}
}

static void
reload_served(struct flow *f)
{
	bool was = f->verdict.allow;
	struct request *r;

	judge_again(f);
	LIST_FOREACH(r, &f->requests, entry)
		reload_request(r);
	if (was && !f->verdict.allow)
		end_served(f);
}

static void
reload_flow(struct flow *f)
{
	switch (f->phase) {
	case PHASE_ENTRY:
	case PHASE_PEEK:
		set_generation(f);
		flow_set_kind(f);
		break;
	case PHASE_CHOOSE:
		reload_choose(f);
		break;
	case PHASE_SHAKE:
		reload_shake(f);
		break;
	case PHASE_DIAL:
	case PHASE_PASS:
		reload_passed(f);
		break;
	case PHASE_SERVE:
		reload_served(f);
		break;
	case PHASE_JUDGE: /* it waits for nothing */
	case PHASE_REFUSE:
	case PHASE_CLOSE:
	case PHASE_COUNT:
		break;
	}
}

void
reload(struct sandbox *sb)
{
	struct flow *f, *next;

	again_list_reset(&sb->again_list);
	/* The keeper releases nothing for a dial of a former program. */
	while (pool_drop_oldest(sb->pool))
		;
	links_retire(sb);
	for (f = LIST_FIRST(&sb->flows); f != NULL; f = next) {
		next = LIST_NEXT(f, entry);
		reload_flow(f);
	}
	sandbox_run(sb);
}
