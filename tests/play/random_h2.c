/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same as random.c over HTTP/2: clients and origins that ask, answer, reset,
 * leave, stop reading and vanish in random order, many streams at once.
 */
#include "h2peer.h"
#include "policy_bed.h"
#include "row.h"

#define SEEDS 120
#define CLIENTS 3
#define ACTIONS 400
#define SECRET "canary-of-thirty-two-bytes-0123"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - {allow: 'https://api.test/**', methods: any, credential: token}\n"
    "      - {allow: 'https://ok.test/**', methods: any,\n"
    "         limits: {body: 4KiB}}\n";

static const char config[] =
    "version: 1\n"
    "credentials:\n"
    "  token: {kind: token, secret: {env: T}, only: ['https://api.test/**']}\n";

static const char *const names[] = { "api.test", "ok.test" };

struct dice {
	uint32_t state;
};

struct scene {
	struct world w;
	struct dice d;
	struct h2peer clients[WORLD_CLIENTS_MAX];
	struct h2peer upstream[WORLD_UPSTREAMS_MAX];
	size_t n_asked, n_answered;
};

static uint32_t
roll(struct dice *d, uint32_t sides)
{
	d->state = d->state * 1664525 + 1013904223;
	return (d->state >> 8) % sides;
}

/* Each side says what it has to say until nobody has anything. */
static void
turn(struct scene *s)
{
	for (int i = 0; i < 4; i++) {
		world_turn(&s->w);
		for (size_t j = 0; j < s->w.n_clients; j++) {
			struct peer *p = &s->w.clients[j];
			struct h2peer *h = &s->clients[j];
			if (h->session == NULL && p->alpn == ALPN_H2) {
				h->needle = SECRET;
				h2peer_begin(h, p, false);
			}
			h2peer_turn(h);
		}
		for (size_t j = 0; j < s->w.n_upstreams; j++) {
			struct peer *p = &s->w.upstream[j];
			struct h2peer *h = &s->upstream[j];
			if (h->session == NULL && p->got.n != 0 && p->is_tls) {
				h2peer_begin(h, p, true);
			}
			h2peer_turn(h);
		}
	}
}

static void
ask(struct scene *s, struct h2peer *h, const char *name)
{
	static const char *const bodies[] = { NULL, NULL, "hello", "" };
	static const char *const paths[] = { "/a", "/b?x=y", "/c/d" };
	const char *body = bodies[roll(&s->d, COUNT_OF(bodies))];

	/* Now and then for another name, which is misdirected. */
	if (roll(&s->d, 12) == 0)
		name = "evil.test";
	s->n_asked += h2peer_ask(h, body == NULL ? "GET" : "POST", name,
			  paths[roll(&s->d, COUNT_OF(paths))], body) > 0;
}

static void
answer(struct scene *s, struct h2peer *h)
{
	static const uint32_t codes[] = { NGHTTP2_REFUSED_STREAM,
		NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR,
		NGHTTP2_HTTP_1_1_REQUIRED };

	switch (roll(&s->d, 8)) {
	case 0:
		(void)h2peer_reset(h, codes[roll(&s->d, COUNT_OF(codes))]);
		break;
	case 1:
		s->n_answered += h2peer_answer(h, "204", NULL, false);
		break;
	case 2:
		s->n_answered +=
		    h2peer_answer(h, "200", "a " SECRET " comes back", false);
		break;
	case 3:
		s->n_answered += h2peer_answer(h, "200", "hello", true);
		break;
	default:
		s->n_answered += h2peer_answer(h, "200", "hello", false);
		break;
	}
}

static void
act_role(struct scene *s)
{
	struct world *w = &s->w;

	switch (roll(&s->d, 6)) {
	case 0:
		w->dials =
		    roll(&s->d, 4) == 0 ? REASON_UP_CONNECT : REASON_ALLOW;
		break;
	case 1:
		w->releases = roll(&s->d, 4) == 0 ? REASON_CRED_UNAVAILABLE :
						    REASON_ALLOW;
		break;
	case 2:
		w->admits =
		    roll(&s->d, 8) == 0 ? REASON_SHUTDOWN : REASON_ALLOW;
		break;
	case 3:
		w->dial_waits = roll(&s->d, 3) == 0;
		break;
	case 4:
		w->scribe_waits = roll(&s->d, 3) == 0;
		w->scribe_behind = roll(&s->d, 3) == 0;
		sandbox_run(w->sandbox);
		break;
	default:
		world_pass(w, roll(&s->d, 3) == 0 ? 400000 : roll(&s->d, 3000));
		break;
	}
}

/* Ends, resets and what else a connection may come to. */
static void
act_badly(struct scene *s, struct h2peer *c, struct h2peer *u)
{
	struct h2peer *h = roll(&s->d, 2) == 0 ? c : u;

	if (h->session == NULL)
		return;
	switch (roll(&s->d, 7)) {
	case 0:
		(void)nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE,
		    nghttp2_session_get_last_proc_stream_id(h->session),
		    NGHTTP2_NO_ERROR, NULL, 0);
		break;
	case 1:
		h->peer->breaks = roll(&s->d, 3) == 0;
		break;
	case 2:
		h->peer->ends = roll(&s->d, 3) == 0;
		break;
	case 3:
		if (roll(&s->d, 4) == 0)
			buf_put_str(&h->peer->sends, "no frame at all, is it?");
		break;
	case 4:
		(void)nghttp2_submit_rst_stream(c->session == NULL ?
			h->session :
			c->session,
		    NGHTTP2_FLAG_NONE, (int32_t)(1 + 2 * roll(&s->d, 20)),
		    NGHTTP2_CANCEL);
		break;
	default:
		h->peer->window =
		    roll(&s->d, 3) == 0 ? roll(&s->d, 3000) : SIZE_MAX;
		break;
	}
}

static void
act(struct scene *s)
{
	struct world *w = &s->w;
	size_t i = w->n_clients - 1 - roll(&s->d, CLIENTS) % w->n_clients;
	struct h2peer *c = &s->clients[i];
	struct h2peer *u = &s->upstream[w->n_upstreams == 0 ?
		0 :
		roll(&s->d, (uint32_t)w->n_upstreams)];

	switch (roll(&s->d, 12)) {
	case 0:
	case 1:
	case 2:
	case 3:
		for (uint32_t n = roll(&s->d, 4); c->session != NULL && n > 0;
		     n--)
			ask(s, c, names[i % 2]);
		break;
	case 4:
	case 5:
	case 6:
	case 7:
	case 8:
		for (uint32_t n = roll(&s->d, 4); n > 0; n--)
			answer(s, u);
		break;
	case 9:
		act_badly(s, c, u);
		break;
	default:
		act_role(s);
		break;
	}
	turn(s);
}

/* Always CLIENTS that are there, as long as the world has room. */
static void
replace_closed(struct scene *s)
{
	struct world *w = &s->w;
	size_t open = 0;

	for (size_t i = 0; i < w->n_clients; i++)
		open += !w->clients[i].closed;
	while (open++ < CLIENTS && w->n_clients < WORLD_CLIENTS_MAX) {
		struct slice name = slice_of_str(names[w->n_clients % 2]);
		struct ip dst;
		assert_true(program_address(w->sandbox->generation->program,
		    name, &dst));
		world_connect(w, &dst, 443);
		world_put_hello(&w->client->sends, name, ALPN_OFFER_H2_HTTP11);
		turn(s);
	}
}

/* A secret comes back to none of those whose rule has one. */
static void
check(struct scene *s)
{
	for (size_t i = 0; i < s->w.n_clients; i += COUNT_OF(names))
		assert_int_equal(s->clients[i].n_secret, 0);
	assert_int_equal(s->w.n_wrong, 0);
	assert_int_equal(world_n_accounted(&s->w), s->w.n_clients);
}

static void
flows_survive_random_peers(void **state)
{
	size_t requests = 0, answers = 0, ends = 0, trailers = 0;
	static struct scene s;

	(void)state;
	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		struct bed b;

		s = (struct scene){ .d = { seed } };
		bed_load_trusted(&b, config, policy);
		assert_non_null(b.program);
		world_init(&s.w, b.program);
		b.program = NULL; /* the sandbox's now */
		s.w.chooses = ALPN_H2;
		s.w.secret = SLICE("Bearer " SECRET);
		for (int i = 0; i < ACTIONS; i++) {
			replace_closed(&s);
			act(&s);
		}
		for (size_t i = 0; i < s.w.n_clients; i++) {
			s.w.clients[i].breaks = roll(&s.d, 2) == 0;
			s.w.clients[i].ends = true;
			ends += s.clients[i].n_ends;
			trailers += s.clients[i].n_trailers;
		}
		world_release(&s.w);
		check(&s);
		requests += s.w.n_allowed;
		answers += s.n_answered;
		for (size_t i = 0; i < WORLD_CLIENTS_MAX; i++)
			h2peer_release(&s.clients[i]);
		for (size_t i = 0; i < WORLD_UPSTREAMS_MAX; i++)
			h2peer_release(&s.upstream[i]);
		bed_release(&b);
	}
	print_message("# %zu requests allowed, %zu answers, %zu ended at their "
		      "clients, %zu trailers\n",
	    requests, answers, ends, trailers);
	assert_true(
	    requests > 10 * SEEDS && ends > 10 * SEEDS && trailers > SEEDS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_survive_random_peers),
	};

	return cmocka_run_group_tests_name("random h2", tests, NULL, NULL);
}
