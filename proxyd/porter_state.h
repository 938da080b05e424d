/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The porter's own: its connections, one call at a time on each.
 *
 *	phase	 waits for		   limit	    then
 *	HEAD	 the head of a call	   CONTROL_IDLE_MS, BODY, WAIT, ANSWER
 *					   CONTROL_MS from its first byte
 *	BODY	 its body		   the same	    WAIT, ANSWER
 *	WAIT	 the monitor		   none: it answers ANSWER
 *	ANSWER	 the caller to read	   CONTROL_IDLE_MS  HEAD, DRAIN
 *	DRAIN	 the caller to end, so	   a moment	    closed
 *		 that it reads our answer
 *
 * For porter.c and porter_call.c alone.
 */
#ifndef PROXYD_PORTER_STATE_H
#define PROXYD_PORTER_STATE_H

#include <sys/queue.h>

#include "base/buf.h"
#include "control/call.h"
#include "net/channel.h"
#include "net/timer.h"

enum conn_phase {
	CONN_HEAD,
	CONN_BODY,
	CONN_WAIT,
	CONN_ANSWER,
	CONN_DRAIN,
	CONN_CLOSED,
};

struct conn {
	struct loop_item dead; /* first */
	LIST_ENTRY(conn) entry;
	struct porter *porter; /* borrowed */
	int fd;		       /* owned */
	struct event *readable, *writable;
	struct timer limit;
	uint32_t uid;
	uint8_t rights;
	enum conn_phase phase;
	bool running, again; /* conn_run() is not entered twice */
	bool close;	     /* behind this answer */
	struct call call;
	struct buf head; /* what came and is not taken yet */
	struct buf body; /* has its whole room from the start */
	struct buf out;
	uint32_t ask;	    /* at the monitor; 0: none */
	int content;	    /* owned: the answer's; -1: none */
	size_t content_at;  /* read so far */
	size_t content_end; /* its size */
};

struct porter {
	struct loop *loop;
	struct channel *monitor;
	LIST_HEAD(, conn) conns;
	unsigned n_conns;
	bool has_uid; /* the one for whom we read */
	uint32_t uid;
};

/* `fd` becomes the connection's own, also where there is no room for it. */
void conn_begin(struct porter *p, int fd, uint32_t uid, uint8_t rights);

void conn_close(struct conn *c);

#endif
