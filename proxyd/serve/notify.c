/* SPDX-License-Identifier: Apache-2.0 */
/* sd_notify(3) by hand: a datagram to the socket that NOTIFY_SOCKET names. */
#include <sys/socket.h>
#include <sys/un.h>

#include <stdlib.h>
#include <unistd.h>

#include "serve/state.h"

void
notify(const char *line)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	size_t n = path == NULL ? 0 : strlen(path);

	if (n < 2 || n >= sizeof(to.sun_path) ||
	    (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(to.sun_path, path, n);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	/* Nobody there, or a full queue: not worth a word. */
	ssize_t sent UNUSED =
	    sendto(fd, line, strlen(line), MSG_NOSIGNAL, (struct sockaddr *)&to,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	close(fd);
}
