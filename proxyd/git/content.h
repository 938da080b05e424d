/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rule says about the commits, tags and files of a pushed pack: who
 * wrote them, whether they are signed, how large a file may be.
 *
 * Each commit and tag in the pack is looked at, reached from a tip or not, of
 * the server's own or not: what is sent is answered for.  A signature is only
 * seen to be there; the server, or who pulls, checks it.
 */
#ifndef GIT_CONTENT_H
#define GIT_CONTENT_H

#include "git/proof.h"

/* Patterns as pathglob_compile() made them of a slash and the text. */
struct content_rule {
	const struct slice *authors; /* borrowed; n 0: anybody */
	size_t n_authors;
	const struct slice *committers; /* likewise; of a tag, its tagger */
	size_t n_committers;
	bool is_signed;	   /* each commit and tag has a signature */
	uint64_t max_file; /* bytes; 0: any */
};

/*
 * Does the whole pack fit the rule?
 *
 * fail  set on PROOF_NO: REASON_GIT_PACK and what does not fit; `at` is the
 *	 offset of the entry, 0 for a file
 *
 * PROOF_OPEN if the pack has commits that were not kept, or deltas of a kind
 * that nobody knows, and the rule asks for more than `max_file`.
 */
MUST_USE enum proof content_fits(const struct packs *packs,
    const struct content_rule *rule, struct parse_fail *fail);

#endif
