/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that a rule has proven of a push whose pack is read: what is shown
 * by the pack, what the upstream has to be asked for, and in the end yes or no.
 * The last bytes of the pack wait for it.
 *
 *	content		who wrote the commits, signatures, sizes   git/content.h
 *	no stray	each commit belongs to a ref of the push  git/ancestry.h
 *	fast-forward	of each update, unless the rule has `force`
 *	keep		what `keep:` names is as it was            git/kept.h
 *
 * What `keep:` names is compared with the old tip.  A new branch, or one that
 * took up others, may also have it as it is in a commit from which it grew, if
 * that is shown to be in the history of the upstream's HEAD.  That the upstream has a commit is not enough,
 * since it has those of strangers' requests too.  Where there is no HEAD, as in
 * a new repository, what `keep:` names may not be there at all.
 *
 * Who owns this carries the questions, at most PROOF_QUESTIONS.  A question
 * that is not answered shows nothing, and what is not shown is refused.
 * No I/O.
 */
#ifndef GIT_PROVE_H
#define GIT_PROVE_H

#include "git/content.h"
#include "git/question.h"

struct prove_rule {
	bool force;		  /* updates need not be fast-forwards */
	const struct slice *keep; /* borrowed; as git/kept.h has them */
	size_t n_keep;
	struct content_rule content;
	struct slice *globs; /* owned by git/prove_rule.h: all of them */
};

struct prove_command {
	struct oid old_id, new_id; /* zeros: created, deleted */
};

struct prove_fail {
	enum reason reason; /* REASON_GIT_UPDATE, REASON_GIT_PACK; or
			       REASON_INTERNAL without memory */
	const char *detail; /* for people; a literal */
	size_t command;	    /* which one; SIZE_MAX: the pack as a whole */
	bool keep;	    /* it is for what `keep` names */
};

enum prove_next {
	PROVE_SHOWN,	   /* all of it: the rest may go */
	PROVE_REFUSED,	   /* see the fail */
	PROVE_ASK_OFFER,   /* what does the upstream offer in protocol 2 */
	PROVE_ASK_HEAD,	   /* a body for git-upload-pack: its HEAD */
	PROVE_ASK_OBJECTS, /* likewise: objects, into prove_answer() */
};

/* Does the rule have to read the pack of such a push at all? */
bool prove_wants_pack(const struct prove_rule *rule,
    const struct prove_command *commands, size_t n);

/*
 * Does it take only packs in which each object is whole or has its base?  Then
 * the advertisement has to say "no-thin" (gitprotocol-capabilities(5)).
 */
bool prove_wants_whole(const struct prove_rule *rule);

struct prove;

/*
 * rule, commands	borrowed, until prove_free()
 * pushed		likewise; read to its end, or NULL if there is none
 * cfg			that of the pushed pack
 *
 * NULL without memory.
 */
MUST_USE struct prove *prove_new(const struct prove_rule *rule,
    const struct prove_command *commands, size_t n, struct pack *pushed,
    const struct pack_cfg *cfg);
void prove_free(struct prove *p);

/*
 * What now?  Again after each answer.
 *
 * body	 appended: what is to be sent, where the answer is one of the last two
 * fail	 set on PROVE_REFUSED
 */
MUST_USE enum prove_next prove_next(struct prove *p, struct buf *body,
    struct prove_fail *fail);

/* The answers: what is offered; HEAD, n being 0 if there is none. */
void prove_offer(struct prove *p, const struct question_caps *caps);
void prove_head(struct prove *p, const struct oid *head);

/* A new pack for answer_take(), owned by `p`; NULL without memory. */
MUST_USE struct pack *prove_answer(struct prove *p);

/* The last question has no answer that could be read. */
void prove_unanswered(struct prove *p);

#endif
