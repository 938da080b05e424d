/* SPDX-License-Identifier: Apache-2.0 */
/* What of the host the dialer has to know, sent again when it has changed. */
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/wr.h"
#include "proxyd/monitor_state.h"

#define RESOLV_CONF "/etc/resolv.conf"
#define RESOLV_CONF_MAX 16384 /* bytes; what is above is not sent */

void
host_send(struct monitor *m)
{
	uint8_t text[RESOLV_CONF_MAX], body[RESOLV_CONF_MAX + 2];
	struct wr w = wr_of(body, sizeof(body));
	struct stat st;
	int fd = open(RESOLV_CONF, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = -1;

	if (fd >= 0 && fstat(fd, &st) == 0) {
		m->resolvers_seen = st;
		n = read(fd, text, sizeof(text));
	}
	if (fd >= 0)
		close(fd);
	if (n < 0)
		log_warn("cannot read " RESOLV_CONF "; names are resolved only "
			 "where `upstream:` says how");
	/* Not read here: the dialer takes it as what it is, text of a file. */
	wr_slice16(&w, slice_of(text, n < 0 ? 0 : (size_t)n));
	roles_send(&m->children[ROLE_DIALER], OP_RESOLVERS, wr_slice(&w), NULL,
	    0);
}

/* Written anew, or another file in its place, whatever leads there: it is often
 * a link, and networks replace the link or what it names by a rename. */
static bool
is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	    a->st_size == b->st_size &&
	    a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	    a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void
host_look(struct monitor *m)
{
	struct stat st;

	if (m->children[ROLE_DIALER].channel == NULL ||
	    stat(RESOLV_CONF, &st) != 0)
		return;
	if (is_same_file(&st, &m->resolvers_seen))
		return;
	m->resolvers_seen = st; /* one that cannot be read: said once */
	host_send(m);
}

void
host_tell_proxy(const struct monitor *m)
{
	static const char *const names[] = { "http_proxy", "https_proxy",
		"all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY" };

	if (m->cfg->quiet || owner_has_proxy(m->owner))
		return;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (getenv(names[i]) == NULL)
			continue;
		fprintf(stderr,
		    "duenna: %s is not passed on to the command; "
		    "to reach the outside through a proxy, write "
		    "`upstream: [{names: [\"**\"], proxy: "
		    "\"http://HOST:PORT\"}]` into the configuration\n",
		    names[i]);
		return;
	}
}
