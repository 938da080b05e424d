/* SPDX-License-Identifier: Apache-2.0 */
/* Streams over the scripted peers of a world. */
#ifndef PLAY_PEER_H
#define PLAY_PEER_H

#include "world.h"

struct scripted {
	struct stream base; /* first */
	struct peer *peer;  /* NULL: given to another stream */
};

void peer_init(struct peer *p, struct world *w);
void peer_release(struct peer *p);

/* A new stream with this peer on its other end. */
struct stream *peer_stream(struct peer *peer);

#endif
