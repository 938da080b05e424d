/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one question to the upstream, for what a pack does not show: a fetch by
 * protocol 2 of exactly the objects that a proof would have to see, without
 * blobs.  Its answer is a pack, and what that pack has is named by its bytes.
 *
 * For ancestry: the commits between what the push builds on and the old tip,
 * which is given as known, so that the answer ends where it is met.  For
 * `keep:`: commits and trees by name, and trees below them as deep as the
 * pattern looks.
 *
 * What the upstream does not answer, or not within QUESTION_SIZE, stays open.
 *
 * Source: gitprotocol-v2(5).  Pure, but for the pack that is read into.
 */
#ifndef GIT_QUESTION_H
#define GIT_QUESTION_H

#include "base/buf.h"
#include "git/proof.h"

/* What an upstream offers in protocol 2. */
struct question_caps {
	size_t id_size;	  /* OID_SHA1 or OID_SHA256 */
	bool has_format;  /* names its object format, and wants ours */
	bool has_fetch;	  /* else there is nothing to ask */
	bool has_shallow; /* can end a history: needed for trees */
	bool has_filter;  /* can leave out blobs and trees */
	bool has_ls_refs;
};

/*
 * Read the answer to `info/refs?service=git-upload-pack` with the header
 * `Git-Protocol: version=2`.
 *
 * in	 all that has come so far; the caller keeps at most QUESTION_HEAD_SIZE
 * fail	 on PARSE_BAD: REASON_UP_RESPONSE; also if it is another version
 */
MUST_USE enum parse question_caps_take(struct slice in,
    struct question_caps *caps, struct parse_fail *fail);

/*
 * Write the body of a POST to `git-upload-pack`, that header again.
 *
 * beyond  what is to be seen
 * have	   commits that are known here, for ancestry: the answer ends at those
 *	   that the upstream has, too.  NULL: trees, or a commit by itself
 *
 * False if the upstream cannot be asked, or asking would show nothing.
 */
MUST_USE bool question_put(const struct question_caps *caps,
    const struct beyond *beyond, const struct beyond *have, struct buf *out);

/* The same, for the commit that the upstream's HEAD names. */
MUST_USE bool question_put_head(const struct question_caps *caps,
    struct buf *out);

/*
 * Read the answer to that.  `in` is all that has come so far, at most
 * QUESTION_HEAD_SIZE; head->n is 0 if there is none.
 */
MUST_USE enum parse question_head_take(struct slice in, size_t id_size,
    struct oid *head, struct parse_fail *fail);

enum answer_part {
	ANSWER_SECTION, /* the name of a section, or an error */
	ANSWER_SHALLOW, /* where histories end: not ours to know */
	ANSWER_PACK,	/* side-band with the pack */
	ANSWER_WHOLE,	/* nothing more */
};

struct answer {
	struct pack *pack; /* borrowed; read into */
	enum answer_part part;
	uint64_t bytes; /* so far */
	size_t done;	/* bytes of the next line that the pack has */
};

/* Read an answer to question_put() into `pack`, which is new. */
void answer_init(struct answer *a, struct pack *pack);

/*
 * Take whole lines off the front of `in`.
 *
 * used	 bytes to drop; the rest is to be given again with what follows.  If
 *	 a->done is not 0 one call has done enough: call again at once
 * fail	 on PARSE_BAD: REASON_UP_RESPONSE, the pack's own, or a ceiling
 */
MUST_USE enum parse answer_take(struct answer *a, struct slice in, size_t *used,
    struct parse_fail *fail);

#endif
