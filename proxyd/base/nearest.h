/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was meant by a word that is unknown: the nearest of those that are
 * known, one or two slips away (a letter too much, too few, another one, two
 * exchanged; Damerau's and Levenshtein's distance, each part changed once).
 * Letters of either case are the same.
 * Pure.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include "base/slice.h"

struct nearest {
	struct slice text; /* the unknown word; borrowed */
	struct slice best; /* the nearest so far; borrowed; empty: none */
	size_t slips;	   /* a word with so many is too far */
};

struct nearest nearest_to(struct slice text);

/* Look at a word that is known; of equally near ones the first counts. */
void nearest_look(struct nearest *n, struct slice word);

/* For printf(): "; did you mean `WORD`?", or nothing. */
#define NEAREST_FMT "%s%.*s%s"
#define NEAREST_ARG(near)                                                     \
	(near).best.n == 0 ? "" : "; did you mean `", SLICE_ARG((near).best), \
	    (near).best.n == 0 ? "" : "`?"

#endif
