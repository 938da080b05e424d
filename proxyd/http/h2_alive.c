/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/clock.h"
#include "http/h2_alive.h"
#include "http/h2_part.h"

struct h2_alive {
	struct timer timer;
	uint64_t moved;	   /* bytes either way, when it was looked at last */
	uint64_t came;	   /* those of the peer, when it was asked */
	uint64_t asked_ms; /* when; 0: never */
	bool is_asked;	   /* nothing has come since */
};

static uint64_t
moved(const struct h2_conn *c)
{
	return c->bytes->n_in + c->bytes->n_out;
}

static void
look_again(struct h2_conn *c)
{
	c->alive->is_asked = false;
	c->alive->moved = moved(c);
	timer_set(&c->alive->timer, LIMIT_H2_SILENT_MS);
}

static void
ask(struct h2_conn *c)
{
	struct h2_alive *a = c->alive;

	a->is_asked = true;
	a->came = c->bytes->n_in;
	a->asked_ms = clock_ms();
	(void)nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE, NULL);
	timer_set(&a->timer, LIMIT_H2_PING_MS);
	h2_wake(c);
}

static void
on_due(void *arg)
{
	struct h2_conn *c = arg;
	struct h2_alive *a = c->alive;

	if (c->n_streams == 0)
		return; /* the next one watches again */
	if (a->is_asked && c->bytes->n_in == a->came) {
		h2_fail(c, REASON_UP_RESPONSE, "silent, and answers no PING");
		h2_wake(c);
		return;
	}
	if (a->is_asked || moved(c) != a->moved ||
	    (a->asked_ms != 0 &&
		clock_ms() - a->asked_ms < LIMIT_H2_PING_AGAIN_MS))
		look_again(c);
	else
		ask(c);
}

bool
h2_alive_watch(struct h2_conn *c)
{
	enum err err;

	if (c->alive == NULL) {
		struct h2_alive *a = calloc(1, sizeof(*a));
		if (a == NULL ||
		    timer_init(&a->timer, c->loop, on_due, c, &err) != 0) {
			free(a);
			return false;
		}
		c->alive = a;
	}
	if (!timer_is_set(&c->alive->timer))
		look_again(c);
	return true;
}

void
h2_alive_stop(struct h2_conn *c)
{
	if (c->alive != NULL)
		timer_stop(&c->alive->timer);
}

void
h2_alive_release(struct h2_conn *c)
{
	if (c->alive == NULL)
		return;
	timer_release(&c->alive->timer);
	free(c->alive);
}
