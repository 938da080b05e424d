/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a proof over the objects of a push can say, and what it would have to
 * ask the upstream for.
 *
 * A proof is made from objects whose names were computed here: those of the
 * pack that is pushed and, after a question (git/question.h), those of the
 * answer.  PROOF_OPEN is no consent: what stays open is refused.
 */
#ifndef GIT_PROOF_H
#define GIT_PROOF_H

#include "base/limits.h"
#include "git/pack.h"

enum proof {
	PROOF_YES,  /* shown */
	PROOF_NO,   /* the contrary is shown */
	PROOF_OPEN, /* not shown, one way or the other */
};

/* Where objects are looked for. */
struct packs {
	struct pack *answers[LIMIT_PROOF_QUESTIONS]; /* borrowed */
	size_t n_answers;    /* the upstream's answers so far */
	struct pack *pushed; /* borrowed; or NULL: a push without a pack */
	size_t id_size;	     /* OID_SHA1 or OID_SHA256 */
};

/*
 * Objects that are not there, and would have been looked at.  Empty at first;
 * what several proofs lack adds up to one question, and what is still lacking
 * behind its answer to a second one that has all of it.
 */
struct beyond {
	struct oid ids[LIMIT_PROOF_ASKS];
	size_t n;
	unsigned depth; /* trees below each of them: 0 for commits alone */
	bool is_cut;	/* there are more, or one could not be read: asking
			   for those in `ids` shows nothing */
	/* Work that was done, of all proofs together: commits that were
	   walked, bytes of names in trees.  Has a ceiling; never taken back. */
	size_t walked, looked;
};

/* Where it stood: what a proof that is made does not need is taken back. */
struct beyond_mark {
	size_t n;
	unsigned depth;
	bool is_cut;
};

struct beyond_mark beyond_mark(const struct beyond *b);

/* Keep what was added since if the proof is open, else not; returns it. */
enum proof beyond_end(struct beyond *b, struct beyond_mark mark, enum proof p);

struct object *packs_find(const struct packs *p, const struct oid *id);

/* Empty again, but for the work that was done. */
void beyond_clear(struct beyond *b);

/* Add a name, once. */
void beyond_add(struct beyond *b, const struct oid *id);

#endif
