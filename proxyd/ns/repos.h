/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The git repositories in a folder: what has to be pinned before a sandbox may
 * write there, and looked at again afterwards (DESIGN 3).
 *
 * Folders are searched breadth first and without following a link; those of
 * submodules (.git/modules) and bare ones are found by what stands in them.
 */
#ifndef NS_REPOS_H
#define NS_REPOS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "ns/fail.h"

#define REPOS_ENTRIES_MAX 500000 /* looked at; some tenths of a second */

enum repo_kind {
	REPO_FOLDER, /* a .git folder, a submodule's, or a bare repository */
	REPO_FILE,   /* a .git file, which names a folder */
	REPO_LINK,   /* a symbolic link .git: cannot be pinned */
};

struct repo {
	char *path; /* owned; relative to the folder that was searched */
	enum repo_kind kind;
};

struct repos {
	struct repo *repo; /* owned */
	size_t n;
	char *socket; /* owned; the first UNIX socket seen, relative; or NULL */
	bool cut;     /* there was more than REPOS_ENTRIES_MAX */
};

/*
 * Search `folder`, an open descriptor.  Folders that cannot be read are passed
 * over.  Dies without memory.
 *
 * deep  else only `folder` itself may be, or have, a repository
 */
void repos_find(struct repos *repos, int folder, bool deep);

/* Has a repository below `folder` hooks that git would run?  Samples are none;
 * a link in their place is. */
bool repos_have_hooks(int folder, const char *repo);

void repos_release(struct repos *repos);

#endif
