/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which host patterns of a program match a name: exact names, `*.` (one more
 * label) and `**.` (one or more) before a name, a bare `**`, and literal
 * addresses.
 *
 * The patterns hang in a tree of labels read from the right, so a look-up is
 * one walk whatever the number of rules.  A wildcard covers no label with an
 * underscore and no `xn--` label: such names want an exact rule.  Deny rules
 * are the exception, else such a label would lift them.
 * Pure.
 */
#ifndef POLICY_HOSTSET_H
#define POLICY_HOSTSET_H

#include "base/attr.h"
#include "policy/image.h"

/* A name has at most 127 labels: a `**` at each, one `*`, one exact. */
#define HOSTSET_MATCHES_MAX 130

struct host_match {
	uint32_t host;	/* record of TABLE_HOSTS */
	bool deny_only; /* it counts for deny rules alone: see above */
};

struct host_matches {
	uint32_t n;
	struct host_match at[HOSTSET_MATCHES_MAX]; /* most specific first */
};

/* All patterns that match `name`, canonical: a name or text of an address. */
void hostset_match(const struct image *m, struct slice name,
    struct host_matches *found);

/* The pattern of that literal address, or IMAGE_NONE. */
struct ip;
uint32_t hostset_literal(const struct image *m, const struct ip *ip);

/* The synthetic address of a pattern; false: it has none, being a literal. */
bool hostset_address(const struct image *m, uint32_t host, struct ip *ip);

/* The pattern of that synthetic address, or IMAGE_NONE. */
uint32_t hostset_by_address(const struct image *m, const struct ip *ip);

/* All patterns that match whatever pattern `host` matches, itself too. */
void hostset_covering(const struct image *m, uint32_t host,
    struct host_matches *found);

/* By which the labels of one parent are sorted. */
uint32_t hostset_hash(struct slice label);

/*
 * May the labels `covered`, such as "a.b", be covered by a wildcard of an
 * allow rule?
 */
bool hostset_may_cover(struct slice covered);

/*
 * Does one pattern, given as kind and the text behind its wildcard, match
 * `name`?  For allow rules and what is like them.
 */
bool hostset_one(enum host_kind kind, struct slice text, struct slice name);

#endif
