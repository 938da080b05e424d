/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One exchange, a request with a body and its answer or a WebSocket, in every
 * order that its events can have: pieces of either side, their ends, room that
 * either gives, answers of the other roles.  In each order the request and the
 * answer arrive whole, once, as in every other, and there is one final record;
 * the flow ends by itself.  Then the same cut anywhere and in random order,
 * mostly with one thing that goes wrong: nothing is taken for whole that was
 * not.
 */
#include "order.h"
#include "row.h"

#define ORDERS_MIN 1000 /* else not every order was tried */
#define ORDERS_MAX 60000
#define SEEDS 4000
#define TUNNEL_SIZE 4 /* bytes each way behind the heads of a WebSocket */
#define SECRET "canary-of-thirty-two-bytes-0123"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - {allow: 'https://api.test/**', methods: any, credential: token}\n"
    "      - {allow: 'http://ok.test/**', methods: any}\n"
    "      - {allow: 'ws://ok.test/**'}\n";

static const char config[] =
    "version: 1\n"
    "credentials:\n"
    "  token: {kind: token, secret: {env: T}, only: ['https://api.test/**']}\n";

#define ASKS(name) \
	"PUT /b HTTP/1.1\r\nhost: " name "\r\nContent-Length: 4\r\n\r\nbody"
#define ARRIVES(name, accept, credential)              \
	"PUT /b HTTP/1.1\r\nHost: " name "\r\n" accept \
	"Content-Length: 4\r\n" credential "\r\nbody"
#define ANSWERS(n, body) "HTTP/1.1 200 OK\r\nContent-Length: " n "\r\n\r\n" body

#define SWITCH "Connection: Upgrade\r\nUpgrade: websocket\r\n"
#define ACCEPT "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"

static const struct script scripts[] = {
	{ "ok.test", false, false, ASKS("ok.test"), ARRIVES("ok.test", "", ""),
	    ANSWERS("5", "hello"), ANSWERS("5", "hello"), { 53, 38 },
	    SIZE_MAX },
	{ "ok.test", false, false, ASKS("ok.test"), ARRIVES("ok.test", "", ""),
	    ANSWERS("5", "hello"), ANSWERS("5", "hello"), { 55, 41 }, 30 },
	{ "api.test", true, false, ASKS("api.test"),
	    ARRIVES("api.test", "Accept-Encoding: identity\r\n",
		"Authorization: Bearer " SECRET "\r\n"),
	    ANSWERS("35", "is " SECRET "."),
	    ANSWERS("35", "is *******************************."), { 54, 70 },
	    SIZE_MAX },
	/* HTTP/2 is offered: the dial comes before the handshake. */
	{ .name = "api.test",
	    .tls = true,
	    .asks = ASKS("api.test"),
	    .arrives = ARRIVES("api.test", "Accept-Encoding: identity\r\n",
		"Authorization: Bearer " SECRET "\r\n"),
	    .answers = ANSWERS("35", "is " SECRET "."),
	    .returns = ANSWERS("35", "is *******************************."),
	    .front = { 54, 70 },
	    .room = SIZE_MAX,
	    .offer = ALPN_OFFER_HTTP11_H2 },
	/* A WebSocket: what the client says early waits for the switch. */
	{ .name = "ok.test",
	    .is_tunnel = true,
	    .asks = "GET /s HTTP/1.1\r\nHost: ok.test\r\n" SWITCH
		    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
		    "Sec-WebSocket-Version: 13\r\n\r\nabcd",
	    .arrives = "GET /s HTTP/1.1\r\nHost: ok.test\r\n"
		       "Sec-Websocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
		       "Sec-Websocket-Version: 13\r\n" SWITCH "\r\nabcd",
	    .answers = "HTTP/1.1 101 Switching\r\n" SWITCH ACCEPT "\r\nwxyz",
	    .returns = "HTTP/1.1 101 Switching\r\n" ACCEPT SWITCH "\r\nwxyz",
	    .room = SIZE_MAX },
};

static struct play play;

static size_t
choose(struct play *p, size_t n)
{
	assert_true(p->order.n < EVENTS_MAX);
	if (p->dice == 0)
		return order_choose(&p->order, n);
	p->order.n++;
	return roll(p, (uint32_t)n);
}

static bool
has_said(const struct pieces *pieces, size_t n)
{
	size_t said = 0;

	for (size_t i = 0; i < pieces->said; i++)
		said += pieces->at[i].n;
	return said >= n;
}

/* UP-05: to an origin that does not switch it would be another request. */
static void
check_early(const struct play *p)
{
	const struct script *s = p->script;
	size_t head = strlen(s->answers) - TUNNEL_SIZE;

	if (s->is_tunnel && p->other != NULL && !has_said(&p->upstream, head))
		assert_true(
		    p->other->got.n <= strlen(s->arrives) - TUNNEL_SIZE);
}

/* One event after another, until there is none. */
static void
happen_all(struct play *p)
{
	for (;;) {
		enum token can[TOKEN_COUNT];
		size_t n = 0;

		if (p->w.n_upstreams != 0)
			p->other = &p->w.upstream[0];
		for (enum token t = 0; t < TOKEN_COUNT; t++)
			if (may_happen(p, t))
				can[n++] = t;
		if (n == 0)
			return;
		happen(p, can[choose(p, n)]);
		/* Several may come before the loop looks. */
		if (n == 1 || p->dice == 0 || roll(p, 4) != 0)
			world_move(&p->w);
		check_early(p);
	}
}

/* --- what must be so ----------------------------------------------------- */

static const char *
text_of(const struct peer *s)
{
	static char text[4096];

	snprintf(text, sizeof(text), "%.*s",
	    SLICE_ARG(s == NULL ? SLICE("") : buf_slice(&s->got)));
	return text;
}

static size_t
n_records(const struct world *w, const char *begins)
{
	struct slice rest = buf_slice(&w->records);
	size_t n = 0;

	while (rest.n != 0) {
		const uint8_t *end = memchr(rest.p, '\n', rest.n);
		n += slice_has_prefix(rest, slice_of_str(begins));
		rest = slice_from(rest, (size_t)(end - rest.p) + 1);
	}
	return n;
}

/* What the client has if all of it is there. */
static bool
is_answer(const struct play *p, struct slice got)
{
	char closing[512];
	const char *body = strstr(p->script->returns, "\r\n\r\n");

	/* An answer before the end of the request ends the connection. */
	snprintf(closing, sizeof(closing), "%.*s\r\nConnection: close%s",
	    (int)(body - p->script->returns), p->script->returns, body);
	return slice_eq_str(got, p->script->returns) ||
	    slice_eq_str(got, closing);
}

static void
check_well(const struct play *p)
{
	const struct world *w = &p->w;
	struct slice got = buf_slice(&p->other->got);

	if (!is_answer(p, buf_slice(&w->client->got)))
		fail_msg("the client got\n%s", text_of(w->client));
	if (!slice_has_prefix(slice_of_str(p->script->arrives), got) ||
	    (got.n != strlen(p->script->arrives) &&
		(p->script->is_tunnel || !p->early)))
		fail_msg("the origin got\n%s", text_of(p->other));
	if (!w->client->saw_end)
		fail_msg("no end, %s\n%.*s", text_of(w->client),
		    SLICE_ARG(buf_slice(&w->records)));
	assert_int_equal(w->sandbox->n_flows, 0);
	assert_int_equal(w->n_upstreams, 1);
	assert_int_equal(n_records(w, "request.end allow allow"), 1);
	assert_int_equal(n_records(w, "request.end"), 1);
	assert_int_equal(n_records(w, "flow.end"), 1);
}

/* Something went wrong: what is there is a part of the same, and looks so. */
static void
check_wrong(struct play *p)
{
	struct world *w = &p->w;
	struct slice got = buf_slice(&w->client->got);
	struct slice asked = { 0 };

	world_pass(w, 20000);
	world_pass(w, 2000000);
	world_pass(w, 20000);
	assert_int_equal(w->sandbox->n_flows, 0);
	if (p->other != NULL)
		asked = buf_slice(&p->other->got);
	if (!slice_has_prefix(slice_of_str(p->script->arrives), asked))
		fail_msg("the origin got\n%s", text_of(p->other));
	assert_true(n_records(w, "request.end") <= 1);
	if (!w->scribe_fails)
		assert_int_equal(n_records(w, "flow.end") +
			    n_records(w, "request.end deny") !=
			0,
		    1);
	if (is_answer(p, got) || slice_has_prefix(got, SLICE("HTTP/1.1 50")) ||
	    got.n == 0)
		return;
	/* A tunnel may be ended by either side at any moment. */
	if (memmem(got.p, got.n, "\r\n\r\n", 4) != NULL &&
	    !(p->script->is_tunnel && p->other->ends))
		assert_false(w->client->saw_end); /* cut, and it looks so */
	assert_null(memmem(got.p, got.n, SECRET, sizeof(SECRET) - 1));
}

/* --- one order ----------------------------------------------------------- */

static void
cut_off(struct pieces *to, struct slice *s, size_t n)
{
	to->at[to->n++] = slice_first(*s, n);
	*s = slice_from(*s, n);
}

static void
cut(struct pieces *to, struct slice s, size_t front)
{
	cut_off(to, &s, front / 2);
	cut_off(to, &s, front - front / 2);
	while (s.n != 0)
		cut_off(to, &s, 1);
}

static void
cut_anywhere(struct play *p, struct pieces *to, struct slice s)
{
	uint32_t most = roll(p, 3) == 0 ? 2 : 60;

	while (s.n != 0 && to->n < PIECES_MAX - 1)
		cut_off(to, &s, roll(p, most) + 1);
	if (s.n != 0)
		cut_off(to, &s, s.n);
}

/* A tunnel's is its head. */
static size_t
front_of(const struct play *p, size_t front, struct slice text)
{
	if (p->coarse)
		return text.n - 1;
	return p->script->is_tunnel ? text.n - TUNNEL_SIZE : front;
}

static void
cut_all(struct play *p)
{
	static struct buf hello;
	const struct script *s = p->script;
	struct slice asks = slice_of_str(s->asks);
	struct slice answers = slice_of_str(s->answers);

	p->client.n = p->client.said = p->upstream.n = p->upstream.said = 0;
	if (s->tls) {
		buf_release(&hello);
		buf_init(&hello, 1024);
		world_put_hello(&hello, slice_of_str(s->name), s->offer);
		p->client.at[p->client.n++] = buf_slice(&hello);
	}
	if (p->dice == 0) {
		cut(&p->client, asks, front_of(p, s->front[0], asks));
		cut(&p->upstream, answers, front_of(p, s->front[1], answers));
	} else {
		cut_anywhere(p, &p->client, asks);
		cut_anywhere(p, &p->upstream, answers);
	}
}

static void
play_once(struct play *p, const struct script *script)
{
	struct program *program;
	struct ip dst;
	enum err err;

	p->script = script;
	p->order.n = 0;
	p->other = NULL;
	p->went_wrong = p->early = false;
	program = program_open(buf_slice(&p->bed.image), &err);
	assert_non_null(program);
	assert_true(program_address(program, slice_of_str(script->name), &dst));
	world_init(&p->w, program);
	p->w.secret = SLICE("Bearer " SECRET);
	p->w.clients[0].window = p->w.upstream[0].window = p->coarse ?
	    SIZE_MAX :
	    p->dice == 0 ? script->room :
			   roll(p, 2) * SIZE_MAX;
	cut_all(p);
	world_connect(&p->w, &dst, script->tls ? 443 : 80);
	happen_all(p);
	if (p->went_wrong)
		check_wrong(p);
	else
		check_well(p);
	assert_int_equal(p->w.n_wrong, 0);
	world_release(&p->w);
	if (!p->w.scribe_fails)
		assert_int_equal(world_n_accounted(&p->w), 1);
}

/* Returns how many there are. */
static size_t
try_every_order(const struct script *script, enum wrong wrong)
{
	size_t n = 0;

	play.dice = 0;
	play.coarse = wrong != WRONG_NOTHING;
	memset(&play.order, 0, sizeof(play.order));
	do {
		play.wrong = wrong;
		play_once(&play, script);
		assert_true(++n < ORDERS_MAX);
	} while (order_next(&play.order));
	print_message("# %s: %zu orders\n", script->name, n);
	return n;
}

static void
exchange_is_the_same_in_every_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(scripts); i++)
		assert_true(
		    try_every_order(&scripts[i], WRONG_NOTHING) > ORDERS_MIN);
}

static void
exchange_may_go_wrong_at_every_moment(void **state)
{
	size_t n = 0;

	(void)state;
	for (enum wrong wrong = 1; wrong < WRONG_COUNT; wrong++)
		for (size_t i = 0; i < COUNT_OF(scripts); i++)
			n += try_every_order(&scripts[i], wrong);
	assert_true(n > ORDERS_MIN);
}

static void
exchange_survives_random_orders(void **state)
{
	size_t n_wrong = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		play.dice = seed * 2654435761U | 1;
		play.coarse = false;
		play.wrong = roll(&play, WRONG_COUNT);
		play_once(&play, &scripts[seed % COUNT_OF(scripts)]);
		n_wrong += play.went_wrong;
	}
	print_message("# %zu of %u went wrong\n", n_wrong, SEEDS);
	assert_in_range(n_wrong, SEEDS / 2, SEEDS - SEEDS / 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exchange_is_the_same_in_every_order),
		cmocka_unit_test(exchange_may_go_wrong_at_every_moment),
		cmocka_unit_test(exchange_survives_random_orders),
	};

	bed_load_trusted(&play.bed, config, policy);
	int failed = cmocka_run_group_tests_name("orders", tests, NULL, NULL);
	bed_release(&play.bed);
	return failed;
}
