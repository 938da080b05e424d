/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What flows ask of the other roles, as a table: flow/asks_roles.h has the one
 * that goes over channels, tests/play one that is scripted.
 *
 * A callback is called exactly once, perhaps before the call that asks returns
 * (which then gives NULL), unless the question is cancelled.
 */
#ifndef FLOW_ASKS_H
#define FLOW_ASKS_H

#include "base/attr.h"
#include "base/reason.h"
#include "base/slice.h"
#include "wire/alpn.h"

struct event;
struct generation;
struct host;
struct sandbox;
struct stream;
struct asked; /* a question that waits for its answer */

/* An outward connection, asked of the dialer. */
struct dial_ask {
	const struct generation *generation; /* borrowed for the call */
	uint32_t rule;
	const struct host *host; /* borrowed for the call */
	bool name_it;		 /* the rule has not only this host */
	uint16_t port;
	bool tls; /* verified for `host` once the stream is ready */
	enum alpn_offer alpn;
	const char *flow; /* id, for the dialer's record */
};

struct dial_answer {
	enum reason reason;    /* ALLOW, or why there is none */
	struct slice detail;   /* for people */
	struct slice address;  /* text of what was dialled; may be empty */
	struct stream *stream; /* the callee's; perhaps not ready yet */
	uint64_t cookie;       /* of the socket: joins the roles' records */
};

/* A credential, asked of the keeper for an open dial. */
struct release_ask {
	const struct generation *generation; /* borrowed for the call */
	uint32_t rule, credential;
	struct stream *upstream; /* its socket is shown */
	const char *flow;
};

/* A server's side of TLS, with a leaf of the keeper's. */
struct shake_ask {
	const struct generation *generation; /* borrowed for the call */
	struct slice name;		     /* canonical; for the call */
	bool literal;			     /* it is the text of an address */
	bool refused;	       /* only to explain: the small mint budget */
	struct stream *client; /* what was peeked waits in it */
	enum alpn alpn;	       /* the protocol to choose */
	const char *flow;
};

typedef void asks_on_written(bool written, void *arg);
typedef void asks_on_dialled(const struct dial_answer *a, void *arg);
/* `value` is the slot's whole value; wiped by the asker's copy and behind it. */
typedef void asks_on_released(enum reason reason, struct slice value,
    void *arg);
/* `s` replaces the client's stream, which is closed; NULL: why not. */
typedef void asks_on_shaken(struct stream *s, enum reason reason, void *arg);
/* `fd` is the callee's: an empty file without a name.  -1: why there is none. */
typedef void asks_on_spooled(int fd, struct slice why, void *arg);

struct asks {
	/* REASON_ALLOW, or why nothing may be admitted at this moment. */
	enum reason (*may_admit)(void *arg);
	/*
	 * Is the scribe behind?  Then what is new waits; sandbox_run() is
	 * called when it no longer is.
	 */
	bool (*is_behind)(void *arg);
	/*
	 * Send a record.  With `on_written` it is called later, once, whatever
	 * becomes of the asker; false: it will not be, nothing was recorded.
	 */
	bool (*record)(void *arg, const struct event *e,
	    asks_on_written *on_written, void *cb_arg);
	struct asked *(*dial)(void *arg, struct sandbox *sb,
	    const struct dial_ask *ask, asks_on_dialled *on, void *cb_arg);
	struct asked *(*release)(void *arg, struct sandbox *sb,
	    const struct release_ask *ask, asks_on_released *on, void *cb_arg);
	struct asked *(*shake)(void *arg, struct sandbox *sb,
	    const struct shake_ask *ask, asks_on_shaken *on, void *cb_arg);
	/* A file for bytes that wait, of the monitor's making. */
	struct asked *(*spool)(void *arg, struct sandbox *sb,
	    asks_on_spooled *on, void *cb_arg);
	/* Forget a question; NULL does nothing. */
	void (*cancel)(void *arg, struct asked *asked);
	/* Was the stream verified for that host?  Before a credential. */
	bool (*is_verified)(void *arg, const struct stream *s,
	    const struct host *host);
	/*
	 * What an upstream chose, once its stream is ready; did it break since
	 * it speaks nothing that was offered?
	 */
	enum alpn (*alpn)(void *arg, const struct stream *s);
	bool (*speaks_none)(void *arg, const struct stream *s);
};

#endif
