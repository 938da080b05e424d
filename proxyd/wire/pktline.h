/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pkt-line framing of the git wire protocol.
 *
 * Source: gitprotocol-common(5), "pkt-line Format"; gitprotocol-v2(5) for the
 * delimiter and response-end packets.
 * Pure: no allocation, no I/O, no state between calls.
 */
#ifndef WIRE_PKTLINE_H
#define WIRE_PKTLINE_H

#include "base/attr.h"
#include "base/parse.h"
#include "base/slice.h"

#define PKTLINE_HEAD 4	  /* bytes: the length digits */
#define PKTLINE_MAX 65520 /* bytes on the wire, the length digits included */

enum pktline_kind {
	PKTLINE_DATA,
	PKTLINE_FLUSH,	      /* 0000 */
	PKTLINE_DELIM,	      /* 0001 */
	PKTLINE_RESPONSE_END, /* 0002 */
};

struct pktline {
	enum pktline_kind kind;
	struct slice data; /* payload, 0..65516 bytes; empty unless DATA */
};

/*
 * Take one pkt-line off the front of `in`.  Digits in either case.
 *
 * in	 what has arrived so far; borrowed, not modified
 * line	 set on PARSE_DONE only; line->data points into `in`
 * used	 set on PARSE_DONE only: bytes to drop from `in`, 4..PKTLINE_MAX
 * fail	 set on PARSE_BAD only; reason REASON_GIT_MALFORMED
 */
MUST_USE enum parse pktline_take(struct slice in, struct pktline *line,
    size_t *used, struct parse_fail *fail);

/*
 * The length digits of a line with `n` bytes of payload, at most
 * PKTLINE_MAX - PKTLINE_HEAD, in lower case.
 */
void pktline_head(size_t n, uint8_t out[PKTLINE_HEAD]);

/* The payload without the one LF that may end it. */
struct slice pktline_chomp(struct slice data);

#endif
