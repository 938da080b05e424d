/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The role that reads all hostile bytes: it has the listeners of its sandboxes,
 * what the dialer hands over, and nothing else.  No files, no sockets of its
 * own making, no secret that lasts.  worker.c takes what the monitor sends,
 * worker_sandbox.c and worker_entry.c have what belongs to one sandbox.
 */
#ifndef PROXYD_WORKER_H
#define PROXYD_WORKER_H

#include <sys/queue.h>

#include "base/ids.h"
#include "dns/server.h"
#include "flow/asks_roles.h"
#include "flow/sandbox.h"
#include "net/listen.h"
#include "net/timer.h"

#define WORKER_LISTENERS 2 /* IPv4 and IPv6 */

struct shelf;
struct worker;

struct worker_sandbox {
	struct loop_item dead; /* first: freed by the reaper when forgotten */
	struct ids_entry by_id;
	LIST_ENTRY(worker_sandbox) entry;	      /* on worker->sandboxes */
	struct worker *worker;			      /* borrowed */
	struct sandbox *flows;			      /* owned */
	struct listener *listeners[WORKER_LISTENERS]; /* owned */
	struct listener *entries[WORKER_LISTENERS];   /* owned; of a proxy */
	struct dns_server *dns; /* owned; NULL: no answerer */
};

struct worker {
	struct loop *loop;	 /* owned */
	struct channel *monitor; /* owned */
	struct channel *scribe;	 /* owned; NULL: away */
	struct asks_roles roles; /* dialer and keeper: owned */
	struct owner *owner;	 /* owned; what roles.owner points to */
	struct ctx_root *roots;	 /* owned; what roles.client points to */
	LIST_HEAD(, worker_sandbox) sandboxes;
	struct ids by_id;	/* the same, by their numbers */
	struct shelf *programs; /* owned */
	struct timer last;   /* for what still goes to the scribe at the end */
	uint64_t goodbye_ms; /* when the end began, by clock_ms() */
};

/* The sandbox of that id, made if it is new; NULL: no memory. */
MUST_USE struct worker_sandbox *worker_sandbox_get(struct worker *w,
    uint32_t id);

/*
 * Bodies of OP_OWNER, OP_PROGRAM, OP_SANDBOX, OP_ENTRY and OP_FORGET, descriptors and all.
 * False: not such.
 */
MUST_USE bool worker_take_owner(struct worker *w, struct msg *m);
MUST_USE bool worker_take_program(struct worker *w, struct msg *m);
MUST_USE bool worker_take_sandbox(struct worker *w, struct msg *m);
MUST_USE bool worker_take_entry(struct worker *w, struct msg *m);
MUST_USE bool worker_take_forget(struct worker *w, struct msg *m);

/* Take no more connections of a proxy's clients. */
void worker_entry_close(struct worker_sandbox *s);

/* Take no more connections; end those that are there. */
void worker_sandbox_close(struct worker_sandbox *s);

#endif
