/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answerer of one sandbox: dns/answer.h over UDP and TCP sockets that were
 * made inside its namespace and handed to us.
 *
 * LIMIT_QUESTIONS_PER_S questions a second, in bursts of twice that; above it
 * a datagram is dropped and a connection closed.  Of a stream every message is
 * judged, however it was cut into segments; connections have a limit in number
 * (DNS_STREAMS_MAX) and in time without a whole message (DNS_STREAM_IDLE_MS).
 */
#ifndef DNS_SERVER_H
#define DNS_SERVER_H

#include "audit/event.h"
#include "audit/facts_event.h"
#include "dns/answer.h"
#include "net/loop.h"

#define DNS_STREAMS_MAX 64	 /* TCP connections of a sandbox */
#define DNS_STREAM_IDLE_MS 10000 /* for the next message, whole */

struct dns_server;

/* The sockets of OP_SANDBOX; -1 where there is none. */
struct dns_sockets {
	int udp[2]; /* IPv4, IPv6; bound */
	int tcp[2]; /* IPv4, IPv6; listening */
};

/* A question was refused; `said` lives for the call.  It is to be recorded. */
typedef void dns_on_refused(const struct dns_said *said, void *arg);

/*
 * The sockets become the server's own, and are closed on failure too.
 *
 * p	 borrowed until dns_server_set_program() or dns_server_free()
 *
 * NULL with ERR_MEMORY, ERR_FULL or ERR_SYSTEM.
 */
MUST_USE struct dns_server *dns_server_new(struct loop *l,
    const struct dns_sockets *sockets, const struct program *p,
    dns_on_refused *on_refused, void *arg, enum err *err);
void dns_server_free(struct dns_server *s);

/* From now on answer by this program. */
void dns_server_set_program(struct dns_server *s, const struct program *p);

/* How many questions were allowed since the last call (for flow.begin). */
uint64_t dns_server_take_allowed(struct dns_server *s);

/*
 * The record of a refused question, but for SANDBOX, POLICY, PROGRAM and
 * GENERATION, which are the caller's to add.  `text` lives as long as `e`.
 */
void dns_said_event(const struct program *p, const struct dns_said *said,
    struct facts_text *text, struct event *e);

#endif
