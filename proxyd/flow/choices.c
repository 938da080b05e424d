/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/choices.h"
#include "base/clock.h"
#include "base/limits.h"

struct choice {
	TAILQ_ENTRY(choice) entry;
	struct host host;
	uint64_t until_ms;
	uint16_t port;
	enum alpn_offer offer;
	enum alpn chosen;
	bool may_connect;
};

static void
drop(struct choices *c, struct choice *e)
{
	TAILQ_REMOVE(&c->all, e, entry);
	c->n--;
	free(e);
}

/* They are put at the head, each for the same time: the old are at the end. */
static void
drop_old(struct choices *c)
{
	uint64_t now = clock_ms();
	struct choice *e;

	while ((e = TAILQ_LAST(&c->all, choice_list)) != NULL &&
	    e->until_ms <= now)
		drop(c, e);
}

static struct choice *
find(struct choices *c, const struct host *host, uint16_t port,
    enum alpn_offer offer)
{
	struct choice *e;

	TAILQ_FOREACH(e, &c->all, entry)
		if (e->port == port && e->offer == offer &&
		    host_eq(&e->host, host))
			return e;
	return NULL;
}

void
choices_init(struct choices *c)
{
	TAILQ_INIT(&c->all);
	c->n = 0;
}

void
choices_release(struct choices *c)
{
	while (!TAILQ_EMPTY(&c->all))
		drop(c, TAILQ_FIRST(&c->all));
}

bool
choices_find(struct choices *c, const struct host *host, uint16_t port,
    enum alpn_offer offer, enum alpn *chosen)
{
	const struct choice *e;

	drop_old(c);
	e = find(c, host, port, offer);
	if (e != NULL)
		*chosen = e->chosen;
	return e != NULL;
}

void
choices_put(struct choices *c, const struct host *host, uint16_t port,
    enum alpn_offer offer, enum alpn chosen)
{
	struct choice *e = find(c, host, port, offer);

	if (e != NULL)
		drop(c, e);
	if (c->n == LIMIT_CHOICES)
		drop(c, TAILQ_LAST(&c->all, choice_list));
	e = malloc(sizeof(*e));
	if (e == NULL)
		return;
	*e = (struct choice){ .host = *host,
		.until_ms = clock_ms() + LIMIT_CHOICE_MS,
		.port = port,
		.offer = offer,
		.chosen = chosen };
	TAILQ_INSERT_HEAD(&c->all, e, entry);
	c->n++;
}

void
choices_note_connect(struct choices *c, const struct host *host, uint16_t port,
    bool may_connect)
{
	struct choice *e;

	TAILQ_FOREACH(e, &c->all, entry)
		if (e->port == port && host_eq(&e->host, host))
			e->may_connect = may_connect && e->chosen == ALPN_H2;
}

bool
choices_may_connect(struct choices *c, const struct host *host, uint16_t port)
{
	const struct choice *e;

	drop_old(c);
	TAILQ_FOREACH(e, &c->all, entry)
		if (e->port == port && e->may_connect &&
		    host_eq(&e->host, host))
			return true;
	return false;
}

void
choices_forget(struct choices *c, const struct host *host, uint16_t port)
{
	struct choice *e = TAILQ_FIRST(&c->all);

	for (struct choice *after; e != NULL; e = after) {
		after = TAILQ_NEXT(e, entry);
		if (e->port == port && host_eq(&e->host, host))
			drop(c, e);
	}
}
