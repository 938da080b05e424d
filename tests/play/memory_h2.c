/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same as memory.c over HTTP/2: each allocation of the rooms fails once, and
 * then all that follow.
 */
#include "h2peer.h"
#include "policy_bed.h"
#include "row.h"

#define ROOM 65536	   /* bytes that each peer's script may need */
#define ALLOCATIONS_MIN 20 /* else the rooms were not reached */
#define ALLOCATIONS_MAX 2000
#define SECRET "canary-of-thirty-two-bytes-0123"
#define UPSTREAMS 8

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - {allow: 'https://api.test/ok/**', methods: any,\n"
    "         credential: token}\n";

static const char config[] =
    "version: 1\n"
    "credentials:\n"
    "  token: {kind: token, secret: {env: T}, only: ['https://api.test/**']}\n";

/* A session without memory is kept (http/h2.c): nghttp2 would free twice. */
const char *__lsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{
	return "leak:libnghttp2\n";
}

struct scene {
	struct bed bed;
	struct world w;
	struct h2peer clients[2], upstream[UPSTREAMS];
};

/* The world's own memory is there before any of ours fails. */
static void
reserve(struct buf *b)
{
	static const uint8_t zeros[ROOM];

	assert_true(buf_put(b, slice_of(zeros, ROOM)));
	buf_clear(b);
}

static void
begin(struct scene *s)
{
	*s = (struct scene){ 0 };
	bed_load_trusted(&s->bed, config, policy);
	assert_non_null(s->bed.program);
	world_init(&s->w, s->bed.program);
	s->bed.program = NULL; /* the sandbox's now */
	s->w.chooses = ALPN_H2;
	s->w.secret = SLICE("Bearer " SECRET);
	reserve(&s->w.records);
	for (size_t i = 0; i < UPSTREAMS; i++) {
		reserve(&s->w.clients[i].sends);
		reserve(&s->w.clients[i].got);
		reserve(&s->w.upstream[i].sends);
		reserve(&s->w.upstream[i].got);
	}
}

static void
turn(struct scene *s)
{
	for (int i = 0; i < 4; i++) {
		world_turn(&s->w);
		for (size_t j = 0; j < s->w.n_clients; j++)
			h2peer_turn(&s->clients[j]);
		for (size_t j = 0; j < s->w.n_upstreams && j < UPSTREAMS; j++) {
			struct h2peer *h = &s->upstream[j];
			if (h->session == NULL)
				h2peer_begin(h, &s->w.upstream[j], true);
			h2peer_turn(h);
		}
	}
	world_turn(&s->w);
}

/* Whoever was asked answers, with the secret. */
static void
answer_all(struct scene *s)
{
	for (size_t i = 0; i < UPSTREAMS; i++)
		while (h2peer_answer(&s->upstream[i], "200",
		    "it is " SECRET " indeed", true))
			turn(s);
}

static struct h2peer *
connect_one(struct scene *s)
{
	struct h2peer *h = &s->clients[s->w.n_clients];
	struct ip dst;

	assert_true(program_address(s->w.sandbox->generation->program,
	    SLICE("api.test"), &dst));
	world_connect(&s->w, &dst, 443);
	world_put_hello(&s->w.client->sends, SLICE("api.test"),
	    ALPN_OFFER_H2_HTTP11);
	world_turn(&s->w);
	h->needle = SECRET;
	h2peer_begin(h, s->w.client, false);
	turn(s);
	return h;
}

static void
ask(struct scene *s, struct h2peer *h, const char *path, const char *body)
{
	(void)h2peer_ask(h, body == NULL ? "GET" : "POST", "api.test", path,
	    body);
	turn(s);
}

static void
scene(struct scene *s)
{
	struct h2peer *h = connect_one(s);

	ask(s, h, "/ok/a?x=y", NULL);
	ask(s, h, "/ok/b", "twenty bytes or so..");
	answer_all(s);
	ask(s, h, "/denied", NULL);
	/* That link is closed: another is made. */
	world_pass(&s->w, LIMIT_POOL_IDLE_MS);
	turn(s);
	ask(s, h, "/ok/c", NULL);
	answer_all(s);
	ask(s, h, "/ok/d", NULL);
	s->w.clients[0].breaks = true;
	turn(s);
}

/* What must be so however much failed. */
static void
check(const struct scene *s)
{
	for (size_t i = 0; i < s->w.n_clients; i++)
		assert_int_equal(s->clients[i].n_secret, 0);
	assert_int_equal(s->w.n_wrong, 0);
}

/* One whole world; returns how many allocations its scene asked for. */
static unsigned
play(unsigned first, bool all)
{
	static struct scene s;

	begin(&s);
	s.w.fails = true;
	fails_from(first, all);
	scene(&s);
	unsigned asked = fails_asked();
	fails_from(0, false);
	check(&s);
	/* Memory is there again: the next one is served. */
	struct h2peer *h = connect_one(&s);
	size_t ends = h->n_ends;
	ask(&s, h, "/ok/e", NULL);
	answer_all(&s);
	assert_int_equal(h->n_ends, ends + 1);
	check(&s);
	world_release(&s.w);
	assert_in_range(world_n_accounted(&s.w), 1, 2);
	for (size_t i = 0; i < COUNT_OF(s.clients); i++)
		h2peer_release(&s.clients[i]);
	for (size_t i = 0; i < UPSTREAMS; i++)
		h2peer_release(&s.upstream[i]);
	bed_release(&s.bed);
	return asked;
}

static void
flows_survive_each_allocation_that_fails(void **state)
{
	unsigned all = play(0, false);

	(void)state;
	print_message("# %u allocations\n", all);
	assert_in_range(all, ALLOCATIONS_MIN, ALLOCATIONS_MAX);
	for (unsigned i = 1; i <= all; i++)
		play(i, false);
}

static void
flows_survive_until_there_is_memory_again(void **state)
{
	unsigned all = play(0, false);

	(void)state;
	for (unsigned i = 1; i <= all; i++)
		play(i, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_survive_each_allocation_that_fails),
		cmocka_unit_test(flows_survive_until_there_is_memory_again),
	};

	return cmocka_run_group_tests_name("memory h2", tests, NULL, NULL);
}
