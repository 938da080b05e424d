/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection that passes unread (`tls` and `tcp` rules): its dial, and then
 * its bytes both ways.  What goes wrong is a reset to both sides, since
 * nothing can be said in a protocol that nobody here knows.
 */
#ifndef FLOW_PASS_H
#define FLOW_PASS_H

#include "flow/flow.h"
#include "net/splice.h"

struct pass {
	struct stream *upstream; /* owned; NULL: not dialled yet */
	struct splice *splice;	 /* owned; NULL: not begun */
	bool asked;		 /* the dialer was */
	enum reason failed;	 /* why there is no upstream; else ALLOW */
	char detail[STREAM_TEXT_SIZE];	/* of that, for people */
	char address[STREAM_PEER_SIZE]; /* of the upstream */
	uint64_t cookie;		/* of its socket */
	uint64_t n_moved;		/* bytes of both when last looked */
	uint64_t n_counted; /* bytes to the upstream that were spent */
	struct spend spend; /* of the limits of its rule */
};

/*
 * In PASS, once the command is gone and nobody will read any more: true if
 * nothing is left to be done, since all that the client has sent was passed on,
 * and its end.
 */
bool pass_is_over(struct flow *f);

/* The flow ends: close what it has of all this, and count its bytes. */
void pass_close(struct flow *f);

#endif
