/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that editors, shells and package managers run, or take orders from,
 * when somebody merely enters a folder, opens it, or installs.
 */
#ifndef NS_STARTFILE_H
#define NS_STARTFILE_H

#include <stdint.h>

#include "base/siphash.h"
#include "base/slice.h"

struct startfile {
	char *path;    /* owned; relative to the folder that was looked into */
	uint64_t hash; /* of what would run */
};

struct startfiles {
	struct startfile *file; /* owned; sorted by path */
	size_t n;
	uint8_t key[SIPHASH_KEY_SIZE]; /* else the command makes a file with
					  the same hash */
};

/*
 * Look below `work`, an open folder, anew; `s->key` has been set.  Dies without
 * memory.
 *
 * folder  in which to look for files and folders of such names
 * hooks   folders that are taken as a whole: where git finds its hooks
 */
void startfiles_find(struct startfiles *s, int work, char *const *folder,
    size_t n_folders, char *const *hooks, size_t n_hooks);

/* The one at `path`, or NULL.  Borrowed. */
const struct startfile *startfiles_get(const struct startfiles *s,
    const char *path);

void startfiles_release(struct startfiles *s);

/* The value of "scripts" in a package.json: from its brace to its end; all of
 * `json` if that cannot be told; empty if there is none.  Pure. */
struct slice startfile_scripts(struct slice json);

#endif
