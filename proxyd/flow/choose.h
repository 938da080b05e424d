/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CHOOSE: HTTP's versions are never translated, so what a client is given by
 * ALPN is what its origin chose.  A client that offers HTTP/2 to an origin whose
 * choice is not remembered has it dialled before our handshake; the connection
 * then waits in the pool for the first request.  Clients that offer the same to
 * the same origin meanwhile wait for that dial.
 *
 * A dial that fails ends nothing: the handshake is finished with what the
 * client likes best, and the first request is told why.
 */
#ifndef FLOW_CHOOSE_H
#define FLOW_CHOOSE_H

#include "flow/flow.h"

struct choose {
	struct host host;
	struct stream *upstream; /* owned; NULL: not dialled, or given away */
	bool asked;		 /* the dialer was */
	bool counted;		 /* among the sandbox's n_upstreams */
	enum reason failed;	 /* why there is none; else ALLOW */
	char detail[STREAM_TEXT_SIZE]; /* of that, for people */
};

/* Does this client, who was allowed in, have to wait for a choice? */
bool choose_is_needed(const struct flow *f);

/* Why the dial failed, told once; ALLOW: it did not. */
enum reason choose_take_failure(struct flow *f);

/* What is remembered has changed: those who wait look again. */
void choose_nudge(const struct sandbox *sb);

/* Close what it has and forget what it asked; its failure stays. */
void choose_close(struct flow *f);

#endif
