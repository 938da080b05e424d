/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dials that the dialer told of, by the cookie of their socket
 * (SO_COOKIE): a number that the kernel gives once, that nobody can choose, and
 * that both ends of a passed descriptor see.
 *
 * TOLD_MAX are kept; the one that was told or asked for longest ago goes first.
 * A connection whose dial was forgotten gets no credential any more; its worker
 * dials anew.
 */
#ifndef KEEP_TOLD_H
#define KEEP_TOLD_H

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

#define TOLD_MAX 8192
#define TOLD_HOST_MAX 253 /* bytes of a name */

/* One dial. */
struct told_dial {
	uint64_t cookie;
	uint32_t sandbox, generation;
	uint16_t port;
	uint8_t host_n;
	uint8_t host[TOLD_HOST_MAX]; /* canonical */
};

struct told;

MUST_USE struct told *told_new(enum err *err); /* NULL: ERR_MEMORY */
void told_free(struct told *t);

/* Remember one; a cookie that is there already is overwritten.  False: there is
 * no memory for a single one. */
MUST_USE bool told_put(struct told *t, const struct told_dial *dial);

/*
 * Until then (clock_ms) a cookie that is not known may be one that a keeper
 * before us was told of: refused, but no sign of a forger.
 */
void told_forgive(struct told *t, uint64_t until_ms);
bool told_may_have_forgotten(const struct told *t);

/* Forget the dials of a sandbox: its number may be given to another one. */
void told_forget(struct told *t, uint32_t sandbox);

/* The dial of that cookie, until the next put; or NULL. */
const struct told_dial *told_find(struct told *t, uint64_t cookie);

#endif
