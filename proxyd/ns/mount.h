/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts by descriptor: a tree is taken or made, given its attributes, and
 * only then put in its place.  Source: mount_setattr(2), open_tree(2) of
 * Linux 5.12 and later.  On failure -1 with errno as the kernel gave it.
 */
#ifndef NS_MOUNT_H
#define NS_MOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mount.h>

#include "base/attr.h"

#define MOUNT_PLAIN (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define MOUNT_READ (MOUNT_PLAIN | MOUNT_ATTR_RDONLY)
#define MOUNT_DEVICE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

/* Open what stands at `path`, seen from the folder `root` as if that were /:
 * links of the host lead to where they lead on the host. */
MUST_USE int mount_find(int root, const char *path);

/* Open `path` below `root`, where no part of it may be a link: the sandbox may
 * have written it. */
MUST_USE int mount_find_plain(int root, const char *path);

/* The same, opened for use: flags are those of open(2). */
MUST_USE int mount_open_plain(int root, const char *path, int flags);

/* A copy of the tree that begins at `fd`, with all that is mounted below it,
 * with attributes added (MOUNT_ATTR_...). */
MUST_USE int mount_copy(int fd, uint64_t attributes);

/* A new file system; options are name, value, name, value, NULL; a value ""
 * is a flag. */
MUST_USE int mount_new(const char *type, const char *const *options,
    uint64_t attributes);

/* Add attributes to what is mounted at `fd`, there alone. */
MUST_USE int mount_change(int fd, uint64_t attributes);

/* Close unless it is -1; errno stays as it was. */
void mount_close(int fd);

/* Put a tree over what `at` has open; closes `tree` in every case. */
MUST_USE int mount_put(int tree, int at);

/*
 * Make the folders of `path` below `root` as far as they are missing, and what
 * stands at its end: a folder, or an empty file.  Follows no link.
 */
MUST_USE int mount_make_place(int root, const char *path, bool folder);

#endif
