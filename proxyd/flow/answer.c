/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an upstream answers, before any of it goes to the client.  On a route
 * with a credential it is searched for the secret; what cannot be read is
 * refused there, since it cannot be searched.
 */
#include "base/ascii.h"
#include "cred/look.h"
#include "flow/git.h"
#include "flow/pushing.h"
#include "flow/request.h"
#include "flow/watchers.h"

static bool
refuse(struct request *r, enum reason reason, const char *detail)
{
	exchange_refuse(&r->x, reason, detail);
	return false;
}

/* Can the body be read as it is?  Identity was asked for. */
static bool
is_plain(const struct http_response *res)
{
	for (size_t i = 0; i < res->fields.n; i++) {
		struct field f = res->fields.at[i];
		if (ascii_eq_fold(f.name, SLICE("content-encoding")) &&
		    f.value.n != 0 &&
		    !ascii_eq_fold(f.value, SLICE("identity")))
			return false;
	}
	return true;
}

/* Mask a part of the head where it stands: in the exchange's own copy. */
static void
mask_part(struct request *r, struct buf *head, struct slice part)
{
	if (part.n == 0)
		return;
	r->n_masked +=
	    mask_text(r->forms, head->p + (part.p - head->p), part.n);
}

static void
mask_fields(struct request *r, struct buf *head,
    const struct field_list *fields)
{
	for (size_t i = 0; i < fields->n; i++) {
		mask_part(r, head, fields->at[i].name);
		mask_part(r, head, fields->at[i].value);
	}
}

static void
mask_head(struct request *r)
{
	const struct http_response *res = &r->x.res;

	mask_part(r, &r->x.answer_head, res->phrase);
	mask_fields(r, &r->x.answer_head, &res->fields);
}

/* Behind an upgrade `body` counts for either way. */
static bool
count_down(struct request *r)
{
	struct stage *stage;

	if (!spend_wants_body(&r->spend))
		return true;
	stage = spend_stage(&r->spend, SPEND_DOWN);
	if (stage != NULL)
		stages_add(&r->x.down.stages, stage);
	return stage != NULL;
}

bool
request_answered(struct exchange *x, void *arg)
{
	struct request *r = arg;
	const struct http_response *res = &x->res;
	bool opens = exchange_is_switch(x);
	struct stage *mask;

	if (!git_answered(r))
		return false;
	if (opens && !count_down(r))
		return refuse(r, REASON_INTERNAL, "out of memory");
	if (r->pushing != NULL && !pushing_answered(r))
		return false;
	if (!r->verdict.search_answer || r->forms == NULL)
		return true;
	mask_head(r);
	if (opens || res->status < 200 || res->body == HTTP_BODY_NONE)
		return true;
	if (!is_plain(res))
		return refuse(r, REASON_UP_RESPONSE,
		    "an encoded answer cannot be searched for the credential; "
		    "identity was asked for");
	/* Only with `ranges: true` on the credential does a Range get here. */
	if (res->status == 206 && !r->facts.range)
		return refuse(r, REASON_UP_RESPONSE,
		    "a partial answer that nobody asked for");
	mask = watcher_mask(r->forms, &r->n_masked);
	if (mask == NULL)
		return refuse(r, REASON_INTERNAL, "out of memory");
	stages_add(&x->down.stages, mask);
	return true;
}

/* Fields are no slot behind a body either.  ALLOW: none is there. */
static enum reason
placeholder_in(const struct request *r, const struct field_list *fields)
{
	switch (look_trailers(fields, &r->flow->sandbox->placeholders)) {
	case PLACEHOLDER_NONE:
		return REASON_ALLOW;
	case PLACEHOLDER_FOREIGN:
		return REASON_CRED_FOREIGN;
	case PLACEHOLDER_IN_SLOT:
	case PLACEHOLDER_MISPLACED:
		break;
	}
	return REASON_CRED_MISPLACED;
}

bool
request_trailers(struct exchange *x, bool up, const struct field_list *fields,
    struct buf *head, struct parse_fail *fail)
{
	struct request *r = x->arg;
	uint64_t before = r->n_masked;
	enum reason reason = up ? placeholder_in(r, fields) : REASON_ALLOW;

	if (reason != REASON_ALLOW) {
		*fail = (struct parse_fail){ reason,
			"a placeholder stands in the trailers", 0 };
		return false;
	}
	if (r->forms == NULL || (!up && !r->verdict.search_answer))
		return true;
	mask_fields(r, head, fields);
	if (!up || r->n_masked == before)
		return true;
	/* It was no answer's: nothing of it goes on. */
	r->n_masked = before;
	*fail = (struct parse_fail){ REASON_CRED_LEAK,
		"a secret stands in the trailers", 0 };
	return false;
}
