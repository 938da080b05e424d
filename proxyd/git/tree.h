/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of a tree, one by one, in the one order that git gives them.
 *
 * Refused are what git's fsck refuses and what could be read in two ways: a
 * name that is empty, `.`, `..` or has a slash, a mode with a zero in front,
 * entries that are out of order or there twice.  A file and a folder of the
 * same name are found out of order only if nothing lies between them; whoever
 * looks for a name must look at all entries.
 * Pure.
 */
#ifndef GIT_TREE_H
#define GIT_TREE_H

#include "git/oid.h"

struct tree {
	struct slice rest; /* what is still to be read; borrowed */
	size_t n;	   /* bytes of an object name here */
	struct slice last; /* name of the entry before; empty at first */
	bool last_is_folder;
	bool bad; /* what was read is no tree */
};

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

void tree_init(struct tree *t, struct slice content, size_t n);

/* The next entry; false at the end, or, with `bad` set, where it breaks. */
MUST_USE bool tree_next(struct tree *t, struct tree_entry *e);

#endif
