/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "ns/nameless.h"
#include "ns/path.h"

/* It is empty while it has a name. */
static int
named_for_a_moment(const char *folder)
{
	char path[PATH_MAX];
	int fd;

	if (!path_join(path, sizeof(path), folder, ".nameless-XXXXXX")) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0 || unlink(path) == 0)
		return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

int
nameless_file(const char *folder)
{
	/* O_EXCL: linkat(2) must not name it. */
	int fd = open(folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

	/* As open(2) says, and before Linux 3.11, too. */
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
		return named_for_a_moment(folder);
	return fd;
}
