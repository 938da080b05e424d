/* SPDX-License-Identifier: Apache-2.0 */
/* What a decision says. */
#ifndef POLICY_VERDICT_H
#define POLICY_VERDICT_H

#include <stdint.h>

#include "base/reason.h"

#define VERDICT_CREDENTIALS_MAX 4 /* credentials of one rule; slots differ */
#define VERDICT_NONE UINT32_MAX	  /* no such rule or credential */

struct verdict {
	bool allow;
	bool report;	    /* allowed, but only since a rule says `report:` */
	enum reason reason; /* REASON_ALLOW, or why not; if `report`: why it
			       would not have been */
	uint32_t rule;	    /* the rule that decided, or VERDICT_NONE */
	uint32_t nearest;   /* no rule matched: the one that came furthest */
	uint32_t dial; /* of an allowed connection, served over TLS: the first
			  rule that it may be dialled for, else VERDICT_NONE */
	/* FACTS_PUSH: the command that is refused, or VERDICT_NONE */
	uint32_t command;
	uint32_t n_credentials;
	uint32_t credentials[VERDICT_CREDENTIALS_MAX]; /* to be attached, all */
	uint32_t strip; /* bits of enum foreign_slot to take out */
	bool
	    strip_cookies; /* Cookie and Set-Cookie go, a record field says so */
	bool search_answer; /* mask the credentials in what comes back */
};

/* The word of it in records. */
static inline const char *
verdict_name(const struct verdict *v)
{
	return !v->allow ? "deny" : v->report ? "report" : "allow";
}

#endif
