/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conditions of a rule's `query:`, over the decoded keys and values of
 * wire/query.h.
 *
 * Under an allow rule a judged key stands once, none of its letters, digits,
 * `-._~` escaped, and no other key stands beside unless `others: allow`; a
 * query with a raw `;` fits no condition, since some origins split there too.
 * A deny rule matches if one of several values does, whatever stands beside.
 *
 * A glob matches a whole value: `*` a non-empty run without a slash, `**` any
 * run, an empty one too.  Values with control characters match no glob.  Time
 * is bounded by the product of the two lengths.
 * Pure.
 */
#ifndef POLICY_QUERYCOND_H
#define POLICY_QUERYCOND_H

#include "base/attr.h"
#include "policy/image.h"

#define QUERYCOND_GLOB_MAX 255 /* bytes of a compiled glob */
#define QUERYCOND_STAR 0x01
#define QUERYCOND_DOUBLE 0x02

/*
 * Compile a glob; escapes in it are decoded, so that `%2A` is a literal star.
 *
 * out	 room for QUERYCOND_GLOB_MAX bytes; `n` is set
 * why	 set on false: a literal for people
 */
MUST_USE bool querycond_compile(struct slice text, uint8_t *out, size_t *n,
    const char **why);

/* Does a compiled glob match what is encoded in `raw`? */
bool querycond_glob(struct slice glob, struct slice raw);

/*
 * Do the conditions of rule `rule` hold?
 *
 * query   checked by wire/query.h; empty if there is none
 * key     set on false: the key that fails, as in the rule or the request
 */
bool querycond_match(const struct image *m, uint32_t rule, struct slice query,
    struct slice *key);

/* Does rule `rule` compare the value of this key, as sent, with globs? */
bool querycond_judges_value(const struct image *m, uint32_t rule,
    struct slice key);

#endif
