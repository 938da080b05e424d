/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/queue.h>

#include "base/limits.h"
#include "http/pool.h"
#include "net/timer.h"

/* As many as a busy sandbox uses at once; others make room for new dials. */
#define IDLE_MAX (LIMIT_UPSTREAMS / 2)

struct idle {
	struct loop_item dead; /* first */
	TAILQ_ENTRY(idle) entry;
	struct pool *pool;     /* borrowed */
	struct stream *stream; /* owned; NULL once taken or closed */
	struct pool_key key;   /* key.host points to `host` */
	struct host host;
	struct timer limit;
};

struct pool {
	struct loop *loop;		  /* borrowed */
	TAILQ_HEAD(idle_list, idle) idle; /* the one used last comes first */
	size_t n;
};

static void
idle_reaped(struct loop_item *item)
{
	struct idle *i = (struct idle *)item;

	timer_release(&i->limit);
	free(i);
}

/* Take it off the list; the stream is the caller's. */
static struct stream *
unlink_idle(struct idle *i)
{
	struct stream *s = i->stream;

	TAILQ_REMOVE(&i->pool->idle, i, entry);
	i->pool->n--;
	i->stream = NULL;
	stream_on(s, NULL, NULL);
	timer_stop(&i->limit);
	loop_reap(i->pool->loop, &i->dead);
	return s;
}

static void
on_limit(void *arg)
{
	stream_close(unlink_idle(arg));
}

static void
on_news(struct stream *s, void *arg)
{
	/* Whatever it is: nobody asked for it. */
	if (!stream_is_idle(s))
		stream_close(unlink_idle(arg));
}

struct pool *
pool_new(struct loop *l)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->loop = l;
	TAILQ_INIT(&p->idle);
	return p;
}

void
pool_free(struct pool *p)
{
	if (p == NULL)
		return;
	while (!TAILQ_EMPTY(&p->idle))
		stream_close(unlink_idle(TAILQ_FIRST(&p->idle)));
	free(p);
}

bool
pool_key_eq(const struct pool_key *a, const struct pool_key *b)
{
	return a->port == b->port && a->tls == b->tls && a->alpn == b->alpn &&
	    a->public_only == b->public_only &&
	    a->generation == b->generation && host_eq(a->host, b->host);
}

struct stream *
pool_take(struct pool *p, const struct pool_key *key)
{
	struct idle *i;

	TAILQ_FOREACH(i, &p->idle, entry)
		if (pool_key_eq(&i->key, key) && stream_is_idle(i->stream))
			return unlink_idle(i);
	return NULL;
}

void
pool_put(struct pool *p, const struct pool_key *key, struct stream *s)
{
	enum err err;
	struct idle *i;

	if (!stream_is_idle(s) || p->n >= IDLE_MAX ||
	    (i = calloc(1, sizeof(*i))) == NULL) {
		stream_close(s);
		return;
	}
	i->dead.free = idle_reaped;
	if (timer_init(&i->limit, p->loop, on_limit, i, &err) != 0) {
		free(i);
		stream_close(s);
		return;
	}
	i->pool = p;
	i->stream = s;
	i->key = *key;
	i->host = *key->host;
	i->key.host = &i->host;
	TAILQ_INSERT_HEAD(&p->idle, i, entry);
	p->n++;
	stream_on(s, on_news, i);
	timer_set(&i->limit, LIMIT_POOL_IDLE_MS);
}

bool
pool_drop_oldest(struct pool *p)
{
	if (TAILQ_EMPTY(&p->idle))
		return false;
	stream_close(unlink_idle(TAILQ_LAST(&p->idle, idle_list)));
	return true;
}

size_t
pool_count(const struct pool *p)
{
	return p->n;
}
