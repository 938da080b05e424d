/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each allocation of the rooms fails once, and then all that follow (DO-13):
 * connections of that moment may be lost, nothing that is not allowed goes out,
 * no secret comes back unmasked, and what is asked afterwards is served.
 */
#include "policy_bed.h"
#include "row.h"
#include "world.h"

#define ROOM 65536	   /* bytes that each peer's script may need */
#define ALLOCATIONS_MIN 20 /* else the rooms were not reached */
#define ALLOCATIONS_MAX 2000
#define SECRET "canary-of-thirty-two-bytes-0123"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - {allow: 'https://api.test/**', methods: any, credential: token}\n"
    "      - {allow: 'http://ok.test/**', methods: any}\n"
    "      - {allow: 'ws://ok.test/**', limits: {body: 1KiB}}\n"
    "      - {allow: 'git+https://git.test/a/b', fetch: true}\n";

static const char config[] =
    "version: 1\n"
    "credentials:\n"
    "  token: {kind: token, secret: {env: T}, only: ['https://api.test/**']}\n";

static const char *const asks[] = {
	"GET /a?x=y HTTP/1.1\r\nHost: api.test\r\n\r\n",
	"POST /b HTTP/1.1\r\nHost: api.test\r\nContent-Length: 20\r\n\r\n"
	"12345678901234567890",
	"GET /denied HTTP/1.1\r\nHost: evil.test\r\n\r\n",
};

static const char masked[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
			     "\r\n25\r\nfirst " SECRET "\r\n0\r\n\r\n";

/* With what must not reach a client. */
static const char offered[] =
    "HTTP/1.1 200 OK\r\nContent-Length: 45\r\n"
    "Content-Type: application/x-git-upload-pack-advertisement\r\n\r\n"
    "000eversion 2\n000cls-refs\n000fbundle-uri\n0000";

/* The world's own memory is there before any of ours fails. */
static void
reserve(struct buf *b)
{
	static const uint8_t zeros[ROOM];

	assert_true(buf_put(b, slice_of(zeros, ROOM)));
	buf_clear(b);
}

static void
begin(struct world *w, struct bed *b)
{
	bed_load_trusted(b, config, policy);
	assert_non_null(b->program);
	world_init(w, b->program);
	b->program = NULL; /* the sandbox's now */
	w->secret = SLICE("Bearer " SECRET);
	reserve(&w->records);
	for (size_t i = 0; i < 8; i++) {
		reserve(&w->clients[i].sends);
		reserve(&w->clients[i].got);
		reserve(&w->upstream[i].sends);
		reserve(&w->upstream[i].got);
	}
}

static void
connect_to(struct world *w, const char *name, bool tls)
{
	struct ip dst;

	assert_true(program_address(w->sandbox->generation->program,
	    slice_of_str(name), &dst));
	world_connect(w, &dst, tls ? 443 : 80);
	if (tls)
		world_put_hello(&w->client->sends, slice_of_str(name),
		    ALPN_OFFER_HTTP11_H2);
	world_turn(w);
}

static void
say(struct world *w, struct peer *p, const char *text)
{
	buf_put_str(&p->sends, text);
	world_turn(w);
}

/* Answer whichever upstream has asked something last. */
static void
answer(struct world *w, const char *text)
{
	if (w->n_upstreams != 0)
		say(w, w->latest, text);
}

/* At a proxy: into a tunnel, and without one. */
static void
proxy_scene(struct world *w)
{
	world_connect_proxy(w);
	say(w, w->client, "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test");
	say(w, w->client, "\r\n\r\n");
	world_put_hello(&w->client->sends, SLICE("api.test"),
	    ALPN_OFFER_HTTP11);
	world_turn(w);
	say(w, w->client, asks[0]);
	answer(w, "HTTP/1.1 204 No\r\n\r\n");
	world_connect_proxy(w);
	say(w, w->client,
	    "GET http://ok.test/f HTTP/1.1\r\nHost: ok.test\r\n\r\n");
	answer(w, "HTTP/1.1 204 No\r\n\r\n");
}

static void
scene(struct world *w)
{
	connect_to(w, "api.test", true);
	for (size_t i = 0; i < COUNT_OF(asks); i++) {
		say(w, w->client, asks[i]);
		answer(w, masked);
	}
	connect_to(w, "git.test", true);
	say(w, w->client,
	    "GET /a/b/info/refs?service=git-upload-pack HTTP/1.1\r\n"
	    "Host: git.test\r\n\r\n");
	answer(w, offered);
	say(w, w->client,
	    "GET /denied/info/refs?service=git-upload-pack HTTP/1.1\r\n"
	    "Host: git.test\r\n\r\n");
	connect_to(w, "ok.test", false);
	say(w, w->client,
	    "PUT /c?k=v HTTP/1.1\r\nHost: ok.test\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
	say(w, w->client, "0\r\n\r\n");
	answer(w, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nbytes");
	/* With that answer it ends; unless it is the other's, still in use. */
	w->latest->ends = w->n_upstreams != 0 && !w->latest->is_tls;
	world_turn(w);
	connect_to(w, "ok.test", false);
	say(w, w->client, "POST /d HTTP/1.1\r\nHost: ok.test\r\nContent-Le");
	say(w, w->client, "ngth: 9\r\n\r\nhalf");
	w->client->breaks = true;
	world_turn(w);
	connect_to(w, "ok.test", false);
	say(w, w->client,
	    "GET /e HTTP/1.1\r\nHost: ok.test\r\nConnection: Upgrade\r\n"
	    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\nup");
	answer(w,
	    "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
	    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\ndown");
	w->client->breaks = true;
	world_turn(w);
	proxy_scene(w);
}

/* What must be so however much failed. */
static void
check(const struct world *w)
{
	for (size_t i = 0; i < w->n_clients; i++) {
		struct slice got = buf_slice(&w->clients[i].got);
		assert_null(memmem(got.p, got.n, SECRET, sizeof(SECRET) - 1));
		assert_null(memmem(got.p, got.n, "bundle", 6));
	}
	for (size_t i = 0; i < w->n_upstreams; i++) {
		const struct peer *p = &w->upstream[i];
		struct slice got = buf_slice(&p->got);
		bool has = memmem(got.p, got.n, SECRET, sizeof(SECRET) - 1);
		assert_true(p->is_tls || !has);
		assert_null(memmem(got.p, got.n, "/denied", 7));
	}
	assert_int_equal(w->n_wrong, 0);
}

/* Memory is there again: the next one is served as if nothing had been. */
static void
check_afterwards(struct world *w, unsigned n)
{
	connect_to(w, "api.test", true);
	say(w, w->client, asks[0]);
	answer(w, masked);
	struct slice got = buf_slice(&w->client->got);
	if (!slice_has_prefix(got, SLICE("HTTP/1.1 200 ")))
		fail_msg("after %u: %.*s", n, SLICE_ARG(got));
}

/* One whole world; returns how many allocations its scene asked for. */
static unsigned
play(unsigned first, bool all)
{
	struct world w;
	struct bed b;

	begin(&w, &b);
	w.fails = true;
	fails_from(first, all);
	scene(&w);
	unsigned asked = fails_asked();
	fails_from(0, false);
	check(&w);
	check_afterwards(&w, first);
	check(&w);
	for (size_t i = 0; i < w.n_clients; i++)
		w.clients[i].ends = true;
	size_t clients = w.n_clients;
	world_release(&w);
	/* Only a connection that no flow could be made for has no end. */
	assert_in_range(world_n_accounted(&w), clients - (all ? 7 : 1),
	    clients);
	bed_release(&b);
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

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
