/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request target in its four forms, and the authority: host and port.
 *
 * Source: RFC 9112 3.2, 3.3; RFC 3986 3.2.  Userinfo does not exist here.
 * Pure: no allocation, no I/O, no state between calls.
 */
#ifndef WIRE_TARGET_H
#define WIRE_TARGET_H

#include "base/attr.h"
#include "base/parse.h"
#include "base/slice.h"
#include "wire/host.h"

struct target_authority {
	struct host host;
	bool has_port;
	uint16_t port; /* 0 unless has_port, then 1..65535 */
};

enum target_form {
	TARGET_ORIGIN,	  /* /path?query: the one that is sent on */
	TARGET_ABSOLUTE,  /* scheme://authority/path?query */
	TARGET_AUTHORITY, /* host:port, for CONNECT */
	TARGET_ASTERISK,  /* *, for OPTIONS */
};

struct target {
	enum target_form form;
	struct slice scheme; /* ABSOLUTE only, as sent: any case */
	struct target_authority authority; /* ABSOLUTE and AUTHORITY only */
	struct slice path;  /* ORIGIN and ABSOLUTE: as sent, or "/" if absent;
			    * goes to urlpath_canon() next */
	struct slice query; /* behind the first `?`; goes to query_check() */
	bool has_query;	    /* there was a `?` */
};

/*
 * Read an authority: a host, perhaps a colon and a port of digits alone,
 * without leading zero, 1 to 65535.
 *
 * a	 set on PARSE_DONE only
 * fail	 set on PARSE_BAD only; REASON_HTTP_MALFORMED, `at` is in `in`
 */
MUST_USE enum parse target_authority(struct slice in,
    struct target_authority *a, struct parse_fail *fail);

/*
 * Tell the form of a whole request target and split it.
 *
 * t	 set on PARSE_DONE only; points into `in` (or at a literal "/")
 * fail	 set on PARSE_BAD only; REASON_HTTP_MALFORMED
 */
MUST_USE enum parse target_parse(struct slice in, struct target *t,
    struct parse_fail *fail);

#endif
