/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that a decision may look at.  A record of the audit log holds these
 * facts, so that anybody with the program can decide again.
 *
 * Slices are borrowed for the call.  Names are in the canonical form of
 * wire/host.h, paths in that of wire/urlpath.h.
 */
#ifndef POLICY_FACTS_H
#define POLICY_FACTS_H

#include "base/ip.h"
#include "base/reason.h"
#include "base/slice.h"
#include "policy/git_command.h"
#include "policy/scheme.h"

/* How much is known, and so what the question is. */
enum facts_kind {
	FACTS_NAME,    /* DNS: may this name be reached at all?  host, qtype */
	FACTS_CONNECT, /* a connection: dst, port, scheme; sni over TLS;
			  host where nothing of it is read (tcp), or
			  before anything is, as a proxy's client says */
	FACTS_REQUEST, /* one request: all of it */
	FACTS_DIAL,    /* the dialer: rule, host, port; may it be dialled? */
	FACTS_COMMAND, /* a request, and one command of the push in its body */
	FACTS_PUSH,    /* likewise, and all of them; never in a record */
};

/*
 * Slots in which a client's own credential may stand: a bit each in
 * facts.foreign.  cred/foreign.c has the table of their names.
 */
enum foreign_slot {
	FOREIGN_AUTHORIZATION,
	FOREIGN_PROXY_AUTHORIZATION,
	FOREIGN_X_API_KEY,
	FOREIGN_API_KEY,
	FOREIGN_X_GOOG_API_KEY,
	FOREIGN_X_AUTH_TOKEN,
	FOREIGN_PRIVATE_TOKEN,
	FOREIGN_JOB_TOKEN,
	FOREIGN_OCP_APIM_SUBSCRIPTION_KEY,
	FOREIGN_USERINFO,
	FOREIGN_QUERY_ACCESS_TOKEN,
	FOREIGN_QUERY_API_KEY,
	FOREIGN_QUERY_PRIVATE_TOKEN,
	FOREIGN_SLOT_COUNT
};

/* What was seen of our placeholders in a request's head. */
enum placeholder_seen {
	PLACEHOLDER_NONE,
	PLACEHOLDER_IN_SLOT, /* facts.placeholder_of says of which credential */
	PLACEHOLDER_MISPLACED, /* in another place of the head, or not alone */
	PLACEHOLDER_FOREIGN, /* of the reserved form, but not this sandbox's */
};

/* What a push asks for, behind its request's head. */
struct facts_push {
	const struct git_command *commands;
	uint32_t n_commands;
	bool has_options; /* push options were asked for, if only none */
	const struct slice *options;
	uint32_t n_options;
};

struct facts {
	enum facts_kind kind;
	/*
	 * What was wrong before policy was asked (grammar, a limit, a fault of
	 * the upstream); REASON_ALLOW if nothing was.  It decides alone.
	 */
	enum reason fault;

	/*
	 * When: seconds since 1970.  0, nobody knows, is behind every `expires`.
	 */
	uint64_t now_s;
	struct ip dst; /* where the client connected to; family 0: unknown */
	uint16_t port; /* the port it connected to; 0: unknown */
	enum scheme scheme; /* of the connection: never ws or wss */
	bool has_sni;
	struct slice sni;  /* canonical */
	struct slice host; /* canonical: name, or text of a literal address */
	uint16_t qtype;	   /* FACTS_NAME: type of the DNS question, 1 is A */
	uint32_t rule;	   /* FACTS_DIAL: the rule that the worker named */

	struct slice method; /* as sent */
	struct slice path;   /* canonical */
	bool has_query;
	struct slice query; /* raw, behind the `?`; grammar was checked */
	bool upgrade;	    /* a WebSocket was asked for: ws or wss */

	uint32_t foreign; /* bits of enum foreign_slot */
	bool signed_url;  /* a query key of the table of URL signatures */
	bool cookie;	  /* a Cookie field stood in the request */
	bool range;	  /* Range or If-Range */
	enum placeholder_seen placeholder;
	uint32_t placeholder_of; /* credential's index in the program */
	/* Further ones in slots of their own: 16 bits each, index + 1, lowest
	 * first; 0: none.  A rule has at most VERDICT_CREDENTIALS_MAX. */
	uint64_t placeholder_also;

	struct git_command command;    /* FACTS_COMMAND */
	const struct facts_push *push; /* FACTS_PUSH; else NULL */
};

#endif
