/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the dialer writes down of a request: a `dial` for what was tried or was
 * not possible, an `alarm` for what a worker asks against the policy.
 */
#ifndef DIAL_ACCOUNT_H
#define DIAL_ACCOUNT_H

#include "audit/event.h"
#include "audit/facts_event.h"
#include "dial/book.h"

struct account {
	const struct page *page; /* borrowed; NULL: no such sandbox */
	struct slice flow;	 /* borrowed */
	struct facts facts;
	struct verdict verdict; /* of the policy; all zero: not asked */
	enum reason refused;	/* ALLOW: it was dialled */
	bool forged;		/* no worker of ours asks that */
	const char *detail;	/* lives as long; NULL: none */
	const char *proxy;	/* HOST:PORT, likewise; NULL: none */
	uint16_t proxy_port;
	size_t n_refused; /* addresses that must not be dialled */
	struct ip first_refused;
	struct ip peer;	 /* dialled only */
	uint64_t cookie; /* dialled only */

	struct facts_text text; /* for account_event() */
	char peer_text[IP_TEXT_SIZE];
	char note[384];
};

/* The event; its texts live as long as the account and are overwritten by the
 * next call. */
void account_event(struct account *a, struct event *e);

#endif
