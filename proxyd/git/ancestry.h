/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the commits in a pack: does the new tip descend from the old one, and
 * does every commit that is pushed belong to a tip.
 *
 * Nothing on the wire says "force": a fast-forward is what can be shown to be
 * one.  Only names computed from bytes that were read count, and of a commit
 * only the parents that git itself reads (git/commit.h).  `old` is the
 * client's claim; a server refuses an update of a ref that is not there.
 */
#ifndef GIT_ANCESTRY_H
#define GIT_ANCESTRY_H

#include "git/proof.h"

/*
 * Is `old` the tip, or one of its ancestors?  A tip that is a tag stands for
 * what it names.
 *
 * PROOF_OPEN if the walk met what is not in the packs: `beyond` has the names,
 * with depth 0.  A question with `old` as known to the asker answers it.
 */
MUST_USE enum proof ancestry_descends(const struct packs *packs,
    const struct oid *tip, const struct oid *old, struct beyond *beyond);

/*
 * Walk from `tip` to where it meets the history of `head`, as far as the packs
 * show both.
 *
 * bases  added: commits of that history, shown to be of it
 * ends	  added: commits that are in no pack and not known to be of it
 * seen	  added: these, and the first of those before: if one of them is of that
 *	  history all the same, the upstream knows
 */
void ancestry_meets(const struct packs *packs, const struct oid *tip,
    const struct oid *head, struct beyond *bases, struct beyond *ends,
    struct beyond *seen);

/*
 * Is every commit and tag of the pushed pack one of the `n` tips, or reached
 * from one?  Others are pushed without a ref, so no rule on refs speaks of
 * them, and the server keeps them.
 *
 * stray   set on PROOF_NO: one that is not reached
 *
 * PROOF_OPEN if the pack has commits that were not kept, or deltas of a kind
 * that nobody knows (from a thin pack: "no-thin" in the advertisement).
 */
MUST_USE enum proof ancestry_covers(const struct packs *packs,
    const struct oid *tips, size_t n, struct oid *stray);

#endif
