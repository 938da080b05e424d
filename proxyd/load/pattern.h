/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URL patterns and host patterns: text to values, through the same
 * constructors that read the wire.
 */
#ifndef LOAD_PATTERN_H
#define LOAD_PATTERN_H

#include "load/read.h"

/*
 * Read such as `https://api.example.com/v1/x`, with wildcards in host and path.
 *
 * wide	 a wildcard may cover a public suffix
 *
 * False if there was a complaint.
 */
bool pattern_read(const struct read *r, const struct doc_node *node, bool wide,
    struct load_pattern *pattern);

/* Is it a wildcard right over a public suffix: whose names are anybody's? */
bool pattern_over_suffix(const struct load_host *host);

/* In lower case, in the arena. */
struct slice pattern_lowered(struct arena *a, struct slice text);

/* Read a host pattern alone, for the `names:` of an upstream. */
bool pattern_read_host(const struct read *r, const struct doc_node *node,
    struct load_host *host);

/* Does `a` match every name that `b` matches? */
bool pattern_host_covers(const struct load_host *a, const struct load_host *b);

/* Does `a` match every request that `b` matches, method and query aside? */
bool pattern_covers(const struct load_pattern *a, const struct load_pattern *b);

#endif
