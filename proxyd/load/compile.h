/* SPDX-License-Identifier: Apache-2.0 */
/* From what was written to images. */
#ifndef LOAD_COMPILE_H
#define LOAD_COMPILE_H

#include "load/owner_text.h"
#include "load/rule.h"

/* The distinct hosts of a policy, and who has which. */
struct compile_hosts {
	const struct load_host **hosts; /* sorted: names, then literals */
	uint32_t n, n_names;
	uint32_t *of_route; /* host of each pattern, all rules in order */
	uint32_t n_routes;
	/* routes of host `i`: list[first[i]] to list[first[i + 1]], in order */
	uint32_t *first, *list;
	const struct load_rule **rules;	      /* of each route */
	const struct load_pattern **patterns; /* likewise */
};

/* All in the arena. */
void compile_hosts(struct compile_hosts *h, struct arena *a,
    const struct load_policy_text *policy);

/* False, with an error each, where one exact host and port has two kinds. */
bool compile_kinds(const struct compile_hosts *h, struct load_report *report);

/*
 * Mark the rules that an earlier one hides, and warn of them and of deny rules
 * that cut nothing, or all.
 */
void compile_hidden(struct compile_hosts *h, struct load_policy_text *policy,
    struct load_report *report);

/* The program; `owner` may be NULL.  False, with an error, if it is too big. */
bool compile_program(struct compile_hosts *h,
    const struct load_policy_text *policy, const struct load_policy_in *in,
    struct buf *image, struct load_report *report);

/* The owner's image.  False if it is too large. */
bool compile_owner(const struct load_owner_text *text, struct buf *image);

#endif
