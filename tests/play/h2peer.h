/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer of the world that speaks HTTP/2 by itself: nghttp2 over its bytes.
 * What it got is fed in by h2peer_turn(), which also puts what it has to say.
 */
#ifndef PLAY_H2PEER_H
#define PLAY_H2PEER_H

#include <nghttp2/nghttp2.h>

#include "world.h"

#define H2PEER_STREAMS 64 /* whose heads it remembers */

struct h2peer {
	nghttp2_session *session; /* owned; NULL: it speaks no HTTP/2 yet */
	struct peer *peer;	  /* borrowed */
	size_t seen;		  /* bytes of peer->got that were fed in */
	bool is_over;		  /* it was told nonsense, or GOAWAY */
	bool is_gone;		  /* it reads nothing and says nothing */
	/* A server: requests that came whole and are not answered. */
	int32_t asked[H2PEER_STREAMS];
	size_t n_asked;
	/* What it was told, over all streams. */
	size_t n_heads, n_trailers, n_ends, n_resets, n_data, n_pings;
	size_t n_secret; /* fields and bodies with `needle` in them */
	const char *needle;
	struct h2text *texts; /* owned; the bodies that it sends */
};

/* Begin to speak, once; the preface and SETTINGS are put. */
void h2peer_begin(struct h2peer *h, struct peer *p, bool is_server);
void h2peer_release(struct h2peer *h);

/* Take what came, put what there is to say; then the world may turn. */
void h2peer_turn(struct h2peer *h);

/*
 * A client's request; `body` NULL: none, else it is there for good.  Returns
 * its stream.
 */
int32_t h2peer_ask(struct h2peer *h, const char *method, const char *authority,
    const char *path, const char *body);

/* A server's answer to the oldest request; false: there is none. */
bool h2peer_answer(struct h2peer *h, const char *status, const char *body,
    bool trailers);
/* ... with RST_STREAM. */
bool h2peer_reset(struct h2peer *h, uint32_t code);

#endif
