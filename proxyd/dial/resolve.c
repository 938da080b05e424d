/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.  A resolution is two questions, told of in one part or
 * two.  One that is cancelled or late is left to c-ares, which ends it within
 * seconds; it is freed when both of its questions came back and its asker was
 * told all, whichever is last.  Both questions may go out twice: what failed
 * while the network changed is asked once more.
 */
#include <sys/queue.h>

#include <netdb.h>

#include <ares.h>
#include <arpa/nameser.h>

#include "base/limits.h"
#include "dial/lines.h"
#include "dial/resolve.h"
#include "net/timer.h"

#define HOST_MAX 255
#define AWAY "the resolver failed, refused or is away"

struct resolver {
	struct loop *loop;   /* borrowed */
	struct lines *lines; /* owned */
	struct servers host;
	unsigned n_changes; /* of the network, so far */
	uint64_t settle_ms; /* wait behind the last one */
	size_t n_open;	    /* resolutions alive */
	LIST_HEAD(, resolution) open;
};

/* One of the two questions of a resolution. */
struct half {
	struct resolution *resolution;
	int type;   /* T_A or T_AAAA */
	bool ended; /* c-ares has called back */
	bool told;  /* its addresses were */
	int status; /* of c-ares */
	size_t n;
	struct ip ips[RESOLVE_ADDRESSES_MAX / 2];
};

struct resolution {
	LIST_ENTRY(resolution) entry;
	struct resolver *resolver; /* borrowed */
	struct line *line;	   /* borrowed */
	resolve_on_done *on_done;  /* NULL: told all, or cancelled */
	void *arg;
	char name[HOST_MAX + 1];
	struct servers servers;
	bool of_host;	     /* `servers` are the host's own */
	unsigned n_changes;  /* of the resolver, when it was asked */
	struct timer limit;  /* tells what is known, or asks, when it is due */
	bool starting;	     /* inside start() */
	bool again;	     /* it was, or will be, asked once more */
	bool restarting;     /* when `limit` is due */
	struct half half[2]; /* A, AAAA */
};

static bool
has_ended(const struct resolution *q)
{
	return q->half[0].ended && q->half[1].ended;
}

static void
drop_if_over(struct resolution *q)
{
	if (q->on_done != NULL || !has_ended(q))
		return;
	q->resolver->n_open--;
	LIST_REMOVE(q, entry);
	timer_release(&q->limit);
	free(q);
}

/* Why there is no address, in the order of what helps people most. */
static const char *
why_not(const struct resolution *q)
{
	static const struct {
		int status;
		const char *text;
	} rows[] = {
		{ ARES_ENOTFOUND, "no such name" },
		/* c-ares tells these three apart only for the last server. */
		{ ARES_ESERVFAIL, AWAY },
		{ ARES_EREFUSED, AWAY },
		{ ARES_ECONNREFUSED, AWAY },
		{ ARES_ECANCELLED, "the network has changed" },
		{ ARES_EBADRESP, "malformed or unusable answer" },
		{ ARES_ENODATA, "the name has no address" },
	};

	if (!has_ended(q))
		return "no answer in time";
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (size_t j = 0; j < 2; j++)
			if (q->half[j].status == rows[i].status)
				return rows[i].text;
	return "no answer in time";
}

/* Tell the asker what is known now; `more`: of one family, the other follows. */
static void
tell(struct resolution *q, bool more)
{
	struct resolved answer = { .reason = REASON_UP_RESOLVE,
		.detail = "",
		.more = more };
	resolve_on_done *on_done = q->on_done;
	bool was_told = q->half[0].told || q->half[1].told;

	for (size_t i = 0; i < 2; i++) {
		struct half *half = &q->half[i];
		for (size_t j = 0; !half->told && j < half->n; j++)
			answer.ips[answer.n++] = half->ips[j];
		half->told |= half->n != 0;
	}
	if (answer.n != 0 || was_told)
		answer.reason = REASON_ALLOW;
	else
		answer.detail = why_not(q);
	if (more) {
		timer_set(&q->limit, LIMIT_RESOLVE_MS);
		on_done(&answer, q->arg);
		return; /* it may be gone */
	}
	timer_stop(&q->limit);
	q->on_done = NULL;
	on_done(&answer, q->arg);
	drop_if_over(q);
}

static void start(struct resolution *q);

static void
on_limit(void *arg)
{
	struct resolution *q = arg;
	bool late = !q->half[0].told && !q->half[1].told &&
	    q->half[0].n + q->half[1].n != 0 && !has_ended(q);

	if (q->restarting)
		start(q);
	else
		tell(q, late);
}

/* It failed, and meanwhile the network became another: ask once more. */
static bool
wants_again(const struct resolution *q)
{
	return !q->again && q->n_changes != q->resolver->n_changes &&
	    q->half[0].n + q->half[1].n == 0;
}

/*
 * One half is here.  RFC 8305 section 3: IPv6 addresses are told at once, IPv4
 * ones wait for the others RESOLVE_DELAY_MS, and what comes later is told, too.
 */
static void
on_half(struct resolution *q, const struct half *half)
{
	bool was_told = q->half[0].told || q->half[1].told;

	if (q->on_done == NULL) {
		drop_if_over(q);
	} else if (has_ended(q) && wants_again(q)) {
		q->again = q->restarting = true;
		/* Not from inside c-ares. */
		timer_set(&q->limit, q->resolver->settle_ms);
	} else if (has_ended(q) && !q->starting) {
		tell(q, false);
	} else if (has_ended(q)) {
		timer_set(&q->limit, 0);
	} else if (half->n != 0 && !was_told) {
		timer_set(&q->limit, half->type == T_A ? RESOLVE_DELAY_MS : 0);
	}
}

static size_t
count_aliases(const struct hostent *h)
{
	size_t n = 0;

	while (h->h_aliases != NULL && h->h_aliases[n] != NULL)
		n++;
	return n;
}

/* Keep the addresses of one answer. */
static void
keep(struct half *half, const struct hostent *h)
{
	uint8_t family = half->type == T_A ? 4 : 6;
	size_t size = family == 4 ? 4 : 16;

	if (count_aliases(h) > RESOLVE_CNAMES_MAX) {
		half->status = ARES_EBADRESP;
		return;
	}
	if ((size_t)h->h_length != size)
		return;
	for (size_t i = 0; h->h_addr_list[i] != NULL; i++) {
		if (half->n == COUNT_OF(half->ips))
			break;
		struct ip *ip = &half->ips[half->n++];
		*ip = (struct ip){ .family = family };
		memcpy(ip->bytes, h->h_addr_list[i], size);
	}
}

static void
on_answer(void *arg, int status, int timeouts UNUSED, unsigned char *bytes,
    int n)
{
	struct half *half = arg;
	struct hostent *h = NULL;

	half->ended = true;
	line_answered(half->resolution->line);
	if (status == ARES_SUCCESS && half->type == T_A)
		status = ares_parse_a_reply(bytes, n, &h, NULL, NULL);
	else if (status == ARES_SUCCESS)
		status = ares_parse_aaaa_reply(bytes, n, &h, NULL, NULL);
	half->status = status;
	if (status == ARES_SUCCESS)
		keep(half, h);
	if (h != NULL)
		ares_free_hostent(h);
	on_half(half->resolution, half);
}

struct resolver *
resolver_new(struct loop *l, enum err *err)
{
	struct resolver *r = calloc(1, sizeof(*r));

	*err = ERR_MEMORY;
	if (r == NULL)
		return NULL;
	r->lines = lines_new(l, err);
	if (r->lines == NULL) {
		free(r);
		return NULL;
	}
	r->loop = l;
	LIST_INIT(&r->open);
	r->host = servers_read((struct slice){ 0 });
	return r;
}

void
resolver_free(struct resolver *r)
{
	if (r == NULL)
		return;
	for (struct resolution *q = LIST_FIRST(&r->open), *next; q != NULL;
	     q = next) {
		next = LIST_NEXT(q, entry);
		resolve_cancel(q);
	}
	/* Ends every question; each finds its asker forgotten. */
	lines_free(r->lines);
	free(r);
}

/* Ends the questions of a line, but none for the second time. */
static bool
may_cancel(const struct resolver *r, const struct line *line)
{
	const struct resolution *q;

	LIST_FOREACH(q, &r->open, entry)
		if (q->line == line && q->again)
			return false;
	return true;
}

static void
note_change(struct resolver *r, uint64_t settle_ms)
{
	struct resolution *q, *next;

	r->n_changes++;
	r->settle_ms = settle_ms;
	for (q = LIST_FIRST(&r->open); q != NULL; q = next) {
		next = LIST_NEXT(q, entry);
		if (!has_ended(q) && q->n_changes != r->n_changes &&
		    may_cancel(r, q->line)) {
			line_cancel(q->line);
			next = LIST_FIRST(&r->open); /* some are gone */
		}
	}
}

void
resolver_network_changed(struct resolver *r)
{
	note_change(r, RESOLVE_SETTLE_MS);
}

void
resolver_set_host(struct resolver *r, const struct servers *s)
{
	struct resolution *q;

	if (servers_eq(&r->host, s))
		return;
	r->host = *s;
	note_change(r, 0);
	LIST_FOREACH(q, &r->open, entry)
		if (q->restarting)
			timer_set(&q->limit,
			    0); /* this is what it waited for */
}

/* Ask both questions. */
static void
start(struct resolution *q)
{
	struct resolver *r = q->resolver;
	static const int types[] = { T_A, T_AAAA };

	if (q->of_host)
		q->servers = r->host;
	q->restarting = false;
	struct line *line = lines_find(r->lines, &q->servers);
	if (line == NULL) {
		tell(q, false);
		return;
	}
	q->line = line;
	q->n_changes = r->n_changes;
	timer_set(&q->limit, LIMIT_RESOLVE_MS);
	q->starting = true;
	for (size_t i = 0; i < 2; i++)
		q->half[i] = (struct half){ .resolution = q, .type = types[i] };
	for (size_t i = 0; i < 2; i++)
		line_ask(line, q->name, types[i], on_answer, &q->half[i]);
	q->starting = false;
}

struct resolution *
resolve_start(struct resolver *r, struct slice host, const struct servers *s,
    resolve_on_done *on_done, void *arg, enum err *err)
{
	struct resolution *q;

	*err = ERR_FULL;
	if (host.n > HOST_MAX || r->n_open >= RESOLVE_MAX ||
	    lines_find(r->lines, s == NULL ? &r->host : s) == NULL)
		return NULL;
	*err = ERR_MEMORY;
	q = calloc(1, sizeof(*q));
	if (q == NULL)
		return NULL;
	if (timer_init(&q->limit, r->loop, on_limit, q, err) != 0) {
		free(q);
		return NULL;
	}
	memcpy(q->name, host.p, host.n);
	q->of_host = s == NULL;
	if (s != NULL)
		q->servers = *s;
	r->n_open++;
	LIST_INSERT_HEAD(&r->open, q, entry);
	q->resolver = r;
	q->on_done = on_done;
	q->arg = arg;
	start(q);
	*err = ERR_NONE;
	return q;
}

void
resolve_cancel(struct resolution *q)
{
	if (q == NULL)
		return;
	q->on_done = NULL;
	timer_stop(&q->limit);
	drop_if_over(q);
}
