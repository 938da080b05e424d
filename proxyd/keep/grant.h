/* SPDX-License-Identifier: Apache-2.0 */
/* One request to release a credential: read, judged, written down. */
#ifndef KEEP_GRANT_H
#define KEEP_GRANT_H

#include "audit/event.h"
#include "base/attr.h"
#include "net/channel.h"
#include "priv/who.h"

struct store;
struct store_sandbox;
struct told;
struct told_dial;

struct grant {
	/* what the worker says */
	struct who who; /* its slices are borrowed from the message */
	uint32_t rule, credential;
	int socket; /* borrowed from the message */
	/* what was found out */
	const struct store *store;	   /* borrowed */
	const struct store_sandbox *known; /* NULL: no such sandbox */
	const struct told_dial *dial;	   /* NULL: nobody told of it */
	uint64_t cookie;		   /* of the socket; 0: none */
	bool is_over;	    /* asked or dialled by a policy before this */
	const char *detail; /* why not; NULL: granted */
};

enum grant_answer {
	GRANT_YES,
	GRANT_NO,      /* honest, but not now: cut, or no owner */
	GRANT_CHANGED, /* honest, by a policy that is over */
	GRANT_STALE,   /* honest, but the secret is not there, or no more */
	GRANT_FORGED,  /* what no honest worker asks for: an alarm */
};

/* False: the body is malformed, or there is not exactly one descriptor. */
MUST_USE bool grant_read(struct grant *g, const struct msg *m);

/* Find out and decide; see keep/issue.h for what must hold. */
MUST_USE enum grant_answer grant_judge(struct grant *g,
    const struct store *store, struct told *told);

/* Of a grant: the user beside whom a token is a password; NULL: none. */
const char *grant_user(const struct grant *g);

/* The record of it; its texts live as long as the grant, store and message. */
void grant_event(const struct grant *g, enum event_kind kind, struct event *e);

#endif
