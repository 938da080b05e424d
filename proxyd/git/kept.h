/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the trees in a pack: are the entries that `keep:` names still the
 * base's?  Mode and name of an object are compared, not its content, so a
 * folder is the same if everything below it is.
 *
 * The base is a commit for which the caller answers: the old tip of the ref
 * that is updated; for a new branch a commit that ancestry_descends() has shown
 * to be in the history of a branch of the upstream's that this sandbox cannot
 * write.  A commit only because the upstream has it is no base: requests of
 * strangers are in its storage too.
 *
 * Letter case: an entry that differs in nothing else from one that is kept is
 * compared as well, so that no second `.GitHub` appears, which some systems
 * would write over `.github`.
 */
#ifndef GIT_KEPT_H
#define GIT_KEPT_H

#include "git/proof.h"

/*
 * Are the entries that `pattern` names the same in commit `tip` as in commit
 * `base`: none more, none less, none another?
 *
 * pattern  as pathglob_compile() made it of a slash and a path from the top;
 *	    a final `**` means the folder itself.  Where `**` stands elsewhere
 *	    everything from there down is kept
 *
 * PROOF_OPEN if commits or trees are not in the packs: `beyond` has their
 * names, and in `depth` how far below them trees would be looked at.
 */
MUST_USE enum proof kept_same(const struct packs *packs, const struct oid *tip,
    const struct oid *base, struct slice pattern, struct beyond *beyond);

#endif
