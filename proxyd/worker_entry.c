/* SPDX-License-Identifier: Apache-2.0 */
/* The listeners at which a sandbox speaks to a proxy. */
#include <sys/socket.h>

#include "base/log.h"
#include "base/rd.h"
#include "flow/entry.h"
#include "proxyd/worker.h"

static void
on_accept(int fd, void *arg)
{
	struct worker_sandbox *s = arg;

	entry_accept(s->flows, fd);
}

static int
option(int fd, int which)
{
	socklen_t n = sizeof(int);
	int value = -1;

	return getsockopt(fd, SOL_SOCKET, which, &value, &n) == 0 ? value : -1;
}

/* Whatever else were accepted from would be judged as if it were a client. */
static bool
is_listener(int fd)
{
	int domain = option(fd, SO_DOMAIN);

	return option(fd, SO_ACCEPTCONN) == 1 &&
	    option(fd, SO_TYPE) == SOCK_STREAM &&
	    (domain == AF_INET || domain == AF_INET6 || domain == AF_UNIX);
}

static bool
are_listeners(const struct msg *m)
{
	for (size_t i = 0; i < m->n_fds; i++)
		if (m->fds[i] < 0 || !is_listener(m->fds[i]))
			return false;
	return m->n_fds != 0 && m->n_fds <= WORKER_LISTENERS;
}

static bool
take_token(struct entry_token *token, struct slice sha256)
{
	if (sha256.n != 0 && sha256.n != sizeof(token->sha256))
		return false;
	*token = (struct entry_token){ .is_wanted = sha256.n != 0 };
	if (token->is_wanted)
		memcpy(token->sha256, sha256.p, sha256.n);
	return true;
}

bool
worker_take_entry(struct worker *w, struct msg *m)
{
	struct rd in = rd_of(m->body);
	uint32_t id = rd_u32(&in);
	struct slice sha256 = rd_slice8(&in);
	enum err err;

	if (!rd_is_done(&in) || !are_listeners(m))
		return false;
	struct worker_sandbox *s = worker_sandbox_get(w, id);
	if (s == NULL || s->flows->generation == NULL ||
	    !take_token(&s->flows->token, sha256))
		return false;
	worker_entry_close(s);
	for (size_t i = 0; i < m->n_fds; i++) {
		s->entries[i] = listener_new(w->loop, msg_take_fd(m, i),
		    on_accept, s, &err);
		if (s->entries[i] == NULL) {
			log_error("cannot listen: %s", err_text(err));
			return false;
		}
	}
	return true;
}

void
worker_entry_close(struct worker_sandbox *s)
{
	for (size_t i = 0; i < WORKER_LISTENERS; i++) {
		listener_free(s->entries[i]);
		s->entries[i] = NULL;
	}
}
