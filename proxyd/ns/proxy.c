/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/ip.h"
#include "ns/proxy.h"

#define BACKLOG 512
#define MODE 0660
#define UNIX_PREFIX "unix:"

static bool
read_port(struct slice text, uint16_t *port)
{
	uint32_t v = 0;

	if (text.n == 0 || text.n > 5 || text.p[0] == '0')
		return false;
	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_is_digit(text.p[i]))
			return false;
		v = v * 10 + (uint32_t)(text.p[i] - '0');
	}
	*port = (uint16_t)v;
	return v <= UINT16_MAX;
}

/* IPv6 in brackets, IPv4 without. */
static bool
read_address(struct slice text, struct ip *ip)
{
	bool v6 = text.n > 2 && text.p[0] == '[' && text.p[text.n - 1] == ']';

	if (v6)
		text = slice_of(text.p + 1, text.n - 2);
	return ip_parse(text, ip) && ip->family == (v6 ? 6 : 4);
}

static bool
read_where(struct slice where, struct sockaddr_storage *at, socklen_t *n)
{
	size_t colon = where.n;
	uint16_t port;
	struct ip ip;

	while (colon > 0 && where.p[colon - 1] != ':')
		colon--;
	if (colon == 0 || !read_port(slice_from(where, colon), &port) ||
	    !read_address(slice_first(where, colon - 1), &ip))
		return false;
	*n = ip_sockaddr(&ip, port, at);
	return true;
}

static int
open_socket(int family, const struct sockaddr *at, socklen_t n)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (fd < 0)
		return -1;
	/* The mode that the socket is born with, whatever the umask leaves. */
	if (family == AF_UNIX)
		(void)fchmod(fd, MODE);
	else
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes,
		    sizeof(yes));
	if (bind(fd, at, n) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	int saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* A socket that refuses is nobody's any more. */
static bool
is_left_over(const struct sockaddr_un *at)
{
	struct stat st;
	bool refused;

	if (lstat(at->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return false;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	refused = fd >= 0 &&
	    connect(fd, (const struct sockaddr *)at, sizeof(*at)) != 0 &&
	    errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return refused;
}

static int
listen_unix(struct slice path, struct fail *fail)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if (path.n == 0 || path.p[0] != '/' ||
	    memchr(path.p, '\0', path.n) != NULL)
		return fail_set(fail, ERR_SYSTEM,
		    "`unix:%.*s`: expected an absolute path", SLICE_ARG(path));
	if (path.n >= sizeof(at.sun_path))
		return fail_set(fail, ERR_SYSTEM,
		    "`unix:%.*s`: a socket's path has at most %zu bytes",
		    SLICE_ARG(path), sizeof(at.sun_path) - 1);
	memcpy(at.sun_path, path.p, path.n);
	if (is_left_over(&at))
		(void)unlink(at.sun_path);
	int fd = open_socket(AF_UNIX, (struct sockaddr *)&at, sizeof(at));
	if (fd < 0)
		return fail_errno(fail, "cannot listen at %s", at.sun_path);
	if (chmod(at.sun_path, MODE) == 0)
		return fd;
	close(fd);
	(void)unlink(at.sun_path);
	return fail_errno(fail, "cannot set the mode of %s", at.sun_path);
}

int
proxy_listen(struct slice where, struct fail *fail)
{
	const struct slice prefix = SLICE(UNIX_PREFIX);
	struct sockaddr_storage at = { 0 };
	socklen_t n;

	if (slice_has_prefix(where, prefix))
		return listen_unix(slice_from(where, prefix.n), fail);
	if (!read_where(where, &at, &n))
		return fail_set(fail, ERR_SYSTEM,
		    "`%.*s`: expected ADDRESS:PORT, [ADDRESS]:PORT or "
		    "unix:PATH",
		    SLICE_ARG(where));
	int fd = open_socket(at.ss_family, (struct sockaddr *)&at, n);
	if (fd < 0)
		return fail_errno(fail, "cannot listen at %.*s",
		    SLICE_ARG(where));
	return fd;
}

void
proxy_remove(struct slice where)
{
	const struct slice prefix = SLICE(UNIX_PREFIX);
	struct slice path = slice_from(where, prefix.n);
	struct sockaddr_un at = { 0 };
	struct stat st;

	if (!slice_has_prefix(where, prefix) || path.n >= sizeof(at.sun_path))
		return;
	memcpy(at.sun_path, path.p, path.n);
	if (lstat(at.sun_path, &st) == 0 && S_ISSOCK(st.st_mode))
		(void)unlink(at.sun_path);
}
