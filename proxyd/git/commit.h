/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commits and annotated tags, read as strictly as git's fsck asks for, and in
 * one point more: a line that git reads in one place only (`tree`, `parent`,
 * `author`, `committer`) may not stand in another, so that nobody can find two
 * meanings in one object.
 *
 * Parents are the `parent` lines between `tree` and `author` and nothing else:
 * git reads no others, wherever an object shows something that looks like one.
 *
 * Source: git's fsck.c as documented in git-fsck(1), "FSCK MESSAGES".
 * Pure.
 */
#ifndef GIT_COMMIT_H
#define GIT_COMMIT_H

#include "base/parse.h"
#include "git/oid.h"

struct commit {
	struct oid tree;
	size_t n_parents;
	struct slice parents;	/* their lines; for commit_parent() */
	struct slice author;	/* e-mail address, without the brackets */
	struct slice committer; /* likewise */
	bool is_signed;		/* has a signature; nobody checked it */
};

enum tag_of {
	TAG_OF_COMMIT,
	TAG_OF_TREE,
	TAG_OF_BLOB,
	TAG_OF_TAG,
};

struct tag {
	struct oid object;
	enum tag_of of;
	struct slice tagger; /* e-mail address; empty if none is named */
	bool is_signed;	     /* has a signature; nobody checked it */
};

/*
 * Read the whole content of a commit.
 *
 * n	  bytes of an object name here
 * c	  set on true only; its slices point into `content`
 * fail	  set on false only; reason REASON_GIT_PACK
 */
MUST_USE bool commit_read(struct slice content, size_t n, struct commit *c,
    struct parse_fail *fail);

/* The name of parent `i`, which is below n_parents. */
struct oid commit_parent(const struct commit *c, size_t i);

/* Read the whole content of an annotated tag, likewise. */
MUST_USE bool tag_read(struct slice content, size_t n, struct tag *t,
    struct parse_fail *fail);

#endif
