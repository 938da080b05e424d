/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ATTACH: the credentials of the rule, released by the keeper one by one for
 * the very socket that they go over.  All of them, or no request.
 */
#include "flow/link.h"
#include "flow/record.h"
#include "flow/request.h"
#include "flow/watchers.h"
#include "policy/git.h"

/* What goes into a WebSocket is not one: nobody looks at it. */
static bool
has_body(const struct request *r)
{
	return !r->x.up.done && !r->x.upgrade;
}

/* The released secrets are looked for in both directions. */
static bool
watch_bodies(struct request *r)
{
	struct stage *leak;

	/* Of another try; a stage may still look for them. */
	search_free(r->forms_before);
	r->forms_before = r->forms;
	r->forms = mask_forms(r->attach.secrets, r->attach.n);
	if (r->forms == NULL)
		return false;
	if (!has_body(r))
		return true;
	leak = watcher_leak(r->forms);
	if (leak == NULL)
		return false;
	stages_add(&r->x.up.stages, leak);
	return true;
}

static bool
watch_placeholders(struct request *r)
{
	struct sandbox *sb = r->flow->sandbox;
	struct stage *seen;

	if (!has_body(r) || r->has_watcher || sb->placeholders.n == 0)
		return true;
	if (sb->placeholder_forms == NULL)
		sb->placeholder_forms = watch_forms(&sb->placeholders);
	if (sb->placeholder_forms == NULL)
		return false;
	seen =
	    watcher_placeholders(sb->placeholder_forms, &r->body_placeholder);
	if (seen == NULL)
		return false;
	r->has_watcher = true;
	stages_add(&r->x.up.stages, seen);
	return true;
}

/* What the client has in our slots goes.  False: no memory. */
static bool
clear_slots(struct request *r)
{
	struct target *t = &r->x.req.target;
	uint8_t *left;
	struct wr w;

	(void)attach_clear_fields(&r->attach, &r->x.req.fields);
	if (r->attach.n_parameters == 0 || !t->has_query)
		return true;
	left = malloc(t->query.n + 1);
	if (left == NULL)
		return false;
	w = wr_of(left, t->query.n);
	t->has_query = attach_clear_query(&r->attach, t->query, &w);
	t->query = wr_slice(&w);
	free(r->query);
	r->query = left;
	return !w.bad;
}

static void
all_attached(struct request *r)
{
	const struct attach *a = &r->attach;

	if ((a->n != 0 && !watch_bodies(r)) || !watch_placeholders(r) ||
	    !clear_slots(r)) {
		exchange_refuse(&r->x, REASON_INTERNAL, "out of memory");
		return;
	}
	const struct exchange_slots slots = {
		.fields = a->fields,
		.parameters = a->parameters,
		.n_fields = a->n_fields,
		.n_parameters = a->n_parameters,
	};
	exchange_attached(&r->x, &slots);
}

static void ask_next(struct request *r);

/* No secret and no source is named: the sandbox reads this. */
static void
refuse_unreleased(struct request *r, enum reason reason)
{
	struct slice name = program_credential(r->generation->program,
	    r->verdict.credentials[r->attach.n])
				.name;

	if (reason == REASON_CRED_UNAVAILABLE)
		buf_putf(&r->x.refusal.policy,
		    "credential `%.*s` cannot be had: what its owner should "
		    "do stands in the messages of `duenna run`",
		    SLICE_ARG(name));
	/* Perhaps it knows nothing of that dial: it was started again. */
	link_retire(r);
	exchange_refuse(&r->x, reason,
	    "the keeper did not release the credential");
}

static void
on_released(enum reason reason, struct slice value, void *arg)
{
	struct request *r = arg;
	enum err err = ERR_NONE;
	struct program_credential c = git_credential(r->generation->program,
	    r->verdict.rule, r->verdict.credentials[r->attach.n]);

	r->asked = NULL;
	/* Too late, it was refused meanwhile: nothing takes the secret. */
	if (r->x.phase != EXCHANGE_ATTACH)
		return;
	if (reason == REASON_POLICY_CHANGED && request_ask_again(r))
		return;
	if (reason != REASON_ALLOW) {
		refuse_unreleased(r, reason);
	} else if (attach_add(&r->attach, &c, value, &err) != 0) {
		exchange_refuse(&r->x, REASON_CRED_UNAVAILABLE, err_text(err));
	} else {
		ask_next(r);
	}
	request_wake(r);
}

static void
ask_next(struct request *r)
{
	struct sandbox *sb = r->flow->sandbox;

	if (r->attach.n == r->verdict.n_credentials) {
		all_attached(r);
		return;
	}
	const struct release_ask ask = {
		.generation = request_by(r),
		.rule = request_rule(r),
		.credential = r->verdict.credentials[r->attach.n],
		.upstream = request_wire(r),
		.flow = r->flow->name,
	};
	r->is_released = true;
	r->asked = sb->asks->release(sb->asks_arg, sb, &ask, on_released, r);
}

void
request_attach(struct exchange *x, void *arg)
{
	struct request *r = arg;
	const struct sandbox *sb = r->flow->sandbox;
	const struct stream *wire = request_wire(r);

	/* A secret goes over TLS to the one name, or nowhere; asked again here
	 * for connections that others have used. */
	if (r->verdict.n_credentials != 0 &&
	    (!r->flow->is_tls || wire == NULL ||
		!sb->asks->is_verified(sb->asks_arg, wire, &r->host))) {
		exchange_refuse(x, REASON_CRED_PLAINTEXT, "not verified");
		return;
	}
	attach_wipe(&r->attach);
	if (r->verdict.n_credentials != 0 &&
	    (x->want_fresh || r->is_released)) {
		/* Another try is another release: it is announced as well. */
		r->is_recorded = r->is_released = false;
		r->is_again = true;
		record_request_begin(r);
		return;
	}
	ask_next(r);
}

void
request_attach_more(struct request *r)
{
	if (r->x.phase != EXCHANGE_ATTACH || !r->is_again)
		return;
	if (r->record_failed)
		exchange_refuse(&r->x, REASON_AUDIT_FULL,
		    "the record could not be written");
	else if (r->is_recorded)
		ask_next(r);
	r->is_again = !r->record_failed && !r->is_recorded;
}
