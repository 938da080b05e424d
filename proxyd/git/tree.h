/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of a tree, one by one, in the one order that git gives them.
 *
 * Refused are what git's fsck refuses and what could be read in two ways: a
 * name that is empty, `.`, `..` or has a slash, a mode with a zero in front,
 * entries that are out of order or there twice, be it once as a folder: for the
 * order a folder's name has a slash behind it, so other names may lie between.
 * Pure.
 */
#ifndef GIT_TREE_H
#define GIT_TREE_H

#include "git/oid.h"

#define TREE_OPEN 32 /* names, each the beginning of the next, that may stand */

enum tree_kind {
	TREE_FILE,
	TREE_FOLDER,
	TREE_LINK,   /* symbolic link */
	TREE_MODULE, /* submodule: a commit of another repository */
};

struct tree_entry {
	uint32_t mode;
	enum tree_kind kind; /* what the mode says */
	struct slice name;   /* never empty */
	struct oid id;
};

struct tree {
	struct slice rest;	/* what is still to be read; borrowed */
	size_t n;		/* bytes of an object name here */
	struct tree_entry last; /* the entry before, if has_last */
	bool has_last;
	bool bad;		      /* what was read is no tree */
	struct slice open[TREE_OPEN]; /* names that a folder may still have */
	size_t n_open;
};

void tree_init(struct tree *t, struct slice content, size_t n);

/* The next entry; false at the end, or, with `bad` set, where it breaks. */
MUST_USE bool tree_next(struct tree *t, struct tree_entry *e);

/* The order of two entries of any trees: below, 0 or above 0. */
int tree_compare(const struct tree_entry *a, const struct tree_entry *b);

#endif
