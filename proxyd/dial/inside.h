/* SPDX-License-Identifier: Apache-2.0 */
/* What ask.h keeps closed: for ask.c, asks.c, check.c and reach.c alone. */
#ifndef DIAL_INSIDE_H
#define DIAL_INSIDE_H

#include "dial/account.h"
#include "dial/ask.h"
#include "dial/connect.h"
#include "dial/request.h"
#include "dial/tunnel.h"
#include "net/timer.h"

#define ASK_NOTE_MAX 96 /* bytes of a detail */

/* One request of a worker. */
struct ask {
	struct loop_item dead;
	LIST_ENTRY(ask) entry;
	struct asks *asks;	/* borrowed */
	struct channel *worker; /* borrowed; asks_forget() before it goes */
	uint32_t id;		/* of the request, for the answer */
	struct page *page;	/* borrowed; NULL: no such sandbox */
	struct request request; /* its slices point at the texts below */
	char host[REQUEST_HOST_MAX], flow[WHO_FLOW_MAX];
	char digest[WHO_DIGEST_MAX];
	struct account account;
	enum ask_phase phase;	       /* written by ask_enter() alone */
	struct timer limit;	       /* LIMIT_DIAL_MS for the whole */
	struct resolution *resolution; /* NULL: none pending */
	struct connecting *connecting; /* NULL: none pending */
	struct tunnel *tunnel;	       /* NULL: none pending */
	struct proxy {
		struct host host; /* n 0: none, the origin is dialled */
		uint16_t port;
		char text[HOST_PUT_MAX + 8]; /* HOST:PORT, for the record */
	} proxy;
	char note[ASK_NOTE_MAX]; /* for account.detail */
	struct channel *keeper;	 /* of `telling`; borrowed */
	uint32_t telling;	 /* request at the keeper; 0: none */
	bool recording;		 /* a record is on its way */
	bool told, written;	 /* CONFIRM ends when both are */
	int fd;			 /* owned; -1: not connected */
};

struct asks {
	struct loop *loop; /* borrowed, and the next two */
	struct resolver *resolver;
	struct recorder *recorder;
	struct channel *keeper; /* borrowed; NULL: away */
	struct owner *owner;	/* owned; NULL: not here yet */
	struct book book;
	LIST_HEAD(, ask) open;
};

/* What stands against it, before anything is done; ALLOW: nothing. */
enum reason ask_check(struct ask *q, const char **detail);

/* Why a record cannot be written now. */
enum reason asks_not_recorded(const struct asks *a);

/* Begin; it may be over when this returns. */
void ask_start(struct ask *q);

/* reach.c: from the phase RESOLVE to a connection, then ask_confirm(). */
void ask_reach(struct ask *q);

/* Enter CONFIRM: tell keeper and scribe of q->fd. */
void ask_confirm(struct ask *q);

/* ask.c and reach.c alone */
void ask_enter(struct ask *q, enum ask_phase to);

/* A refusal: recorded, and told to the worker; `q` may be the stack's. */
void ask_say_refused(struct ask *q, enum reason reason, const char *detail);

/* End it: with that; or in silence. */
void ask_refuse(struct ask *q, enum reason reason, const char *detail);
void ask_cancel(struct ask *q);

void ask_reaped(struct loop_item *item);
void ask_on_limit(void *arg);

#endif
