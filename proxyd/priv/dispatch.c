/* SPDX-License-Identifier: Apache-2.0 */
#include "priv/dispatch.h"

#define M (1U << ROLE_MONITOR)
#define R (1U << ROLE_STEWARD)
#define C (1U << ROLE_CLERK)
#define W (1U << ROLE_WORKER)
#define D (1U << ROLE_DIALER)
#define K (1U << ROLE_KEEPER)
#define S (1U << ROLE_SCRIBE)
#define P (1U << ROLE_PORTER)

/* clang-format off */
static const struct {
	const char *name;
	unsigned from, to; /* sets of roles */
} rows[OP_MAX + 1] = {
	[OP_CHANNEL] = { "CHANNEL", M, W | D | K | S },
	[OP_PING] = { "PING", M, R | C | W | D | K | S | P },
	[OP_PONG] = { "PONG", R | C | W | D | K | S | P, M },
	[OP_READY] = { "READY", R | C | W | D | K | S | P, M },

	[OP_LOAD_OWNER] = { "LOAD_OWNER", M, R },
	[OP_LOAD_POLICY] = { "LOAD_POLICY", M, C },
	[OP_LOADED] = { "LOADED", R | C, M },
	[OP_INCLUDE] = { "INCLUDE", R | C, M },
	[OP_INCLUDED] = { "INCLUDED", M, R | C },

	[OP_OWNER] = { "OWNER", M, W | D | K },
	[OP_PROGRAM] = { "PROGRAM", M, W | D | K | S },
	[OP_SANDBOX] = { "SANDBOX", M, W },
	[OP_ENTRY] = { "ENTRY", M, W },
	[OP_SECRET] = { "SECRET", M, K },
	[OP_SECRET_ENDED] = { "SECRET_ENDED", M, K },
	[OP_FRESH] = { "FRESH", K, M },
	[OP_STATE] = { "STATE", M, K },
	[OP_CA] = { "CA", M, K },
	[OP_CA_TAKEN] = { "CA_TAKEN", K, M },
	[OP_LOG] = { "LOG", M, S },
	[OP_TRUST] = { "TRUST", K, M },
	[OP_NAME] = { "NAME", M, D | K | S },
	[OP_RESOLVERS] = { "RESOLVERS", M, D },
	[OP_FORGET] = { "FORGET", M, W | D | K },

	[OP_DIAL] = { "DIAL", W, D },
	[OP_DIALED] = { "DIALED", D, W },
	[OP_TELL] = { "TELL", D, K },
	[OP_TOLD] = { "TOLD", K, D },
	[OP_LEAF] = { "LEAF", W, K },
	[OP_LEAFED] = { "LEAFED", K, W },
	[OP_RELEASE] = { "RELEASE", W, K },
	[OP_RELEASED] = { "RELEASED", K, W },
	[OP_SPOOL] = { "SPOOL", W, M },
	[OP_SPOOLED] = { "SPOOLED", M, W },

	[OP_EVENT] = { "EVENT", M | W | D | K, S },
	[OP_EVENTS] = { "EVENTS", W | D | K, S },
	[OP_WRITTEN] = { "WRITTEN", S, M | W | D | K },
	[OP_STATUS] = { "STATUS", S, M | W | D | K },
	[OP_TALLY] = { "TALLY", S, M },
	[OP_CERTIFY] = { "CERTIFY", S, K },
	[OP_CERTIFIED] = { "CERTIFIED", K, S },

	[OP_CONTROL] = { "CONTROL", M, P },
	[OP_REQUEST] = { "REQUEST", P, M },
	[OP_ANSWER] = { "ANSWER", M, P },
};
/* clang-format on */

bool
dispatch_may(enum role from, enum role to, uint16_t op)
{
	return from < ROLE_COUNT && to < ROLE_COUNT && op <= OP_MAX &&
	    (rows[op].from & 1U << from) != 0 && (rows[op].to & 1U << to) != 0;
}

const char *
dispatch_op_name(uint16_t op)
{
	return op <= OP_MAX && rows[op].name != NULL ? rows[op].name : "?";
}
