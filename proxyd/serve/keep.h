/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes over a restart of the gateway: a file each, read again at the next
 * start, and attached as before with the same ports and placeholders.
 */
#ifndef SERVE_KEEP_H
#define SERVE_KEEP_H

#include "serve/state.h"

#define KEEP_MAX (3 << 20) /* bytes of a file: a request, its placeholders */

/* What is kept beside the request; slices are borrowed from what was read. */
struct kept {
	struct slice boot;	     /* of the machine */
	bool is_configured;	     /* by `sandboxes:`, nobody called */
	uint64_t net;		     /* the namespace's inode; 0: it has none */
	uint16_t tcp_port, dns_port; /* 0: none */
	struct slice places;	     /* placeholders, by variable */
	bool is_old;		     /* of another boot */
};

/* Write the file of a sandbox that is ready.  False: it cannot be, which was
 * said. */
MUST_USE bool keep_write(const struct box *b);
void keep_drop(const struct serve *s, const char *name);

/* For each that can be read, in the order of their names; others are said, and
 * stay. */
typedef void keep_found(struct serve *s, const struct control_attach *asked,
    const struct kept *k);
void keep_read(struct serve *s, keep_found *found);

/* The bytes of such a file, hostile; false: it is none. */
MUST_USE bool keep_parse(struct slice bytes, struct kept *k,
    struct control_attach *asked);

/* Its placeholders were made: put those of before in their places. */
void keep_places(struct box *b);

#endif
