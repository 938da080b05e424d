/* SPDX-License-Identifier: Apache-2.0 */
/*
 * THE table of a flow's phases.
 *
 *  phase   waits for                       limit    then
 *  ENTRY   where a client of a proxy goes  entry    PEEK SERVE REFUSE CLOSE
 *  PEEK    the first bytes, whole          hello    JUDGE CLOSE
 *  JUDGE   nothing: policy is pure         -        CHOOSE SHAKE SERVE DIAL
 *                                                   REFUSE CLOSE
 *  DIAL    an upstream (tls, tcp rules)    dial     PASS CLOSE
 *  PASS    bytes either way, unread        idle     CLOSE
 *  CHOOSE  what the origin chooses (ALPN)  dial     SHAKE REFUSE CLOSE
 *  SHAKE   our leaf, then our handshake    dial     SERVE REFUSE CLOSE
 *  SERVE   exchanges, in the clear         theirs   REFUSE CLOSE
 *  REFUSE  our alert or answer to leave    drain    CLOSE
 *  CLOSE   nothing: the loop reaps it      -        -
 *
 * On a name and port with a `tcp` rule PEEK looks at nothing: the server may
 * speak first.
 *
 * REFUSE is also the way out behind any answer that ends a connection: our end
 * is announced, and what the client still sends is dropped for a while.
 */
#ifndef FLOW_PHASE_H
#define FLOW_PHASE_H

#include <stdbool.h>
#include <stdint.h>

enum phase {
	PHASE_ENTRY,
	PHASE_PEEK,
	PHASE_JUDGE,
	PHASE_DIAL,
	PHASE_PASS,
	PHASE_CHOOSE,
	PHASE_SHAKE,
	PHASE_SERVE,
	PHASE_REFUSE,
	PHASE_CLOSE,
	PHASE_COUNT
};

const char *phase_name(enum phase p);

/* Armed on entering, in milliseconds; 0: not armed. */
uint64_t phase_limit_ms(enum phase p);

bool phase_may_follow(enum phase from, enum phase to);

#endif
