/* SPDX-License-Identifier: Apache-2.0 */
#include "dial/account.h"
#include "policy/address.h"
#include "policy/policy.h"

/* Did the worker ask for what its own copy of the program must refuse? */
static bool
is_alarm(const struct account *a)
{
	return a->forged || a->refused == REASON_POLICY_NONE ||
	    (a->refused != REASON_ALLOW && a->refused == a->verdict.reason &&
		a->refused != REASON_POLICY_CHANGED);
}

static void
put_page(const struct page *p, struct event *e)
{
	if (p == NULL)
		return;
	event_text(e, FIELD_SANDBOX, page_name(p));
	if (p->program == NULL)
		return;
	event_text(e, FIELD_POLICY, program_policy_name(p->program));
	event_text(e, FIELD_PROGRAM, page_digest(p));
	event_number(e, FIELD_GENERATION, p->generation);
}

/* What the owner writes to have it, where that is possible at all. */
static void
put_opening(struct account *a, const char *first)
{
	const struct ip *ip = &a->first_refused;
	size_t n = strlen(a->note);

	if (a->refused != REASON_UP_PRIVATE || address_is_global(ip))
		return;
	if (address_is_metadata(ip))
		snprintf(a->note + n, sizeof(a->note) - n,
		    ", which nothing opens");
	else
		snprintf(a->note + n, sizeof(a->note) - n,
		    "; `private: [\"%s\"]` of the configuration and "
		    "`addresses: [\"%s\"]` of a rule open it",
		    first, first);
}

static void
put_detail(struct account *a, struct event *e)
{
	const char *detail = a->detail == NULL ? "" : a->detail;
	char first[IP_TEXT_SIZE];

	ip_text(&a->first_refused, first);
	if (a->n_refused == 0) {
		snprintf(a->note, sizeof(a->note), "%s", detail);
	} else {
		snprintf(a->note, sizeof(a->note),
		    "%s%s%zu of its addresses must not be dialled, first %s",
		    detail, detail[0] == '\0' ? "" : "; ", a->n_refused, first);
		put_opening(a, first);
	}
	if (a->note[0] != '\0')
		event_str(e, FIELD_DETAIL, a->note);
}

static void
put_peer(struct account *a, struct event *e)
{
	ip_text(&a->peer, a->peer_text);
	event_str(e, FIELD_PEER_ADDRESS, a->peer_text);
	event_number(e, FIELD_PEER_PORT,
	    a->proxy == NULL ? a->facts.port : a->proxy_port);
	event_number(e, FIELD_COOKIE_SOCKET, a->cookie);
}

void
account_event(struct account *a, struct event *e)
{
	const struct program *p = a->page == NULL ? NULL : a->page->program;
	struct facts facts = a->facts;
	struct verdict v = a->verdict;

	event_init(e, is_alarm(a) ? EVENT_ALARM : EVENT_DIAL);
	put_page(a->page, e);
	/* Policy's own refusal follows from the facts; any other is a fault. */
	if (a->refused != REASON_ALLOW && (v.reason != a->refused || v.allow))
		facts.fault = a->refused;
	if (facts.fault != REASON_ALLOW)
		v = (struct verdict){ .reason = facts.fault,
			.rule = VERDICT_NONE,
			.nearest = VERDICT_NONE };
	facts_to_event(p, &facts, &v, &a->text, e);
	/* What a `dial` must have, even where the worker said nothing of it. */
	if (!event_has(e, FIELD_HOST))
		event_str(e, FIELD_HOST, "?");
	event_number(e, FIELD_PORT, facts.port);
	event_text(e, FIELD_FLOW, a->flow);
	if (a->proxy != NULL)
		event_str(e, FIELD_PROXY, a->proxy);
	put_detail(a, e);
	if (a->refused == REASON_ALLOW)
		put_peer(a, e);
}
