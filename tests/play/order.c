/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"
#include "row.h"

size_t
order_choose(struct order *o, size_t n)
{
	size_t at = o->n++;

	if (o->of[at] == 0)
		o->pick[at] = 0;
	o->of[at] = (uint8_t)n;
	return o->pick[at];
}

bool
order_next(struct order *o)
{
	while (o->n != 0) {
		size_t at = o->n - 1;
		if (o->pick[at] + 1U < o->of[at]) {
			o->pick[at]++;
			memset(o->of + o->n, 0, sizeof(o->of) - o->n);
			return true;
		}
		o->of[at] = 0;
		o->n--;
	}
	return false;
}

uint32_t
roll(struct play *p, uint32_t sides)
{
	p->dice = p->dice * 1664525 + 1013904223;
	return (p->dice >> 8) % sides;
}

/* --- what can happen now ------------------------------------------------- */

static bool
may_client_say(const struct play *p)
{
	const struct peer *c = p->w.client;

	/* Behind its hello it waits for the handshake. */
	return !c->closed && !c->breaks && p->client.said < p->client.n &&
	    (p->client.said == 0 || !p->script->tls || c->is_tls);
}

/* An origin answers what it has seen something of. */
static bool
may_upstream_say(const struct play *p)
{
	return p->other != NULL && !p->other->closed && !p->other->breaks &&
	    !p->other->ends && p->other->got.n != 0 &&
	    p->upstream.said < p->upstream.n;
}

static bool
may_end(const struct peer *s, const struct pieces *pieces)
{
	return s != NULL && !s->closed && !s->breaks && !s->ends &&
	    pieces->said == pieces->n;
}

static bool
may_take(const struct peer *s)
{
	return s != NULL && !s->closed && s->window != SIZE_MAX;
}

static bool
may_go_wrong(const struct play *p)
{
	switch (p->wrong) {
	case WRONG_NOTHING:
	case WRONG_COUNT:
		return false;
	case WRONG_CLIENT_BREAKS:
		return !p->w.client->closed;
	case WRONG_UPSTREAM_BREAKS:
	case WRONG_UPSTREAM_ENDS:
		return p->other != NULL && !p->other->closed;
	case WRONG_DIAL:
	case WRONG_RELEASE:
	case WRONG_SCRIBE:
	case WRONG_SHUTDOWN:
		break;
	}
	return true;
}

bool
may_happen(struct play *p, enum token t)
{
	switch (t) {
	case CLIENT_SAYS:
		return may_client_say(p);
	case CLIENT_ENDS:
		return may_end(p->w.client, &p->client);
	case CLIENT_TAKES:
		return may_take(p->w.client);
	case UPSTREAM_SAYS:
		return may_upstream_say(p);
	case UPSTREAM_ENDS:
		return may_end(p->other, &p->upstream);
	case UPSTREAM_TAKES:
		return may_take(p->other);
	case ROLE_WRITTEN:
	case ROLE_DIAL:
	case ROLE_RELEASE:
	case ROLE_SHAKE:
		return world_answer(&p->w, (enum asked_kind)(t - ROLE_WRITTEN),
		    false);
	case GOES_WRONG:
		return may_go_wrong(p);
	case TOKEN_COUNT:
		break;
	}
	return false;
}

/* --- and that it does ---------------------------------------------------- */

static void
go_wrong(struct play *p)
{
	switch (p->wrong) {
	case WRONG_CLIENT_BREAKS:
		p->w.client->breaks = true;
		break;
	case WRONG_UPSTREAM_BREAKS:
		p->other->breaks = true;
		break;
	case WRONG_UPSTREAM_ENDS:
		p->other->ends = true;
		break;
	case WRONG_DIAL:
		p->w.dials = REASON_UP_CONNECT;
		break;
	case WRONG_RELEASE:
		p->w.releases = REASON_CRED_UNAVAILABLE;
		break;
	case WRONG_SCRIBE:
		p->w.scribe_fails = true;
		break;
	case WRONG_SHUTDOWN:
		sandbox_close(p->w.sandbox);
		break;
	case WRONG_NOTHING:
	case WRONG_COUNT:
		break;
	}
	p->went_wrong = true;
	p->wrong = WRONG_NOTHING;
}

static void
say(struct peer *s, struct pieces *pieces)
{
	assert_true(buf_put(&s->sends, pieces->at[pieces->said++]));
}

static void
take(struct play *p, struct peer *s)
{
	if (p->dice == 0 || roll(p, 4) == 0)
		s->window = SIZE_MAX;
	else
		s->window += roll(p, 40) + 1;
}

void
happen(struct play *p, enum token t)
{
	struct peer *c = p->w.client;

	switch (t) {
	case CLIENT_SAYS:
		say(c, &p->client);
		break;
	case CLIENT_ENDS:
		c->ends = true;
		break;
	case CLIENT_TAKES:
		take(p, c);
		break;
	case UPSTREAM_SAYS:
		say(p->other, &p->upstream);
		if (p->upstream.said == p->upstream.n)
			p->early = p->other->got.n < strlen(p->script->arrives);
		break;
	case UPSTREAM_ENDS:
		p->other->ends = true;
		break;
	case UPSTREAM_TAKES:
		take(p, p->other);
		break;
	case ROLE_WRITTEN:
	case ROLE_DIAL:
	case ROLE_RELEASE:
	case ROLE_SHAKE:
		(void)world_answer(&p->w, (enum asked_kind)(t - ROLE_WRITTEN),
		    true);
		break;
	case GOES_WRONG:
		go_wrong(p);
		break;
	case TOKEN_COUNT:
		break;
	}
}
