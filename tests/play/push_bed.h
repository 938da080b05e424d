/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushes to git.test by three rules: a/free, whose pack nothing reads, a/read,
 * whose pack is read as it passes, and a/held, whose pack waits for its end.
 */
#ifndef PLAY_PUSH_BED_H
#define PLAY_PUSH_BED_H

#include "policy_bed.h"
#include "row.h"
#include "world.h"

#define Z40 "0000000000000000000000000000000000000000"
#define O40 "1111111111111111111111111111111111111111"

/* A list that is allowed, one that is not, and a pack without an object. */
#define LIST "007a" Z40 " " O40 " refs/heads/x\0 report-status-v2 quiet0000"
#define DENIED             \
	"0084" Z40 " " O40 \
	" refs/heads/nonono\0 report-status side-band-64k0000"
#define PACK                                                                   \
	"PACK\0\0\0\2\0\0\0\0\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a" \
	"\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e"
#define BYTES(text) slice_of(text, sizeof(text) - 1)

/* The server's report of the push above. */
extern const struct slice push_report;

/* What no upstream may see. */
#define NEVER "nonono"

bool has(const struct buf *b, struct slice text);
void begin(struct world *w, struct bed *b);
void finish(struct world *w, struct bed *b);
void connect_to_git(struct world *w);

/* What a peer says, and a turn later. */
void say(struct world *w, struct peer *p, struct slice text);
void say_head(struct world *w, const char *repository, size_t length);

#endif
