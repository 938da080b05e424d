/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/queue.h>

#include "audit/event.h"
#include "base/budget.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/rd.h"
#include "base/wr.h"
#include "certs/ca.h"
#include "certs/leaf.h"
#include "crypto/sign.h"
#include "keep/fresh.h"
#include "keep/issue.h"
#include "keep/store.h"
#include "keep/told.h"
#include "keep/waits.h"
#include "priv/ops.h"

#define LEAF_SIZE_MAX 4096 /* bytes of a leaf; with one name it has 600 */

/* A release that waits for its record. */
struct pending {
	LIST_ENTRY(pending) entry;
	struct issue *issue;  /* borrowed */
	struct channel *from; /* borrowed; NULL: it is gone */
	uint32_t id;	      /* of the request */
	uint32_t credential;
	const char *user; /* static; git: the token as Basic; NULL: as it is */
	bool is_over;	  /* by a configuration that is gone */
};

struct issue {
	struct store *store;	   /* borrowed */
	struct recorder *recorder; /* borrowed */
	struct told *told;	   /* owned */
	struct ca *ca;		   /* owned */
	struct sign_key *key;	   /* owned */
	struct fresh *fresh;	   /* borrowed; NULL: none */
	LIST_HEAD(, pending) pendings;
	struct waits waits; /* for a secret that is under way */
	struct budget alarms;
	uint64_t n_silenced; /* alarms that were only counted */
};

struct issue *
issue_new(struct store *store, struct recorder *recorder, enum err *err)
{
	struct issue *i = calloc(1, sizeof(*i));

	*err = ERR_MEMORY;
	if (i == NULL)
		return NULL;
	i->told = told_new(err);
	if (i->told == NULL) {
		free(i);
		return NULL;
	}
	i->store = store;
	i->recorder = recorder;
	LIST_INIT(&i->pendings);
	waits_init(&i->waits);
	budget_init(&i->alarms, ISSUE_ALARMS_PER_S, ISSUE_ALARMS_BURST,
	    clock_ms());
	return i;
}

void
issue_free(struct issue *i)
{
	if (i == NULL)
		return;
	waits_release(&i->waits);
	while (!LIST_EMPTY(&i->pendings)) {
		struct pending *p = LIST_FIRST(&i->pendings);
		recorder_forget(i->recorder, p);
		LIST_REMOVE(p, entry);
		free(p);
	}
	told_free(i->told);
	ca_free(i->ca);
	sign_key_free(i->key);
	free(i);
}

void
issue_set_ca(struct issue *i, struct ca *ca)
{
	ca_free(i->ca);
	i->ca = ca;
}

void
issue_set_audit_key(struct issue *i, struct sign_key *key)
{
	sign_key_free(i->key);
	i->key = key;
}

void
issue_set_fresh(struct issue *i, struct fresh *fresh)
{
	i->fresh = fresh;
}

void
issue_set_restarted(struct issue *i)
{
	told_forgive(i->told, clock_ms() + LIMIT_IDLE_MS);
}

/* What could not be kept is counted by the recorder, and becomes a gap. */
static void
record(struct issue *i, const struct event *e)
{
	if (recorder_send(i->recorder, e, NULL, NULL) != 0)
		log_debug("a record was lost");
}

/* A queue that is full means a peer that does not read: it gets nothing. */
static void
answer(struct channel *to, uint32_t id, uint16_t op, struct slice body)
{
	const struct msg m = { .op = op, .id = id, .body = body };
	enum err err;

	if (to != NULL && id != 0 && channel_send(to, &m, &err) != 0)
		log_debug("an answer was lost: %s", err_text(err));
}

static void
alarm_malformed(struct issue *i, const char *what)
{
	struct event e;

	event_init(&e, EVENT_ALARM);
	event_str(&e, FIELD_DETAIL, what);
	issue_alarm(i, &e);
}

/*
 * Is it asked by the program that we know?  ALLOW, or why not; an alarm for
 * what nobody of ours asks.
 */
static enum reason
check_who(struct issue *i, const struct who *who, const char *what)
{
	bool forged;
	enum reason reason = store_check(i->store, who, &forged);
	struct event e;

	if (!forged)
		return reason;
	event_init(&e, EVENT_ALARM);
	const struct store_sandbox *known = store_find(i->store, who->sandbox);
	if (known != NULL) {
		event_text(&e, FIELD_SANDBOX,
		    slice_of(known->name, known->n_name));
		event_text(&e, FIELD_POLICY,
		    program_policy_name(known->program));
		event_text(&e, FIELD_PROGRAM,
		    slice_of(known->digest, known->n_digest));
		event_number(&e, FIELD_GENERATION, known->generation);
	}
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, reason);
	event_str(&e, FIELD_DETAIL, what);
	event_text(&e, FIELD_FLOW, who->flow);
	issue_alarm(i, &e);
	return reason;
}

/* Mint what LEAF asks for.  ALLOW, or why not. */
static enum reason
mint(struct issue *i, struct slice body, struct buf *der)
{
	struct rd r = rd_of(body);
	struct who who;
	enum err err;

	bool valid = who_read(&r, &who);
	uint8_t literal = rd_u8(&r);
	struct slice name = rd_slice8(&r);
	struct slice spki = rd_slice16(&r);
	if (!valid || !rd_is_done(&r) || literal > 1) {
		alarm_malformed(i, "a malformed request for a leaf");
		return REASON_INTERNAL;
	}
	enum reason reason =
	    check_who(i, &who, "leaf asked for by another program or sandbox");
	if (reason != REASON_ALLOW)
		return reason;
	if (i->ca == NULL)
		return REASON_SHUTDOWN;
	return leaf_mint(i->ca, name, literal == 1, spki, der, &err) == 0 ?
	    REASON_ALLOW :
	    REASON_INTERNAL;
}

void
issue_leaf(struct issue *i, struct channel *from, const struct msg *m)
{
	uint8_t body[LEAF_SIZE_MAX + 8];
	struct wr w = wr_of(body, sizeof(body));
	struct buf der;

	buf_init(&der, LEAF_SIZE_MAX);
	enum reason reason = mint(i, m->body, &der);
	wr_u16(&w, (uint16_t)reason);
	wr_slice16(&w,
	    reason == REASON_ALLOW ? buf_slice(&der) : (struct slice){ 0 });
	answer(from, m->id, OP_LEAFED, wr_slice(&w));
	buf_release(&der);
}

/* Keep what TELL says.  ALLOW, or why not. */
static enum reason
keep_dial(struct issue *i, struct slice body)
{
	struct rd r = rd_of(body);
	struct told_dial dial = { 0 };
	struct who who;

	bool valid = who_read(&r, &who);
	dial.sandbox = who.sandbox;
	dial.generation = who.generation;
	dial.cookie = rd_u64(&r);
	dial.port = rd_u16(&r);
	struct slice host = rd_slice8(&r);
	if (!valid || !rd_is_done(&r) || host.n == 0 ||
	    host.n > TOLD_HOST_MAX) {
		alarm_malformed(i, "a malformed message about a dial");
		return REASON_INTERNAL;
	}
	enum reason reason =
	    check_who(i, &who, "dial told of by another program or sandbox");
	if (reason != REASON_ALLOW)
		return reason;
	memcpy(dial.host, host.p, host.n);
	dial.host_n = (uint8_t)host.n;
	return told_put(i->told, &dial) ? REASON_ALLOW : REASON_INTERNAL;
}

void
issue_tell(struct issue *i, struct channel *from, const struct msg *m)
{
	uint8_t body[2];
	struct wr w = wr_of(body, sizeof(body));

	wr_u16(&w, (uint16_t)keep_dial(i, m->body));
	answer(from, m->id, OP_TOLD, wr_slice(&w));
}

void
issue_certify(struct issue *i, struct channel *from, const struct msg *m)
{
	uint8_t message[SIGN_KEY_MESSAGE_SIZE], signature[SIGN_SIZE];
	uint8_t body[1 + 1 + SIGN_PUBLIC_SIZE + 1 + SIGN_SIZE];
	struct wr w = wr_of(body, sizeof(body));
	struct rd r = rd_of(m->body);
	struct slice public = rd_slice8(&r);
	enum err err;

	bool good =
	    rd_is_done(&r) && public.n == SIGN_PUBLIC_SIZE && i->key != NULL;
	if (good) {
		sign_key_message(public.p, message);
		good = sign_make(i->key, slice_of(message, sizeof(message)),
			   signature, &err) == 0;
	}
	wr_u8(&w, good ? 1 : 0);
	wr_slice8(&w,
	    good ? slice_of(sign_key_public(i->key), SIGN_PUBLIC_SIZE) :
		   (struct slice){ 0 });
	wr_slice8(&w,
	    good ? slice_of(signature, sizeof(signature)) :
		   (struct slice){ 0 });
	answer(from, m->id, OP_CERTIFIED, wr_slice(&w));
}

static void
answer_release(struct channel *to, uint32_t id, enum reason reason,
    struct slice value)
{
	uint8_t body[SECRET_MAX + 8];
	struct wr w = wr_of(body, sizeof(body));

	wr_u16(&w, (uint16_t)reason);
	wr_slice16(&w, value);
	answer(to, id, OP_RELEASED, wr_slice(&w));
	if (value.n != 0)
		explicit_bzero(body, sizeof(body));
}

static void
refuse_release(struct channel *to, uint32_t id, enum reason reason)
{
	answer_release(to, id, reason, (struct slice){ 0 });
}

/* The record is in the log, or it is not: the credential goes, or it stays. */
static void
on_written(bool written, void *arg)
{
	struct pending *p = arg;
	struct secret value = { 0 };
	enum reason reason = REASON_AUDIT_FULL;
	enum err err;

	LIST_REMOVE(p, entry);
	if (p->is_over) {
		reason = REASON_POLICY_CHANGED;
	} else if (written && p->from != NULL) {
		reason = store_value(p->issue->store, p->credential, p->user,
			     &value, &err) == 0 ?
		    REASON_ALLOW :
		    REASON_CRED_UNAVAILABLE;
	}
	answer_release(p->from, p->id, reason, secret_slice(&value));
	secret_release(&value);
	free(p);
}

/* Record first, then give.  False: it cannot be recorded. */
static bool
record_and_give(struct issue *i, struct channel *from, uint32_t id,
    const struct grant *g)
{
	struct pending *p = calloc(1, sizeof(*p));
	struct event e;

	if (p == NULL)
		return false;
	*p = (struct pending){ .issue = i,
		.from = from,
		.id = id,
		.credential = g->credential,
		.user = grant_user(g) };
	grant_event(g, EVENT_RELEASE, &e);
	if (recorder_send(i->recorder, &e, on_written, p) != 0) {
		free(p);
		return false;
	}
	LIST_INSERT_HEAD(&i->pendings, p, entry);
	return true;
}

/* Keep the request until its secret is there.  False: it may not wait. */
static bool
wait_for_secret(struct issue *i, struct channel *from, const struct msg *m,
    const struct grant *g)
{
	return i->fresh != NULL && fresh_want(i->fresh, g->credential) &&
	    waits_put(&i->waits, from, m, g);
}

/* Judge and answer; `may_wait` is false for one that has waited. */
static void
release(struct issue *i, struct channel *from, const struct msg *m,
    bool may_wait)
{
	struct grant g;
	struct event e;

	if (!grant_read(&g, m)) {
		alarm_malformed(i, "a malformed request to release");
		refuse_release(from, m->id, REASON_CRED_UNAVAILABLE);
		return;
	}
	enum grant_answer verdict = grant_judge(&g, i->store, i->told);
	switch (verdict) {
	case GRANT_YES:
		if (record_and_give(i, from, m->id, &g))
			return;
		refuse_release(from, m->id, REASON_AUDIT_FULL);
		return;
	case GRANT_FORGED:
		grant_event(&g, EVENT_ALARM, &e);
		issue_alarm(i, &e);
		break;
	case GRANT_CHANGED:
	case GRANT_STALE:
	case GRANT_NO:
		if (verdict == GRANT_STALE && may_wait &&
		    wait_for_secret(i, from, m, &g))
			return;
		grant_event(&g, EVENT_RELEASE, &e);
		record(i, &e);
		break;
	}
	refuse_release(from, m->id,
	    verdict == GRANT_CHANGED ? REASON_POLICY_CHANGED :
				       REASON_CRED_UNAVAILABLE);
}

void
issue_release(struct issue *i, struct channel *from, const struct msg *m)
{
	release(i, from, m, true);
}

void
issue_settled(struct issue *i, uint32_t credential)
{
	struct waiting *w = LIST_FIRST(&i->waits.all);

	for (struct waiting *after; w != NULL; w = after) {
		after = LIST_NEXT(w, entry);
		if (w->credential != credential)
			continue;
		const struct msg m = waits_msg(w);
		if (w->from != NULL)
			release(i, w->from, &m, false);
		waits_drop(&i->waits, w);
	}
}

void
issue_forget_owner(struct issue *i)
{
	struct waiting *w;
	struct pending *p;

	LIST_FOREACH(p, &i->pendings, entry)
		p->is_over = true;
	while ((w = LIST_FIRST(&i->waits.all)) != NULL) {
		refuse_release(w->from, w->id, REASON_POLICY_CHANGED);
		waits_drop(&i->waits, w);
	}
}

void
issue_forget_sandbox(struct issue *i, uint32_t sandbox)
{
	struct waiting *w = LIST_FIRST(&i->waits.all);

	for (struct waiting *after; w != NULL; w = after) {
		after = LIST_NEXT(w, entry);
		if (w->sandbox != sandbox)
			continue;
		refuse_release(w->from, w->id, REASON_CRED_UNAVAILABLE);
		waits_drop(&i->waits, w);
	}
	told_forget(i->told, sandbox);
	store_forget(i->store, sandbox);
}

void
issue_forget(struct issue *i, const struct channel *from)
{
	struct pending *p;

	LIST_FOREACH(p, &i->pendings, entry)
		if (p->from == from)
			p->from = NULL;
	waits_forget(&i->waits, from);
}

void
issue_alarm(struct issue *i, struct event *e)
{
	if (!budget_take(&i->alarms, clock_ms())) {
		i->n_silenced++;
		return;
	}
	if (i->n_silenced != 0)
		event_number(e, FIELD_COUNTED, i->n_silenced + 1);
	i->n_silenced = 0;
	record(i, e);
}
