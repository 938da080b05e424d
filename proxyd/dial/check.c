/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/limits.h"
#include "dial/inside.h"

enum reason
asks_not_recorded(const struct asks *a)
{
	return recorder_has_scribe(a->recorder) ? REASON_AUDIT_FULL :
						  REASON_SHUTDOWN;
}

enum reason
ask_check(struct ask *q, const char **detail)
{
	struct asks *a = q->asks;

	*detail = "no such sandbox";
	if (q->page == NULL && a->book.n != 0)
		return REASON_POLICY_NONE;
	*detail = "duenna is not ready";
	if (q->page == NULL || q->page->program == NULL)
		return REASON_SHUTDOWN;
	switch (who_compare(&q->request.who, q->page->generation,
	    page_digest(q->page))) {
	case WHO_SAME:
		break;
	case WHO_OTHER_GENERATION:
		*detail = "the policy has changed";
		return REASON_POLICY_CHANGED;
	case WHO_OTHER_DIGEST:
		q->account.forged = true;
		*detail = "asked by another program";
		return REASON_POLICY_CHANGED;
	}
	q->account.verdict =
	    request_decide(q->page->program, &q->request, &q->account.facts);
	*detail = "the policy does not allow this dial";
	if (!q->account.verdict.allow)
		return q->account.verdict.reason;
	*detail = "duenna is not ready";
	if (a->owner == NULL || a->keeper == NULL)
		return REASON_SHUTDOWN;
	*detail = "it cannot be recorded";
	if (!recorder_is_ready(a->recorder))
		return asks_not_recorded(a);
	*detail = "too many dials at once";
	if (q->page->n_dials > LIMIT_DIALS) /* this one counts already */
		return REASON_LIMIT_CONNS;
	*detail = "too many names under wildcards within an hour";
	if (program_rule(q->page->program, q->request.rule).wildcard &&
	    !names_spend(&q->page->names, q->account.facts.host, clock_ms()))
		return REASON_LIMIT_RATE;
	*detail = "";
	return REASON_ALLOW;
}
