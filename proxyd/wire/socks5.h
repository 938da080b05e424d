/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client of a SOCKS5 proxy says before its connection begins: which ways
 * to authenticate it has, user and password, and where it wants to go.  Of the
 * commands CONNECT alone is served.
 *
 * Source: RFC 1928 3, 4, 6; RFC 1929 2.
 * Pure: no allocation, no I/O, no state between calls.
 */
#ifndef WIRE_SOCKS5_H
#define WIRE_SOCKS5_H

#include "base/attr.h"
#include "base/parse.h"
#include "base/slice.h"
#include "base/wr.h"
#include "wire/host.h"

#define SOCKS5_VERSION 5 /* the first byte of a greeting and of a request */

/* The longest of the three: a version, and two texts behind their lengths. */
#define SOCKS5_MAX (1 + 2 * (1 + 255))

enum socks5_method {
	SOCKS5_OPEN = 0,
	SOCKS5_PASSWORD = 2,
	SOCKS5_NO_METHOD = 0xff,
};

enum socks5_reply {
	SOCKS5_SUCCEEDED = 0,
	SOCKS5_FAILED = 1,
	SOCKS5_DENIED = 2, /* "not allowed by ruleset" */
	SOCKS5_NO_COMMAND = 7,
	SOCKS5_NO_ADDRESS_TYPE = 8,
};

struct socks5_greeting {
	bool has_open, has_password; /* others may be there: not served */
};

struct socks5_password {
	struct slice user, password; /* any bytes; each may be empty */
};

struct socks5_request {
	struct host host; /* a name, or an address in whatever form it came */
	uint16_t port;	  /* 1..65535 */
};

/*
 * Each reads one message from the first byte of `in`, which may be more.  The
 * output is set on PARSE_DONE only, and points into `in`; `used` likewise: its
 * bytes.  `fail` is set on PARSE_BAD only; its reason is REASON_PROXY_PROTOCOL.
 */
MUST_USE enum parse socks5_greeting_take(struct slice in,
    struct socks5_greeting *g, size_t *used, struct parse_fail *fail);
MUST_USE enum parse socks5_password_take(struct slice in,
    struct socks5_password *p, size_t *used, struct parse_fail *fail);
/* reply: set on PARSE_BAD only: what tells the client so. */
MUST_USE enum parse socks5_request_take(struct slice in,
    struct socks5_request *r, size_t *used, enum socks5_reply *reply,
    struct parse_fail *fail);

/* Our answers: the method chosen; is the password right; what comes of it. */
void socks5_put_method(struct wr *w, enum socks5_method method);
void socks5_put_verdict(struct wr *w, bool right);
/* With no address of ours: nothing is bound, and clients do not look at it. */
void socks5_put_reply(struct wr *w, enum socks5_reply reply);

#endif
