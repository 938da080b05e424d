/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <event2/event.h>

#include "audit/event.h"
#include "base/clock.h"
#include "base/wr.h"
#include "http/pool.h"
#include "peer.h"
#include "policy/git.h"
#include "seen.h"

#define START_MS 1000000
#define START_US 1700000000000000

/* --- the other roles ----------------------------------------------------- */

struct asked {
	struct asked *next;
	enum asked_kind kind;
	bool tls;
	enum alpn_offer offer; /* of a dial */
	enum alpn alpn;	       /* of a handshake */
	struct stream *client;
	asks_on_written *on_written;
	asks_on_dialled *on_dialled;
	asks_on_released *on_released;
	asks_on_shaken *on_shaken;
	asks_on_spooled *on_spooled;
	uint32_t generation; /* that it is asked by */
	uint32_t credential;
	bool of_git; /* for a rule of git+https */
	void *arg;
};

static struct asked *
asked_new(struct world *w, enum asked_kind kind, void *arg)
{
	struct asked *q = calloc(1, sizeof(*q));
	struct asked **end = &w->asked;

	assert(q != NULL);
	q->kind = kind;
	q->arg = arg;
	w->n_asked++;
	while (*end != NULL)
		end = &(*end)->next;
	*end = q;
	return q;
}

static void
asked_unlink(struct world *w, struct asked *q)
{
	struct asked **at = &w->asked;

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
}

static enum reason
may_admit(void *arg)
{
	return ((struct world *)arg)->admits;
}

static bool
is_behind(void *arg)
{
	return ((struct world *)arg)->scribe_behind;
}

static bool
record(void *arg, const struct event *e, asks_on_written *on_written,
    void *cb_arg)
{
	struct world *w = arg;
	static uint8_t bytes[EVENT_SIZE_MAX];
	enum event_field missing;
	struct event back;

	if (w->scribe_fails)
		return on_written == NULL;
	if (event_check(e, &missing) != NULL ||
	    !event_decode(slice_of(bytes,
			      event_encode(e, bytes, sizeof(bytes))),
		&back)) {
		w->n_wrong++;
		return false;
	}
	seen_record(w, &back);
	w->n_allowed += e->kind == EVENT_REQUEST_END &&
	    slice_eq(event_text_of(&back, FIELD_VERDICT), SLICE("allow"));
	w->n_passed += e->kind == EVENT_FLOW_END &&
	    slice_has_prefix(event_text_of(&back, FIELD_REASON),
		SLICE("allow."));
	buf_putf(&w->records, "%s %.*s %.*s %u\n", event_name(e->kind),
	    SLICE_ARG(event_text_of(&back, FIELD_VERDICT)),
	    SLICE_ARG(event_text_of(&back, FIELD_REASON)),
	    (unsigned)event_number_of(&back, FIELD_STATUS));
	if (on_written != NULL)
		asked_new(w, ASKED_WRITTEN, cb_arg)->on_written = on_written;
	return true;
}

static struct asked *
dial(void *arg, struct sandbox *sb, const struct dial_ask *ask,
    asks_on_dialled *on, void *cb_arg)
{
	struct asked *q = asked_new(arg, ASKED_DIAL, cb_arg);

	(void)sb;
	q->on_dialled = on;
	q->generation = ask->generation->number;
	q->tls = ask->tls;
	q->offer = ask->alpn;
	return q;
}

static struct asked *
release(void *arg, struct sandbox *sb, const struct release_ask *ask,
    asks_on_released *on, void *cb_arg)
{
	struct asked *q = asked_new(arg, ASKED_RELEASE, cb_arg);
	struct git_rule git;

	(void)sb;
	seen_release(arg);
	q->credential = ask->credential;
	q->generation = ask->generation->number;
	q->of_git = git_rule(ask->generation->program, ask->rule, &git);
	q->on_released = on;
	return q;
}

static struct asked *
shake(void *arg, struct sandbox *sb, const struct shake_ask *ask,
    asks_on_shaken *on, void *cb_arg)
{
	struct asked *q = asked_new(arg, ASKED_SHAKE, cb_arg);

	(void)sb;
	q->client = ask->client;
	q->generation = ask->generation->number;
	q->alpn = ask->alpn;
	q->on_shaken = on;
	return q;
}

static struct asked *
spool(void *arg, struct sandbox *sb, asks_on_spooled *on, void *cb_arg)
{
	struct asked *q = asked_new(arg, ASKED_SPOOL, cb_arg);

	(void)sb;
	q->on_spooled = on;
	return q;
}

static void
cancel(void *arg, struct asked *q)
{
	if (q == NULL)
		return;
	asked_unlink(arg, q);
	free(q);
}

static bool
is_verified(void *arg, const struct stream *s, const struct host *host)
{
	(void)arg;
	(void)host;
	return ((const struct scripted *)s)->peer->is_tls;
}

static enum alpn
alpn(void *arg, const struct stream *s)
{
	(void)arg;
	return ((const struct scripted *)s)->peer->alpn;
}

static bool
speaks_none(void *arg, const struct stream *s)
{
	(void)arg;
	return ((const struct scripted *)s)->peer->speaks_none;
}

static const struct asks asks = {
	.may_admit = may_admit,
	.is_behind = is_behind,
	.record = record,
	.dial = dial,
	.release = release,
	.shake = shake,
	.spool = spool,
	.cancel = cancel,
	.is_verified = is_verified,
	.alpn = alpn,
	.speaks_none = speaks_none,
};

/* The reason that another role has for not answering, or `reason`. */
static enum reason
unless_changed(const struct world *w, const struct asked *q, enum reason reason)
{
	size_t has = w->roles_at == 0 ? w->n_programs : w->roles_at;

	return q->generation == has ? reason : REASON_POLICY_CHANGED;
}

static void
answer_dial(struct world *w, const struct asked *q)
{
	struct dial_answer a = { .reason = unless_changed(w, q, w->dials),
		.detail = SLICE("scripted"),
		.address = SLICE("192.0.2.1"),
		.cookie = 7 };

	if (a.reason == REASON_ALLOW && w->n_upstreams < WORLD_UPSTREAMS_MAX) {
		struct peer *p = &w->upstream[w->n_upstreams++];
		p->is_tls = q->tls;
		p->alpn = alpn_offer_has(q->offer, w->chooses) ? w->chooses :
								 ALPN_NONE;
		p->speaks_none = w->speaks_none;
		p->breaks = w->breaks || w->speaks_none;
		w->offered = q->offer;
		w->latest = p;
		a.stream = peer_stream(p);
	} else if (a.reason == REASON_ALLOW) {
		a.reason = REASON_LIMIT_CONNS;
	}
	q->on_dialled(&a, q->arg);
}

/* The client's side becomes TLS: what it sends from now on is in the clear. */
static void
answer_shake(struct world *w, const struct asked *q)
{
	struct scripted *peeked = (struct scripted *)q->client;
	struct peer *peer = peeked->peer;

	if (unless_changed(w, q, REASON_ALLOW) != REASON_ALLOW) {
		q->on_shaken(NULL, REASON_POLICY_CHANGED, q->arg);
		return;
	}
	peeked->peer = NULL;
	stream_close(q->client);
	peer->is_tls = true;
	peer->alpn = q->alpn;
	q->on_shaken(peer_stream(peer), REASON_ALLOW, q->arg);
}

static void
answer_spool(struct world *w, const struct asked *q)
{
	int fd = -1;

	if (w->disk_full)
		fd = open("/dev/full", O_RDWR | O_CLOEXEC);
	else if (!w->spools_fail)
		fd = memfd_create("spool", MFD_CLOEXEC);

	w->n_spooled += fd >= 0;
	q->on_spooled(fd, fd >= 0 ? (struct slice){ 0 } : SLICE("scripted"),
	    q->arg);
}

static bool
waits(const struct world *w, const struct asked *q)
{
	return (q->kind == ASKED_WRITTEN && w->scribe_waits) ||
	    (q->kind == ASKED_DIAL && w->dial_waits) ||
	    (q->kind == ASKED_RELEASE && w->release_waits) ||
	    (q->kind == ASKED_SPOOL && w->spools_wait);
}

static struct slice
released(const struct world *w, const struct asked *q)
{
	if (w->releases != REASON_ALLOW)
		return (struct slice){ 0 };
	if (w->value_of != NULL)
		return w->value_of(w, q->credential);
	/* "oauth2:" and the other one's token, as gitlab wants it */
	return q->of_git ? SLICE("Basic b2F1dGgyOmNhbmFyeS1vZi10aGlydHktdHdv"
				 "LWJ5dGVzLTAxMjM=") :
			   w->secret;
}

static void
answer(struct world *w, struct asked *q)
{
	asked_unlink(w, q);
	switch (q->kind) {
	case ASKED_WRITTEN:
		q->on_written(!w->scribe_fails, q->arg);
		break;
	case ASKED_DIAL:
		answer_dial(w, q);
		break;
	case ASKED_RELEASE:
		q->on_released(unless_changed(w, q, w->releases),
		    released(w, q), q->arg);
		break;
	case ASKED_SHAKE:
		answer_shake(w, q);
		break;
	case ASKED_SPOOL:
		answer_spool(w, q);
		break;
	}
	free(q);
}

/* Answer the oldest question that is not held; false: there is none. */
static bool
answer_one(struct world *w)
{
	struct asked *q = w->asked;

	while (q != NULL && waits(w, q))
		q = q->next;
	if (q != NULL)
		answer(w, q);
	return q != NULL;
}

bool
world_answer(struct world *w, enum asked_kind kind, bool now)
{
	struct asked *q = w->asked;

	while (q != NULL && q->kind != kind)
		q = q->next;
	if (q != NULL && now)
		answer(w, q);
	return q != NULL;
}

/* --- the world ----------------------------------------------------------- */

void
world_init(struct world *w, struct program *program)
{
	enum err err;

	*w = (struct world){ .now_ms = START_MS };
	clock_set(START_MS, START_US);
	w->admits = w->dials = w->releases = REASON_ALLOW;
	w->chooses = ALPN_HTTP11;
	w->secret = SLICE("Bearer canary-of-thirty-two-bytes-0123");
	w->loop = loop_new(&err);
	assert(w->loop != NULL);
	buf_init(&w->records, 4 << 20);
	w->latest = &w->upstream[0];
	w->client = &w->clients[0];
	for (size_t i = 0; i < WORLD_CLIENTS_MAX; i++) {
		peer_init(&w->clients[i], w);
		w->clients[i].is_client = true;
	}
	for (size_t i = 0; i < WORLD_UPSTREAMS_MAX; i++)
		peer_init(&w->upstream[i], w);
	w->sandbox = sandbox_new(w->loop, &asks, w, 1, &err);
	assert(w->sandbox != NULL);
	sandbox_set_name(w->sandbox, SLICE("play"));
	if (program != NULL)
		world_set_program(w, program);
}

void
world_set_program(struct world *w, struct program *program)
{
	assert(w->n_programs < WORLD_PROGRAMS_MAX);
	w->programs[w->n_programs++] = program_ref(program);
	bool set =
	    sandbox_set_program(w->sandbox, program, (uint32_t)w->n_programs,
		SLICE("sha256:0000000000000000000000000000000000000000000000"
		      "000000000000000000"));
	assert(set);
	world_turn(w);
}

void
world_release(struct world *w)
{
	sandbox_close(w->sandbox);
	w->scribe_waits = w->dial_waits = w->release_waits = w->spools_wait =
	    false;
	world_turn(w);
	pool_free(w->sandbox->pool);
	w->sandbox->pool = NULL;
	world_turn(w);
	assert(w->asked == NULL);
	sandbox_free(w->sandbox);
	for (size_t i = 0; i < w->n_programs; i++)
		program_free(w->programs[i]);
	loop_free(w->loop);
	buf_release(&w->records);
	for (size_t i = 0; i < WORLD_CLIENTS_MAX; i++)
		peer_release(&w->clients[i]);
	for (size_t i = 0; i < WORLD_UPSTREAMS_MAX; i++)
		peer_release(&w->upstream[i]);
	clock_set(0, 0);
}

void
world_connect(struct world *w, const struct ip *dst, uint16_t port)
{
	assert(w->n_clients < WORLD_CLIENTS_MAX);
	w->client = &w->clients[w->n_clients++];
	flow_new(w->sandbox, peer_stream(w->client), dst, port, REASON_ALLOW);
	world_turn(w);
}

static void
wake(struct peer *p)
{
	if (p->stream == NULL || p->stream->closed)
		return;
	/* A script has no descriptor that could say "writable". */
	p->stream->wait_write = STREAM_IO_OK;
	stream_wake(p->stream);
}

static void
turn(struct world *w)
{
	for (size_t i = 0; i < w->n_clients; i++)
		wake(&w->clients[i]);
	for (size_t i = 0; i < w->n_upstreams; i++)
		wake(&w->upstream[i]);
	for (int i = 0; i < 4; i++)
		event_base_loop(loop_base(w->loop), EVLOOP_NONBLOCK);
}

/*
 * Whatever could be done was done: flows that are run again, with nothing new,
 * change nothing.  Else one was waiting for an event that need not come.
 */
static void
check_settled(struct world *w)
{
	struct seen before = seen_now(w);

	sandbox_run(w->sandbox);
	turn(w);
	seen_same(w, before);
}

void
world_move(struct world *w)
{
	turn(w);
	check_settled(w);
}

void
world_turn(struct world *w)
{
	for (bool more = true; more;) {
		turn(w);
		more = answer_one(w);
	}
	if (!w->fails)
		check_settled(w);
}

static void
set_clock(const struct world *w)
{
	int64_t wall_us = START_US + (int64_t)(w->now_ms - START_MS) * 1000 +
	    w->wall_s * 1000000;

	clock_set(w->now_ms, (uint64_t)wall_us);
}

void
world_set_wall(struct world *w, int64_t seconds)
{
	w->wall_s += seconds;
	set_clock(w);
	timer_fire_due();
	world_turn(w);
}

void
world_pass(struct world *w, uint64_t ms)
{
	w->now_ms += ms;
	set_clock(w);
	timer_fire_due();
	world_turn(w);
}
