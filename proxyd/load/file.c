/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "load/load.h"

#define CHUNK 65536 /* bytes read at a time */

static bool
refuse(struct load_report *report, struct slice name, const char *why)
{
	struct load_at at = { name, 1, 1 };

	load_error(report, at, "%s", why);
	return false;
}

/* Owner and mode, of the open file: the path may mean another by now. */
static bool
check_owned(const struct stat *st, struct slice name,
    struct load_report *report)
{
	if (st->st_uid != getuid() && st->st_uid != 0)
		return refuse(report, name,
		    "belongs to another user: the owner's configuration is "
		    "the caller's or root's");
	if ((st->st_mode & 077) != 0) {
		struct load_at at = { name, 1, 1 };
		load_error(report, at,
		    "mode %04o: others may read or write it; run `chmod 600 "
		    "%.*s`",
		    st->st_mode & 07777, SLICE_ARG(name));
		return false;
	}
	return true;
}

bool
load_read_file(int fd, struct slice name, bool owned, struct buf *bytes,
    struct load_report *report)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return refuse(report, name, strerror(errno));
	/* A process substitution is a pipe: fine for a policy. */
	if (!S_ISREG(st.st_mode) && (owned || !S_ISFIFO(st.st_mode)))
		return refuse(report, name, "not a regular file");
	if (owned && !check_owned(&st, name, report))
		return false;
	for (;;) {
		uint8_t *room = buf_room(bytes, CHUNK);
		if (room == NULL || bytes->n > LIMIT_POLICY_FILE_SIZE)
			return refuse(report, name, "larger than 8 MiB");
		ssize_t n = read(fd, room, CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return refuse(report, name, strerror(errno));
		if (n == 0)
			return true;
		buf_added(bytes, (size_t)n);
	}
}

struct slice
load_dir_of(struct slice path)
{
	size_t n = path.n;

	while (n > 0 && path.p[n - 1] != '/')
		n--;
	return slice_first(path, n > 1 ? n - 1 : n);
}
