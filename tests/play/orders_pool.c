/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two requests of one client with a credential, and origins that end their
 * connections at any moment, in every order of these events: each answer is
 * that of its request, in their order; a request is tried once more at most,
 * over a new connection, and announced again; each has one final record.
 */
#include "order.h"
#include "row.h"
#include "wire/h1_head.h"

#define ORDERS_MIN 500
#define ORDERS_MAX 60000
#define ENDS_MAX 2 /* connections that end of themselves */
#define ASKS_MAX 2
#define SECRET "canary-of-thirty-two-bytes-0123"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - {allow: 'https://ok.test/**', credential: token}\n";

static const char config[] =
    "version: 1\n"
    "credentials:\n"
    "  token: {kind: token, secret: {env: T}, only: ['https://ok.test/**']}\n";

static const char *const asks[ASKS_MAX] = {
	"GET /1 HTTP/1.1\r\nHost: ok.test\r\n\r\n",
	"GET /2 HTTP/1.1\r\nHost: ok.test\r\n\r\n",
};

enum act {
	ACT_ASK,
	ACT_LEAVE,
	ACT_WRITTEN, /* as enum asked_kind from here on */
	ACT_DIAL,
	ACT_RELEASE,
	ACT_SHAKE,
	ACT_ANSWER, /* and which upstream, in the next ones */
	ACT_END = ACT_ANSWER + WORLD_UPSTREAMS_MAX,
	ACT_COUNT = ACT_END + WORLD_UPSTREAMS_MAX
};

static struct {
	struct world w;
	struct bed bed;
	struct order order;
	size_t n_asked, n_ends;
	size_t n_answered[WORLD_UPSTREAMS_MAX];
} pool;

/* The requests that are whole at an origin, by their numbers. */
static size_t
requests_of(const struct peer *up, char numbers[static ASKS_MAX + 1])
{
	struct slice rest = buf_slice(&up->got);
	size_t n = 0;

	while (rest.n != 0) {
		static struct http_request req;
		struct parse_fail fail;
		size_t used;

		memset(&req, 0, sizeof(req));
		assert_int_equal(h1_request_take(rest, &h1_limits, &req, &used,
				     &fail),
		    PARSE_DONE);
		assert_int_equal(req.raw_target.n, 2);
		assert_true(slice_eq(
		    field_find(&req.fields, SLICE("authorization"))->value,
		    SLICE("Bearer " SECRET)));
		assert_true(n < ASKS_MAX);
		numbers[n++] = (char)req.raw_target.p[1];
		rest = slice_from(rest, used);
	}
	return n;
}

static bool
is_open(const struct peer *up)
{
	return !up->closed && !up->ends;
}

static bool
may_act(enum act a)
{
	const struct world *w = &pool.w;
	char numbers[ASKS_MAX + 1];

	if (a >= ACT_END)
		return a - ACT_END < w->n_upstreams && pool.n_ends < ENDS_MAX &&
		    is_open(&w->upstream[a - ACT_END]);
	if (a >= ACT_ANSWER)
		return a - ACT_ANSWER < w->n_upstreams &&
		    is_open(&w->upstream[a - ACT_ANSWER]) &&
		    requests_of(&w->upstream[a - ACT_ANSWER], numbers) >
		    pool.n_answered[a - ACT_ANSWER];
	if (a >= ACT_WRITTEN)
		return world_answer(&pool.w, (enum asked_kind)(a - ACT_WRITTEN),
		    false);
	if (w->client->closed || w->client->ends || !w->client->is_tls)
		return false;
	return (a == ACT_ASK) == (pool.n_asked < ASKS_MAX);
}

static void
act(enum act a)
{
	struct world *w = &pool.w;
	char numbers[ASKS_MAX + 1];

	if (a >= ACT_END) {
		w->upstream[a - ACT_END].ends = true;
		pool.n_ends++;
	} else if (a >= ACT_ANSWER) {
		size_t i = a - ACT_ANSWER;
		(void)requests_of(&w->upstream[i], numbers);
		buf_putf(&w->upstream[i].sends,
		    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%c",
		    numbers[pool.n_answered[i]++]);
	} else if (a >= ACT_WRITTEN) {
		(void)world_answer(w, (enum asked_kind)(a - ACT_WRITTEN), true);
	} else if (a == ACT_ASK) {
		buf_put_str(&w->client->sends, asks[pool.n_asked++]);
	} else {
		w->client->ends = true;
	}
	world_move(w);
}

/* The answers in `got`: each the number of its request, or `x` for a 502. */
static size_t
answers_of(struct slice got, char numbers[static ASKS_MAX + 1])
{
	size_t n = 0;

	while (got.n != 0) {
		static struct http_response res;
		struct parse_fail fail;
		size_t used;

		memset(&res, 0, sizeof(res));
		assert_int_equal(h1_response_take(got, &h1_limits, SLICE("GET"),
				     &res, &used, &fail),
		    PARSE_DONE);
		assert_true(n < ASKS_MAX && res.body == HTTP_BODY_LENGTH);
		assert_true(res.status == 200 || res.status == 502);
		got = slice_from(got, used);
		assert_true(got.n >= res.length);
		numbers[n++] = res.status == 200 ? (char)got.p[0] : 'x';
		got = slice_from(got, (size_t)res.length);
	}
	numbers[n] = '\0';
	return n;
}

static size_t
n_records(const char *begins)
{
	struct slice rest = buf_slice(&pool.w.records);
	size_t n = 0;

	while (rest.n != 0) {
		const uint8_t *end = memchr(rest.p, '\n', rest.n);
		n += slice_has_prefix(rest, slice_of_str(begins));
		rest = slice_from(rest, (size_t)(end - rest.p) + 1);
	}
	return n;
}

static void
check(void)
{
	struct world *w = &pool.w;
	char got[ASKS_MAX + 1], seen[ASKS_MAX + 1];
	size_t n = answers_of(buf_slice(&w->client->got), got);
	size_t tries[ASKS_MAX] = { 0 }, n_tries = 0;

	for (size_t i = 0; i < w->n_upstreams; i++)
		for (size_t k = requests_of(&w->upstream[i], seen); k-- != 0;)
			tries[seen[k] - '1']++;
	for (size_t i = 0; i < ASKS_MAX; i++) {
		assert_true(tries[i] <= 2);
		n_tries += tries[i];
	}
	/* Each time that the credential left was announced. */
	assert_true(n_records("request.begin") >= n_tries);
	/* One that was refused is the last. */
	if (strcmp(got, "12") != 0 && strcmp(got, "1x") != 0 &&
	    strcmp(got, "x") != 0)
		fail_msg("answers: %s", got);
	assert_true(pool.n_ends != 0 || strcmp(got, "12") == 0);
	assert_int_equal(n_records("request.end"), n);
	assert_int_equal(w->sandbox->n_flows, 0);
	assert_true(w->client->saw_end);
	assert_int_equal(w->n_wrong, 0);
}

static void
play_once(void)
{
	enum err err;
	struct ip dst;
	struct world *w = &pool.w;
	struct program *program =
	    program_open(buf_slice(&pool.bed.image), &err);

	assert_non_null(program);
	assert_true(program_address(program, SLICE("ok.test"), &dst));
	world_init(w, program);
	w->secret = SLICE("Bearer " SECRET);
	pool.order.n = pool.n_asked = pool.n_ends = 0;
	memset(pool.n_answered, 0, sizeof(pool.n_answered));
	world_connect(w, &dst, 443);
	world_put_hello(&w->client->sends, SLICE("ok.test"), ALPN_OFFER_NONE);
	world_move(w);
	for (;;) {
		enum act can[8 + 2 * WORLD_UPSTREAMS_MAX];
		size_t n = 0;
		for (enum act a = 0; a < ACT_COUNT; a++)
			if (may_act(a))
				can[n++] = a;
		if (n == 0)
			break;
		assert_true(pool.order.n < EVENTS_MAX);
		act(can[order_choose(&pool.order, n)]);
	}
	check();
	world_release(w);
	assert_int_equal(world_n_accounted(w), 1);
}

static void
pooled_connections_may_end_at_every_moment(void **state)
{
	size_t n = 0;

	(void)state;
	do {
		play_once();
		assert_true(++n < ORDERS_MAX);
	} while (order_next(&pool.order));
	print_message("# %zu orders\n", n);
	assert_true(n > ORDERS_MIN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pooled_connections_may_end_at_every_moment),
	};

	bed_load_trusted(&pool.bed, config, policy);
	int failed = cmocka_run_group_tests_name("pool", tests, NULL, NULL);
	bed_release(&pool.bed);
	return failed;
}
