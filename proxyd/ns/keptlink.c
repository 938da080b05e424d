/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "base/mem.h"
#include "ns/keptlink.h"

/* Where a link leads, as one owned string; NULL: it is none. */
static char *
read_link(int work, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(work, path, target, sizeof(target) - 1);

	if (n == -1)
		return NULL;
	target[n] = '\0';
	return mem_strdup(target);
}

const char *
keptlinks_add(struct keptlinks *links, int work, const char *path)
{
	char *target = read_link(work, path);

	if (target == NULL)
		return NULL;
	links->link =
	    reallocarray(links->link, links->n + 1, sizeof(*links->link));
	if (links->link == NULL)
		abort();
	links->link[links->n++] = (struct keptlink){ mem_strdup(path), target };
	return target;
}

enum keptlink_now
keptlink_settle(const struct keptlink *link, int work)
{
	char *target = read_link(work, link->path);
	bool same = target != NULL && strcmp(target, link->target) == 0;

	free(target);
	if (same)
		return KEPTLINK_SAME;
	if (unlinkat(work, link->path, 0) == -1 && errno != ENOENT)
		return KEPTLINK_LOST;
	return symlinkat(link->target, work, link->path) == 0 ?
	    KEPTLINK_PUT_BACK :
	    KEPTLINK_LOST;
}

void
keptlinks_release(struct keptlinks *links)
{
	for (size_t i = 0; i < links->n; i++) {
		free(links->link[i].path);
		free(links->link[i].target);
	}
	free(links->link);
	*links = (struct keptlinks){ 0 };
}
