/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The query of a request target: its grammar, its pairs, and comparison of
 * their decoded forms; and pairs written.  What is not ours is sent as it came.
 *
 * Pairs are split at `&` and at their first `=` before anything is decoded, so
 * that %26 stays data.  Decoded, `+` and %20 are a blank.
 *
 * Source: RFC 3986 3.4; application/x-www-form-urlencoded as browsers write it.
 * Pure: no allocation, no I/O, no state between calls.
 */
#ifndef WIRE_QUERY_H
#define WIRE_QUERY_H

#include "base/attr.h"
#include "base/parse.h"
#include "base/slice.h"
#include "base/wr.h"

/*
 * Check the bytes of a query (what follows the first `?`, without it): visible
 * ASCII but # and \, escapes with two hex digits, never %00.
 *
 * Returns PARSE_DONE, or PARSE_BAD with REASON_HTTP_PATH_INVALID.
 */
MUST_USE enum parse query_check(struct slice in, struct parse_fail *fail);

struct query_pair {
	struct slice key;   /* as sent, escapes and all */
	struct slice value; /* as sent; empty if there is none */
	bool has_value;	    /* there was a `=` */
};

/*
 * Take the next pair off the front of a checked query; false at the end.
 * Nothing between two `&` is no pair.
 */
bool query_take(struct slice *rest, struct query_pair *pair);

/* Take one decoded byte, 0..255, off a key or value; -1 at the end. */
int query_take_char(struct slice *rest);

/* Equal once both are decoded. */
bool query_eq(struct slice a, struct slice b);

/* Equal once `raw` is decoded; `plain` is the decoded text itself. */
bool query_is(struct slice raw, struct slice plain);

/* The same, whatever the case of ASCII letters. */
bool query_is_fold(struct slice raw, struct slice plain);

/* Append a pair as it was sent, behind `&` if there is one before it. */
void query_put_pair(struct wr *w, const struct query_pair *pair);

/* Append `name=value`, each byte that is not unreserved escaped. */
void query_put(struct wr *w, struct slice name, struct slice value);

/* How many bytes query_put() writes. */
size_t query_put_size(struct slice name, struct slice value);

/*
 * True if this is the one spelling that a judged key may have: unreserved
 * characters plain, all others escaped with hex digits in upper case.
 */
bool query_is_canonical(struct slice raw);

/* How often a key occurs in a checked query, in any spelling. */
size_t query_count(struct slice query, struct slice plain_key);

#endif
