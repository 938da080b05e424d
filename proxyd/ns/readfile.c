/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ns/mount.h"
#include "ns/path.h"
#include "ns/readfile.h"

#define CHUNK 16384 /* bytes a read */

static int
read_all(int fd, struct buf *out)
{
	for (;;) {
		uint8_t *room = buf_room(out, CHUNK);
		if (room == NULL)
			return -1;
		ssize_t n = read(fd, room, CHUNK);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? 0 : -1;
		buf_added(out, (size_t)n);
	}
}

int
readfile(int folder, const char *path, struct buf *out)
{
	struct stat st;
	int result = -1;
	/* O_NONBLOCK: a pipe would have us wait for its other end. */
	int fd =
	    mount_open_plain(folder, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

	if (fd != -1 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		result = read_all(fd, out);
	mount_close(fd);
	return result;
}

static int
write_all(int fd, struct slice data)
{
	while (data.n != 0) {
		ssize_t n = write(fd, data.p, data.n);
		if (n == -1)
			return -1;
		data = slice_from(data, (size_t)n);
	}
	return 0;
}

int
readfile_replace(int folder, const char *path, struct slice data)
{
	static const char temporary[] = ".duenna-new";
	char holder[PATH_MAX], name[NAME_MAX + 1];
	const char *slash = strrchr(path, '/');
	struct stat st;
	int fd = -1, result = -1;

	snprintf(name, sizeof(name), "%s", slash == NULL ? path : slash + 1);
	snprintf(holder, sizeof(holder), "%.*s",
	    slash == NULL ? 0 : (int)(slash - path), path);
	int at = mount_find_plain(folder, holder);
	if (at == -1)
		return -1;
	mode_t mode = 0644;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode))
		mode = st.st_mode & 0777;
	(void)unlinkat(at, temporary, 0);
	fd = openat(at, temporary,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd != -1 && write_all(fd, data) == 0 && fchmod(fd, mode) == 0 &&
	    renameat(at, temporary, at, name) == 0)
		result = 0;
	mount_close(fd);
	mount_close(at);
	return result;
}
