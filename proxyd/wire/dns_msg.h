/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS messages of a sandbox: one question read, one answer written.  Answers
 * of upstream resolvers are not read here.
 *
 * Source: RFC 1035 4; RFC 6891 6 (EDNS); RFC 2308 (negative answers).
 * Pure: no allocation, no I/O, no state between calls.
 */
#ifndef WIRE_DNS_MSG_H
#define WIRE_DNS_MSG_H

#include "base/attr.h"
#include "base/ip.h"
#include "base/parse.h"
#include "base/slice.h"
#include "base/wr.h"

#define DNS_NAME_MAX 255   /* bytes on the wire, the root's zero included */
#define DNS_QUERY_MAX 4096 /* bytes of a question that is read at all */
#define DNS_ANSWER_MAX 512 /* bytes of the largest answer: all fit */

enum dns_type {
	DNS_A = 1,
	DNS_AAAA = 28,
};

enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16, /* EDNS: its upper bits stand in the OPT record */
};

struct dns_query {
	uint16_t id;
	uint8_t opcode;
	bool recurse;	       /* RD: copied into the answer */
	struct slice name;     /* labels as on the wire, with the root's zero;
				* goes to host_from_dns(); empty: not readable */
	struct slice question; /* name, type and class, as sent */
	uint16_t type;
	bool has_edns;
};

/*
 * Read a message from a sandbox.
 *
 * in	  the datagram, or one message of a stream; borrowed
 * q	  set as far as could be read, also on PARSE_BAD; points into `in`
 * rcode  set on PARSE_BAD only: what to answer
 * fail	  set on PARSE_BAD only; REASON_DNS_MALFORMED
 *
 * PARSE_DONE: one question, class IN, opcode QUERY.  PARSE_MORE: not even a
 * header, or an answer: nothing is to be said.
 */
MUST_USE enum parse dns_query_parse(struct slice in, struct dns_query *q,
    enum dns_rcode *rcode, struct parse_fail *fail);

/*
 * Take one message off a TCP stream: two bytes of length, then the message.
 * One longer than DNS_QUERY_MAX or empty is PARSE_BAD: close the stream.
 */
MUST_USE enum parse dns_stream_take(struct slice in, struct slice *msg,
    size_t *used, struct parse_fail *fail);

struct dns_answer {
	enum dns_rcode rcode;
	struct ip ip;	/* the one address; family 0: none */
	uint32_t ttl_s; /* of the address, or of there being none */
};

/*
 * Append the answer to `q`: an A or AAAA record if the address fits the type
 * that was asked for, else an SOA record that lets NODATA or NXDOMAIN be kept
 * for ttl_s.  At most DNS_ANSWER_MAX bytes.
 */
void dns_put_answer(struct wr *w, const struct dns_query *q,
    const struct dns_answer *a);

#endif
