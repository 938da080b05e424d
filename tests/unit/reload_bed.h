/* SPDX-License-Identifier: Apache-2.0 */
/* Worker, dialer, keeper and scribe in one loop; clients and an origin. */
#ifndef RELOAD_BED_H
#define RELOAD_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <event2/event.h>

#include "dial/ask.h"
#include "keep/issue.h"
#include "keep/store.h"
#include "policy_bed.h"
#include "proxyd/worker.h"

#define RELOAD_SANDBOX 7

enum {
	RELOAD_KEEPER,
	RELOAD_DIALER,
	RELOAD_WORKER,
	RELOAD_ROLES
};

enum client_kind {
	CLIENT_HTTP,   /* one request after the other */
	CLIENT_ECHO,   /* passes unread; what it sends comes back */
	CLIENT_STREAM, /* one answer without end */
};

/* A peer of either side. */
struct client {
	LIST_ENTRY(client) entry;
	struct reload_bed *bed;
	enum client_kind kind;
	int fd; /* -1: over */
	struct event *readable;
	bool was_refused, is_origin;
	bool is_due;	   /* it says the next thing in the next turn */
	size_t n_requests; /* on this connection */
	char got[4096];
	size_t n;
};

#define RELOAD_IMAGES 3 /* two that allow the same, one that allows nothing */

struct reload_bed {
	struct bed beds[RELOAD_IMAGES];
	struct worker worker;
	struct asks *asks;
	struct resolver *resolver;
	struct store *store;
	struct issue *issue;
	struct recorder *recorders[RELOAD_ROLES];
	struct channel *channels[16];
	size_t n_channels;
	int listener;
	uint16_t port;
	struct event *accepts;
	LIST_HEAD(, client) clients;
	void (*step)(struct reload_bed *b); /* in the midst of it all */
	bool forbids;	 /* the next program allows nothing */
	uint32_t issued; /* programs so far, but for the first */
	uint32_t applied[RELOAD_ROLES];
	size_t n_done, n_failed, n_refused, n_connects, n_echoed, n_streamed;
	size_t n_open; /* connections at the origin */
	size_t n_alarms;
};

int reload_set_up(void **state);
int reload_tear_down(void **state);

/* A client that goes on by itself. */
struct client *reload_client(struct reload_bed *b, enum client_kind kind);

/* The parts: something has happened; those who are due say the next thing; an
 * origin; the connection of one is over. */
void reload_step(struct reload_bed *b);
void reload_clients_go_on(struct reload_bed *b);
void reload_listen(struct reload_bed *b);
void reload_client_end(struct client *c);

/* Hand that role the next program, if there is one. */
void reload_role(struct reload_bed *b, int role);

/* How many all of them have. */
uint32_t reload_applied(const struct reload_bed *b);

/* Clients go on; let happen what can. */
void reload_turn(struct reload_bed *b);

#endif
