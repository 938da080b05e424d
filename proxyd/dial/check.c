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

/* Is there room for this name, if it is one that the sandbox chose? */
static bool
spend_name(struct page *page, uint32_t rule, struct slice host)
{
	uint32_t max = program_limits(page->program, rule).names;
	struct names *names = &page->names;

	if (!program_rule_is_wild(page->program, rule))
		return true;
	if (max != 0)
		names = names_of(&page->names_of_rules, rule);
	return names != NULL &&
	    names_spend(names, max != 0 ? max : LIMIT_NAMES_PER_HOUR, host,
		clock_ms());
}

enum reason
ask_check(struct ask *q, const char **detail)
{
	struct asks *a = q->asks;

	*detail = "the sandbox is gone";
	if (q->page == NULL && book_is_gone(&a->book, q->request.who.sandbox))
		return REASON_SHUTDOWN;
	*detail = "no such sandbox";
	if (q->page == NULL && a->book.pages.n != 0)
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
	if (!spend_name(q->page, q->request.rule, q->account.facts.host))
		return REASON_LIMIT_RATE;
	*detail = "";
	return REASON_ALLOW;
}
