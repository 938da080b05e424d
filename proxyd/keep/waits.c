/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <unistd.h>

#include "base/limits.h"
#include "keep/waits.h"
#include "priv/ops.h"

void
waits_init(struct waits *w)
{
	LIST_INIT(&w->all);
	w->n = 0;
}

void
waits_release(struct waits *w)
{
	while (!LIST_EMPTY(&w->all))
		waits_drop(w, LIST_FIRST(&w->all));
}

bool
waits_put(struct waits *w, struct channel *from, const struct msg *m,
    const struct grant *g)
{
	struct waiting *q;

	if (w->n >= LIMIT_RELEASES_WAITING || m->body.n > WAITS_BODY_MAX ||
	    (q = calloc(1, sizeof(*q))) == NULL)
		return false;
	*q = (struct waiting){ .from = from,
		.credential = g->credential,
		.sandbox = g->who.sandbox,
		.id = m->id,
		.n = m->body.n };
	memcpy(q->body, m->body.p, m->body.n);
	q->fd = fcntl(m->fds[0], F_DUPFD_CLOEXEC, 0);
	if (q->fd < 0) {
		free(q);
		return false;
	}
	LIST_INSERT_HEAD(&w->all, q, entry);
	w->n++;
	return true;
}

struct msg
waits_msg(const struct waiting *q)
{
	return (struct msg){ .op = OP_RELEASE,
		.id = q->id,
		.body = slice_of(q->body, q->n),
		.fds = { q->fd },
		.n_fds = 1 };
}

void
waits_drop(struct waits *w, struct waiting *q)
{
	LIST_REMOVE(q, entry);
	w->n--;
	close(q->fd);
	free(q);
}

void
waits_forget(struct waits *w, const struct channel *from)
{
	struct waiting *q;

	LIST_FOREACH(q, &w->all, entry)
		if (q->from == from)
			q->from = NULL;
}
