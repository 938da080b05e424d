/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic links that git follows to its configuration and hooks: where each
 * led before the command ran, and that it does again. */
#ifndef NS_KEPTLINK_H
#define NS_KEPTLINK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct keptlink {
	char *path;   /* owned */
	char *target; /* owned */
};

struct keptlinks {
	struct keptlink *link; /* owned, and each */
	size_t n;
};

enum keptlink_now {
	KEPTLINK_SAME,
	KEPTLINK_PUT_BACK,
	KEPTLINK_LOST, /* a folder is in its place */
};

/* Remember a link below `work`.  NULL: there is none; else where it leads. */
const char *keptlinks_add(struct keptlinks *links, int work, const char *path);

MUST_USE enum keptlink_now keptlink_settle(const struct keptlink *link,
    int work);

void keptlinks_release(struct keptlinks *links);

#endif
