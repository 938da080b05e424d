/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batch of LFS: the question which objects are to be moved which way, and
 * the answer where each is.
 *
 * The question is read as a whole and written anew.  From the answer every
 * `Authorization` goes: servers send back there what came with the question, or
 * a token of their own (Gitea and Forgejo the one, GitLab both), and what a
 * client needs at the same server it gets from us again.
 *
 * Source: git-lfs, docs/api/batch.md; RFC 8259.
 * Pure.
 */
#ifndef GIT_LFS_H
#define GIT_LFS_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/parse.h"
#include "base/wr.h"

struct lfs_ask {
	bool upload; /* else download */
	uint32_t n_objects;
	uint64_t bytes; /* of all of them, as the client says */
};

/*
 * Read the whole body of a question.  What goes up instead is in `out`: never
 * longer, and filled up with blanks to the same length.
 *
 * PARSE_DONE, or PARSE_BAD with reason git.malformed or limit.bytes.
 */
MUST_USE enum parse lfs_ask_read(struct slice body, struct lfs_ask *ask,
    struct wr *out, struct parse_fail *fail);

#define LFS_DEPTH 32 /* of arrays and objects in an answer */

/* What may come next, blanks aside. */
enum lfs_next {
	LFS_START,	 /* the object that the answer is */
	LFS_FIRST_KEY,	 /* a key, or the end of the object */
	LFS_KEY,	 /* a key */
	LFS_COLON,	 /* a colon */
	LFS_VALUE,	 /* a value */
	LFS_FIRST_VALUE, /* a value, or the end of the array */
	LFS_ATOM,	 /* more of a number or a word, or as COMMA */
	LFS_COMMA,	 /* a comma, or the end of what it is in */
	LFS_END		 /* nothing */
};

/* An answer on its way; its length stays. */
struct lfs_answer {
	uint32_t objects; /* a bit each level: it is an object */
	unsigned depth;
	enum lfs_next next;
	bool in_string, escaped, is_key; /* of the string that we are in */
	bool cut;			 /* the value behind this key goes */
	struct wr key;			 /* held back until it is known */
	uint8_t room[16];
};

void lfs_answer_init(struct lfs_answer *a);

/* Take bytes, append what goes on.  False with *fail set: up.response. */
MUST_USE bool lfs_answer_take(struct lfs_answer *a, struct slice in,
    struct buf *out, struct parse_fail *fail);

/* Nothing follows: was it whole? */
MUST_USE bool lfs_answer_end(const struct lfs_answer *a,
    struct parse_fail *fail);

#endif
