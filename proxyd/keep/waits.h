/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to release that wait for a secret that is under way, as they came:
 * LIMIT_RELEASES_WAITING at most.  Who is told of it judges them again.
 */
#ifndef KEEP_WAITS_H
#define KEEP_WAITS_H

#include <sys/queue.h>

#include "keep/grant.h"

#define WAITS_BODY_MAX 512 /* bytes of a RELEASE that may wait */

struct waiting {
	LIST_ENTRY(waiting) entry;
	struct channel *from; /* borrowed; NULL: it is gone */
	uint32_t credential, sandbox;
	uint32_t id; /* of the request */
	int fd;	     /* owned */
	size_t n;
	uint8_t body[WAITS_BODY_MAX];
};

struct waits {
	LIST_HEAD(waiting_list, waiting) all; /* owned */
	unsigned n;
};

void waits_init(struct waits *w);
void waits_release(struct waits *w);

/* Keep `m`, which `g` was read from.  False: there is no room. */
MUST_USE bool waits_put(struct waits *w, struct channel *from,
    const struct msg *m, const struct grant *g);

/* The message that it was; lives as long as it. */
struct msg waits_msg(const struct waiting *q);
void waits_drop(struct waits *w, struct waiting *q);

/* `from` is going: nothing is answered to it any more. */
void waits_forget(struct waits *w, const struct channel *from);

#endif
