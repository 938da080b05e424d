/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a policy file and what it includes: for the monitor, `check` and
 * `explain` alike.  Nothing of them is read here.
 *
 * A policy may have come with a repository, and the names in it with it.  An
 * include lies in or below the folder of the file that has it, is a regular
 * file, and no part of its path is a symbolic link: nothing else of the host is
 * opened on the word of a policy.
 */
#ifndef PROXYD_POLICY_FILE_H
#define PROXYD_POLICY_FILE_H

#include <stdint.h>

#include "base/attr.h"
#include "base/limits.h"
#include "base/slice.h"

struct policy_files {
	/* Owned; absolute, as the kernel has them.  The first is the policy;
	 * NULL: it has no folder (a pipe), and includes nothing. */
	char *paths[1 + LIMIT_POLICY_INCLUDES];
	uint32_t n;
	uint32_t n_asked; /* how often something was to be included */
};

/*
 * Open the policy, from `f` as zero bytes.  A descriptor, or -1 and `why`.
 * Waits for nobody: a pipe without a writer is opened at once.
 */
MUST_USE int policy_file_open(struct policy_files *f, const char *path,
    const char **why);

/*
 * A file that is nowhere, with a policy `allow` of one rule a pattern, each on
 * a line of its own.  A descriptor, or -1 and errno.
 */
MUST_USE int policy_file_of_patterns(const char *const *patterns, size_t n);

/*
 * Open what file `from` includes as `path`, which is hostile input.  A
 * descriptor, or -1 and `why`: more than LIMIT_POLICY_INCLUDES times there is
 * none.
 *
 * number  of the file, the same each time it is included
 */
MUST_USE int policy_file_include(struct policy_files *f, uint32_t from,
    struct slice path, uint32_t *number, const char **why);

/* Does the policy lie below the owner's own configuration directory? */
bool policy_file_is_trusted(const struct policy_files *f);

void policy_files_release(struct policy_files *f);

/* Where the owner's configuration is: a folder, which may be missing. */
void policy_file_config_dir(char *path, size_t size);

#endif
