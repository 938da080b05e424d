/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/choose.h"
#include "flow/record.h"
#include "flow/request.h"
#include "flow/step.h"

#define ALERT_NO_APPLICATION_PROTOCOL 120 /* RFC 7301 3.2 */

static void
fail(struct flow *f, enum reason reason, struct slice detail)
{
	struct choose *c = f->choose;

	c->failed = reason == REASON_ALLOW ? REASON_INTERNAL : reason;
	snprintf(c->detail, sizeof(c->detail), "%.*s", SLICE_ARG(detail));
}

static void
on_upstream_news(struct stream *s UNUSED, void *arg)
{
	flow_run(arg);
}

static void
on_again(void *arg)
{
	struct flow *f = arg;

	f->choose->asked = false;
	flow_run(f);
}

static void
on_dialled(const struct dial_answer *a, void *arg)
{
	struct flow *f = arg;
	struct choose *c = f->choose;

	f->asked = NULL;
	if (a->reason == REASON_POLICY_CHANGED &&
	    again_later(&f->sandbox->again_list, &f->retry, on_again, f))
		return;
	c->upstream = a->stream;
	if (a->stream != NULL) {
		reach_note_dial(a);
		stream_on(c->upstream, on_upstream_news, f);
	} else {
		fail(f, a->reason, a->detail);
	}
	flow_run(f);
}

static void
ask_dial(struct flow *f)
{
	struct sandbox *sb = f->sandbox;
	const struct program *p = f->generation->program;
	struct slice only;
	const struct dial_ask ask = {
		.generation = f->generation,
		.rule = f->verdict.dial,
		.host = &f->choose->host,
		.name_it = !program_rule_host(p, f->verdict.dial, &only),
		.port = f->port,
		.tls = true,
		.alpn = f->offer,
		.flow = f->name,
	};

	f->choose->asked = true;
	f->asked = sb->asks->dial(sb->asks_arg, sb, &ask, on_dialled, f);
}

static enum step
shake(struct flow *f)
{
	choose_close(f);
	return flow_enter(f, PHASE_SHAKE);
}

/* May it be taken on at this moment?  If not, its requests find out why. */
static bool
may_dial(struct sandbox *sb)
{
	return sb->asks->may_admit(sb->asks_arg) == REASON_ALLOW &&
	    reach_has_room(sb, 1);
}

/* Does `asker` ask for what `f`, for that host, wants to know? */
static bool
asks_for(const struct flow *asker, const struct flow *f,
    const struct host *host)
{
	return asker->choose != NULL && asker->choose->counted &&
	    asker->port == f->port && asker->offer == f->offer &&
	    host_eq(&asker->choose->host, host);
}

static bool
is_asked(const struct flow *f, const struct host *host)
{
	const struct flow *asker;

	LIST_FOREACH(asker, &f->sandbox->flows, entry)
		if (asks_for(asker, f, host))
			return true;
	return false;
}

static enum step
begin(struct flow *f)
{
	struct sandbox *sb = f->sandbox;
	struct host host;

	judged_host(f, &host);
	if (choices_find(&sb->choices, &host, f->port, f->offer, &f->alpn) ||
	    f->expired)
		return shake(f);
	/* sandbox_run() comes back to it, or release() does. */
	if (sb->asks->is_behind(sb->asks_arg) || is_asked(f, &host))
		return STEP_WAIT;
	if (!may_dial(sb))
		return shake(f);
	f->choose = calloc(1, sizeof(*f->choose));
	if (f->choose == NULL)
		return shake(f);
	f->choose->host = host;
	f->choose->counted = true;
	sb->n_upstreams++;
	record_flow_begin(f);
	return STEP_AGAIN;
}

/* The client offers nothing that the origin speaks. */
static enum step
no_overlap(struct flow *f)
{
	choose_close(f);
	flow_fault(f, REASON_TLS_VERSION,
	    "the origin speaks no protocol that was offered (ALPN)");
	f->alert = ALERT_NO_APPLICATION_PROTOCOL;
	return flow_enter(f, PHASE_REFUSE);
}

/* It is up: what it chose is what the client is given. */
static enum step
chosen(struct flow *f)
{
	struct sandbox *sb = f->sandbox;
	struct choose *c = f->choose;
	struct stream *s = c->upstream;
	enum alpn alpn = sb->asks->alpn(sb->asks_arg, s);

	if (!sb->asks->is_verified(sb->asks_arg, s, &c->host)) {
		fail(f, REASON_UP_CERT, SLICE("was not verified"));
		return shake(f);
	}
	/* Nothing chosen means HTTP/1.1. */
	if (alpn == ALPN_NONE && !alpn_offer_has(f->offer, ALPN_HTTP11))
		return no_overlap(f);
	f->alpn = alpn;
	choices_put(&sb->choices, &c->host, f->port, f->offer, alpn);
	c->upstream = NULL;
	reach_keep(f, &c->host, s);
	return shake(f);
}

enum step
step_choose(struct flow *f)
{
	const struct sandbox *sb = f->sandbox;
	struct choose *c = f->choose;

	if (stream_is_broken(f->client))
		return flow_stop(f, REASON_CLIENT_ABORT,
		    "gone before its handshake");
	if (c == NULL)
		return begin(f);
	if (f->record_failed) /* so its requests are told */
		return shake(f);
	if (f->expired && c->failed == REASON_ALLOW)
		fail(f, REASON_UP_CONNECT, SLICE("no connection in time"));
	if (c->failed == REASON_ALLOW && !f->is_recorded)
		return STEP_WAIT;
	if (c->failed == REASON_ALLOW && !c->asked)
		ask_dial(f);
	if (c->failed != REASON_ALLOW)
		return shake(f);
	if (c->upstream == NULL)
		return STEP_WAIT;
	if (!stream_is_broken(c->upstream))
		return stream_is_ready(c->upstream) ? chosen(f) : STEP_WAIT;
	if (sb->asks->speaks_none(sb->asks_arg, c->upstream))
		return no_overlap(f);
	fail(f, stream_reason(c->upstream),
	    slice_of_str(stream_text(c->upstream)));
	return shake(f);
}

bool
choose_is_needed(const struct flow *f)
{
	return alpn_offer_has(f->offer, ALPN_H2) &&
	    f->verdict.dial != VERDICT_NONE;
}

/* It failed for those who waited for it, too. */
static void
share_failure(const struct choose *c, struct flow *f)
{
	f->choose = calloc(1, sizeof(*f->choose));
	if (f->choose == NULL)
		return;
	f->choose->failed = c->failed;
	memcpy(f->choose->detail, c->detail, sizeof(c->detail));
}

/* Those who wait go on: with its choice, with its failure, or if its client is
 * gone one of them asks. */
static void
release(const struct flow *f)
{
	struct flow *other;
	struct host host;

	LIST_FOREACH(other, &f->sandbox->flows, entry) {
		if (other->phase != PHASE_CHOOSE || other->choose != NULL)
			continue;
		judged_host(other, &host);
		if (!asks_for(f, other, &host))
			continue;
		if (f->choose->failed != REASON_ALLOW)
			share_failure(f->choose, other);
		stream_nudge(other->client);
	}
}

void
choose_nudge(const struct sandbox *sb)
{
	struct flow *f;

	LIST_FOREACH(f, &sb->flows, entry)
		if (f->phase == PHASE_CHOOSE && f->choose == NULL)
			stream_nudge(f->client);
}

enum reason
choose_take_failure(struct flow *f)
{
	enum reason failed;

	if (f->choose == NULL)
		return REASON_ALLOW;
	failed = f->choose->failed;
	f->choose->failed = REASON_ALLOW;
	return failed;
}

void
choose_close(struct flow *f)
{
	struct sandbox *sb = f->sandbox;
	struct choose *c = f->choose;

	if (c == NULL)
		return;
	if (c->counted) {
		release(f);
		sb->asks->cancel(sb->asks_arg, f->asked);
		f->asked = NULL;
		again_cancel(&f->retry);
		sb->n_upstreams--;
	}
	c->counted = false;
	stream_close(c->upstream);
	c->upstream = NULL;
}
