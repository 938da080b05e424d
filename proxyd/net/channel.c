/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/queue.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "net/channel.h"

#define READS_PER_WAKE 64 /* messages taken before others get their turn */

/* A message that the socket did not take yet. */
struct queued {
	STAILQ_ENTRY(queued) entry;
	struct msg msg;	 /* its descriptors are ours */
	uint8_t bytes[]; /* the body */
};

/* A request that waits for its answer. */
struct waiting {
	LIST_ENTRY(waiting) entry;
	uint32_t id;
	channel_on_answer *on_answer;
	void *arg;
};

struct channel {
	struct loop_item dead;		   /* first: freed by the reaper */
	struct loop *loop;		   /* borrowed */
	int fd;				   /* owned; -1 once closed */
	struct event *readable, *writable; /* owned */
	channel_on_msg *on_msg;
	void *arg;
	STAILQ_HEAD(, queued) queue;
	size_t n_queued;
	LIST_HEAD(waiting_list, waiting) waits;
	size_t n_waits;
	uint32_t last_id;
	bool freed;	 /* channel_free was called; no callback any more */
	uint8_t *packet; /* owned; MSG_SIZE_MAX bytes */
};

static void
drop_queued(struct channel *c, struct queued *q)
{
	STAILQ_REMOVE_HEAD(&c->queue, entry);
	c->n_queued--;
	msg_close_fds(&q->msg);
	explicit_bzero(q->bytes, q->msg.body.n);
	free(q);
}

static void
channel_shut(struct channel *c)
{
	if (c->fd < 0)
		return;
	event_del(c->readable);
	event_del(c->writable);
	close(c->fd);
	c->fd = -1;
	while (!STAILQ_EMPTY(&c->queue))
		drop_queued(c, STAILQ_FIRST(&c->queue));
}

/* Tell everybody who waits that no answer will come. */
static void
channel_fail_waits(struct channel *c)
{
	while (!LIST_EMPTY(&c->waits)) {
		struct waiting *w = LIST_FIRST(&c->waits);
		LIST_REMOVE(w, entry);
		c->n_waits--;
		if (!c->freed)
			w->on_answer(NULL, w->arg);
		free(w);
	}
}

static void
channel_lost(struct channel *c)
{
	if (c->fd < 0)
		return;
	channel_shut(c);
	channel_fail_waits(c);
	if (!c->freed)
		c->on_msg(c, NULL, c->arg);
}

static struct waiting *
find_wait(struct channel *c, uint32_t id)
{
	struct waiting *w;

	LIST_FOREACH(w, &c->waits, entry)
		if (w->id == id)
			return w;
	return NULL;
}

static void
deliver(struct channel *c, struct msg *m)
{
	/* Odd operations are answers; ids of ours come back only in those. */
	if (m->op % 2 == 1 && m->id != 0) {
		struct waiting *w = find_wait(c, m->id);
		if (w == NULL)
			return;
		LIST_REMOVE(w, entry);
		c->n_waits--;
		w->on_answer(m, w->arg);
		free(w);
		return;
	}
	c->on_msg(c, m, c->arg);
}

static void
on_readable(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct channel *c = arg;

	for (int i = 0; i < READS_PER_WAKE && c->fd >= 0 && !c->freed; i++) {
		struct msg m;
		enum err err = ERR_NONE;
		if (msg_recv(c->fd, c->packet, &m, &err) != 0) {
			if (err == ERR_AGAIN)
				return;
			channel_lost(c);
			return;
		}
		size_t n = m.body.n;
		deliver(c, &m);
		msg_close_fds(&m);
		/* It may have been a secret, and the next one be shorter. */
		explicit_bzero(c->packet, MSG_SIZE_MAX - MSG_BODY_MAX + n);
	}
}

static void
on_writable(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct channel *c = arg;

	while (!STAILQ_EMPTY(&c->queue)) {
		struct queued *q = STAILQ_FIRST(&c->queue);
		enum err err = ERR_NONE;
		if (msg_send(c->fd, &q->msg, &err) != 0) {
			if (err == ERR_AGAIN)
				return;
			if (err != ERR_CLOSED) {
				channel_lost(c);
				return;
			}
			/* Its last words may be unread: the read event tells. */
		}
		drop_queued(c, q);
	}
	event_del(c->writable);
}

static void
channel_reaped(struct loop_item *item)
{
	struct channel *c = (struct channel *)item;

	event_free(c->readable);
	event_free(c->writable);
	explicit_bzero(c->packet, MSG_SIZE_MAX);
	free(c->packet);
	free(c);
}

struct channel *
channel_new(struct loop *l, int fd, channel_on_msg *on_msg, void *arg,
    enum err *err)
{
	struct channel *c = calloc(1, sizeof(*c));

	if (c == NULL || (c->packet = malloc(MSG_SIZE_MAX)) == NULL)
		goto fail;
	c->dead.free = channel_reaped;
	c->loop = l;
	c->fd = fd;
	c->on_msg = on_msg;
	c->arg = arg;
	STAILQ_INIT(&c->queue);
	LIST_INIT(&c->waits);
	c->readable =
	    event_new(loop_base(l), fd, EV_READ | EV_PERSIST, on_readable, c);
	c->writable =
	    event_new(loop_base(l), fd, EV_WRITE | EV_PERSIST, on_writable, c);
	if (c->readable == NULL || c->writable == NULL ||
	    event_priority_set(c->readable, LOOP_PRIORITY_IO) != 0 ||
	    event_priority_set(c->writable, LOOP_PRIORITY_IO) != 0 ||
	    event_add(c->readable, NULL) != 0)
		goto fail;
	return c;
fail:
	if (c != NULL) {
		if (c->readable != NULL)
			event_free(c->readable);
		if (c->writable != NULL)
			event_free(c->writable);
		free(c->packet);
		free(c);
	}
	close(fd);
	*err = ERR_MEMORY;
	return NULL;
}

void
channel_free(struct channel *c)
{
	if (c == NULL || c->freed)
		return;
	c->freed = true;
	channel_shut(c);
	channel_fail_waits(c);
	loop_reap(c->loop, &c->dead);
}

bool
channel_is_open(const struct channel *c)
{
	return c != NULL && c->fd >= 0 && !c->freed;
}

/* Copy a message, its descriptors too, to the end of the queue. */
static int
enqueue(struct channel *c, const struct msg *m, enum err *err)
{
	struct queued *q;

	if (c->n_queued >= CHANNEL_QUEUE_MAX) {
		*err = ERR_FULL;
		return -1;
	}
	q = calloc(1, sizeof(*q) + m->body.n);
	if (q == NULL) {
		*err = ERR_MEMORY;
		return -1;
	}
	q->msg = *m;
	q->msg.n_fds = 0;
	if (m->body.n != 0)
		memcpy(q->bytes, m->body.p, m->body.n);
	q->msg.body = slice_of(q->bytes, m->body.n);
	for (size_t i = 0; i < m->n_fds; i++) {
		int copy = fcntl(m->fds[i], F_DUPFD_CLOEXEC, 0);
		if (copy < 0) {
			*err = err_from_errno(errno);
			msg_close_fds(&q->msg);
			free(q);
			return -1;
		}
		q->msg.fds[q->msg.n_fds++] = copy;
	}
	if (STAILQ_EMPTY(&c->queue))
		event_add(c->writable, NULL);
	STAILQ_INSERT_TAIL(&c->queue, q, entry);
	c->n_queued++;
	return 0;
}

int
channel_send(struct channel *c, const struct msg *m, enum err *err)
{
	if (!channel_is_open(c)) {
		*err = ERR_CLOSED;
		return -1;
	}
	/* What came first goes first. */
	if (!STAILQ_EMPTY(&c->queue))
		return enqueue(c, m, err);
	if (msg_send(c->fd, m, err) == 0)
		return 0;
	/* A closed channel is reported by the read event, not from in here. */
	return *err == ERR_AGAIN ? enqueue(c, m, err) : -1;
}

uint32_t
channel_ask(struct channel *c, const struct msg *m,
    channel_on_answer *on_answer, void *arg, enum err *err)
{
	struct msg request = *m;
	struct waiting *w;

	if (!channel_is_open(c)) {
		*err = ERR_CLOSED;
		return 0;
	}
	if (c->n_waits >= CHANNEL_REQUESTS_MAX) {
		*err = ERR_FULL;
		return 0;
	}
	w = calloc(1, sizeof(*w));
	if (w == NULL) {
		*err = ERR_MEMORY;
		return 0;
	}
	do
		c->last_id++;
	while (c->last_id == 0 || find_wait(c, c->last_id) != NULL);
	request.id = w->id = c->last_id;
	w->on_answer = on_answer;
	w->arg = arg;
	if (channel_send(c, &request, err) != 0) {
		free(w);
		return 0;
	}
	LIST_INSERT_HEAD(&c->waits, w, entry);
	c->n_waits++;
	return w->id;
}

void
channel_cancel(struct channel *c, uint32_t id)
{
	struct waiting *w;

	if (c == NULL || id == 0)
		return;
	w = find_wait(c, id);
	if (w == NULL)
		return;
	LIST_REMOVE(w, entry);
	c->n_waits--;
	free(w);
}
