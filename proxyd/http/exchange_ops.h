/* SPDX-License-Identifier: Apache-2.0 */
/* The questions that an exchange (http/exchange.h) puts to its owner. */
#ifndef HTTP_EXCHANGE_OPS_H
#define HTTP_EXCHANGE_OPS_H

#include "base/buf.h"
#include "base/parse.h"
#include "net/stream.h"
#include "wire/field.h"

struct exchange;

/* What an exchange asks of its owner; `arg` is given to each. */
struct exchange_ops {
	/*
	 * The head was read (x->req), or can never be (x->is_bad, x->fail).
	 * Answer by exchange_allow() or exchange_refuse().
	 */
	void (*judge)(struct exchange *x, void *arg);
	/*
	 * READ, if judge set x->reads: before anything goes upstream the owner
	 * reads of the body what it has to know, by exchange_pull().  Called
	 * each time something happened, until it answers by exchange_allow()
	 * or exchange_refuse().
	 */
	void (*read)(struct exchange *x, void *arg);
	/*
	 * Behind exchange_feed(): the next bytes of the body that goes up, at
	 * most `room`, which is not 0.  PARSE_MORE without bytes: none for now.
	 * PARSE_DONE: it ends with these.  PARSE_BAD: it is cut, upstream sees
	 * no end of it.
	 */
	enum parse (*feed)(struct exchange *x, size_t room, struct slice *out,
	    struct parse_fail *fail, void *arg);
	/*
	 * An upstream connection is wanted, a new one if x->want_fresh.
	 * Answer by exchange_reached() or exchange_refuse().
	 */
	void (*reach)(struct exchange *x, void *arg);
	/* What is to be attached?  exchange_attached(), exchange_refuse(). */
	void (*attach)(struct exchange *x, void *arg);
	/* The head with the credentials was put: wipe them. */
	void (*sent)(struct exchange *x, void *arg);
	/*
	 * The response's head came (x->res), 1xx too: change its fields, add
	 * stages to x->down.  False: refuse it; x->refusal is filled in.
	 */
	bool (*answered)(struct exchange *x, void *arg);
	/*
	 * Trailers came, of the request (`up`) or of the answer; their
	 * memory is `head`: change what may not pass.  False with *fail set:
	 * they do not.
	 */
	bool (*trailers)(struct exchange *x, bool up,
	    const struct field_list *fields, struct buf *head,
	    struct parse_fail *fail);
	/* x->refusal is about to be put: its text may be changed. */
	void (*refusing)(struct exchange *x, void *arg);
	/* Everything ended well: the connection may be used again. */
	void (*keep)(struct exchange *x, struct stream *upstream, void *arg);
	/* Once, in DONE or GONE: forget pending questions, write the record. */
	void (*ended)(struct exchange *x, void *arg);
	void (*on_limit)(void *arg); /* the timer: call exchange_run() */
};

#endif
