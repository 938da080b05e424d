/* SPDX-License-Identifier: Apache-2.0 */
/* The events of one exchange: which can happen now, and that one does. */
#ifndef PLAY_ORDER_H
#define PLAY_ORDER_H

#include "policy_bed.h"
#include "world.h"

#define PIECES_MAX 128
#define EVENTS_MAX (4 * PIECES_MAX)

/*
 * What is said and what arrives.  Where every order is tried, `front` bytes
 * of each side come in two pieces and the others one by one, and each side
 * has `room` for so many bytes until it says otherwise.
 */
struct script {
	const char *name;
	bool tls, is_tunnel;
	const char *asks, *arrives, *answers, *returns;
	size_t front[2], room;
	enum alpn_offer offer;
};

enum token {
	CLIENT_SAYS,
	CLIENT_ENDS,
	CLIENT_TAKES,
	UPSTREAM_SAYS,
	UPSTREAM_ENDS,
	UPSTREAM_TAKES,
	ROLE_WRITTEN, /* as enum asked_kind from here on */
	ROLE_DIAL,
	ROLE_RELEASE,
	ROLE_SHAKE,
	GOES_WRONG,
	TOKEN_COUNT
};

enum wrong {
	WRONG_NOTHING,
	WRONG_CLIENT_BREAKS,
	WRONG_UPSTREAM_BREAKS,
	WRONG_UPSTREAM_ENDS,
	WRONG_DIAL,
	WRONG_RELEASE,
	WRONG_SCRIBE,
	WRONG_SHUTDOWN,
	WRONG_COUNT
};

struct pieces {
	struct slice at[PIECES_MAX];
	size_t n, said;
};

/* One order of events, as it was chosen; `of`: of how many. */
struct order {
	size_t n;
	uint8_t pick[EVENTS_MAX], of[EVENTS_MAX];
};

/* The next choice among `n`, as this order has it. */
size_t order_choose(struct order *o, size_t n);

/* On to the next order, the last choice first; false: that were all. */
bool order_next(struct order *o);

struct play {
	const struct script *script;
	struct world w;
	struct bed bed;
	struct pieces client, upstream;
	struct peer *other; /* the upstream; NULL: not dialled */
	enum wrong wrong;   /* still to happen ... */
	bool went_wrong;    /* ... or has */
	bool early;	    /* it answered before it had the whole request */
	uint32_t dice;	    /* 0: the order is given */
	bool coarse;	    /* then: few pieces */
	struct order order;
};

/* A number below `sides`. */
uint32_t roll(struct play *p, uint32_t sides);

bool may_happen(struct play *p, enum token t);
void happen(struct play *p, enum token t);

#endif
