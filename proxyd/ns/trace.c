/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ns/trace.h"

struct trace {
	char done[PATH_MAX]; /* without links; "" is the root */
	char rest[2 * PATH_MAX];
	unsigned links;
};

/* Cut the next part off `rest`; false at the end, or at one that no file can
 * have. */
static bool
take_part(struct trace *t, char part[NAME_MAX + 1])
{
	size_t from = strspn(t->rest, "/");
	size_t n = strcspn(t->rest + from, "/");

	if (n == 0 || n > NAME_MAX)
		return false;
	memcpy(part, t->rest + from, n);
	part[n] = '\0';
	memmove(t->rest, t->rest + from + n, strlen(t->rest + from + n) + 1);
	return true;
}

static void
go_up(struct trace *t)
{
	char *slash = strrchr(t->done, '/');

	if (slash != NULL)
		*slash = '\0';
}

/* What the link says comes before what is left.  False: too many, too long. */
static bool
follow(struct trace *t, const char *link)
{
	char target[PATH_MAX], left[2 * PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target) - 1);

	if (n <= 0 || ++t->links > TRACE_LINKS_MAX)
		return false;
	target[n] = '\0';
	if (target[0] == '/')
		t->done[0] = '\0';
	memcpy(left, t->rest, sizeof(left));
	int all = snprintf(t->rest, sizeof(t->rest), "%s%s", target, left);
	return all >= 0 && (size_t)all < sizeof(t->rest);
}

bool
trace_path(const char *path, bool (*seen)(const char *place, void *arg),
    void *arg)
{
	struct trace t = { .links = 0 };
	char part[NAME_MAX + 1], place[2 * PATH_MAX];
	struct stat st;

	if (strlen(path) >= sizeof(t.rest))
		return false;
	memcpy(t.rest, path, strlen(path) + 1);
	while (take_part(&t, part)) {
		if (strcmp(part, ".") == 0)
			continue;
		if (strcmp(part, "..") == 0) {
			go_up(&t);
			continue;
		}
		snprintf(place, sizeof(place), "%s/%s", t.done, part);
		if (strlen(place) >= sizeof(t.done) || !seen(place, arg))
			return false;
		if (lstat(place, &st) != 0)
			return true; /* nothing is there, nor below it */
		if (!S_ISLNK(st.st_mode))
			memcpy(t.done, place, strlen(place) + 1);
		else if (!follow(&t, place))
			return false;
	}
	return true;
}
