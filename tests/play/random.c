/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers that write, end, stop reading and vanish in random order, roles that
 * fail or hesitate, time that passes: whatever they do, each connection has one
 * end and one record of it, each record is decided again, nothing is left.
 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "load/load.h"
#include "world.h"

#define SEEDS 400
#define CLIENTS 4
#define ACTIONS 600

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - allow: https://api.test/**\n"
    "        methods: any\n"
    "        credential: token\n"
    "      - {allow: \"http://ok.test/**\", methods: any}\n"
    "      - {allow: \"wss://api.test/**\", credential: token}\n"
    "      - {allow: \"ws://ok.test/**\", limits: {body: 1KiB}}\n"
    "      - {allow: tcp://db.test:5432}\n"
    "      - {allow: tls://pin.test}\n"
    "      - allow: git+https://git.test/a/b\n"
    "        forge: gitlab\n"
    "        fetch: true\n"
    "        push: {branches: [x], delete: true}\n"
    "        credential: token\n";

/* Some of it is gone, some is treated in another way, all has other numbers. */
static const char narrower[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - deny: https://api.test/b/**\n"
    "      - {allow: tls://pin.test}\n"
    "      - {allow: \"http://ok.test/**\", methods: [GET, HEAD, PUT]}\n"
    "      - allow: git+https://git.test/a/b\n"
    "        forge: gitlab\n"
    "        fetch: true\n"
    "        push: {branches: [x, y]}\n"
    "        credential: token\n"
    "      - {allow: \"https://api.test/**\", methods: any}\n"
    "      - {allow: \"wss://api.test/**\", credential: token}\n";

static struct program *turns[2]; /* NULL: the policy stays */

static const char config[] =
    "version: 1\n"
    "credentials:\n"
    "  token: {kind: token, secret: {env: T}, only: [\"https://api.test/**\", "
    "\"git+https://git.test/**\"]}\n";

/* What clients say, cut anywhere; NAME is replaced by their host. */
static const char *const asks[] = {
	"GET /a HTTP/1.1\r\nHost: NAME\r\n\r\n",
	"GET /h?x=y HTTP/1.1\r\nHost: NAME\r\nAccept: text/*\r\n\r\n",
	"POST /b HTTP/1.1\r\nHost: NAME\r\nContent-Length: 20\r\n\r\n"
	"12345678901234567890",
	"PUT /c HTTP/1.1\r\nHost: NAME\r\nTransfer-Encoding: chunked\r\n\r\n"
	"5\r\nhello\r\n0\r\n\r\n",
	"HEAD /d HTTP/1.0\r\nHost: NAME\r\n\r\n",
	"GET /e HTTP/1.1\r\nHost: evil.test\r\n\r\n",
	"POST /f HTTP/1.1\r\nHost: NAME\r\nExpect: 100-continue\r\n"
	"Content-Length: 4\r\n\r\nbody",
	"garbage\r\n\r\n",
	"DELETE //g HTTP/1.1\r\nHost: NAME\r\n\r\n",
};

static const char *const answers[] = {
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	"20\r\ncanary-of-thirty-two-bytes-0123 \r\n0\r\n\r\n",
	"HTTP/1.1 100 Continue\r\n\r\n",
	"HTTP/1.1 204 No Content\r\n\r\n",
	"HTTP/1.1 200 OK\r\n\r\nuntil the end",
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
	"junk",
};

/* A WebSocket, and what opens it. */
static const char upgrade[] =
    "GET /s HTTP/1.1\r\nHost: NAME\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
static const char switched[] =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nhello";

/* Of git: what it asks, and is answered. */
#define ZERO "0000000000000000000000000000000000000000"
#define ONES "1111111111111111111111111111111111111111"
#define GIT_HOST " HTTP/1.1\r\nHost: git.test\r\n"
#define PUSH                                  \
	"POST /a/b/git-receive-pack" GIT_HOST \
	"Content-Type: application/x-git-receive-pack-request\r\n"
#define CREATE                                 \
	"007e" ZERO " " ONES " refs/heads/x\0" \
	"report-status side-band-64k0000"
#define EMPTY_PACK                                             \
	"PACK\0\0\0\2\0\0\0\0\x02\x9d\x08\x82\x3b\xd8\xa8\xea" \
	"\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e"

/* A constant, unlike SLICE(): with the NULs that stand in it. */
#define TEXT(literal)                                           \
	{                                                       \
		(const uint8_t *)(literal), sizeof(literal) - 1 \
	}

static const struct slice git_asks[] = {
	TEXT("GET /A/b/info/refs?service=git-upload-pack" GIT_HOST "\r\n"),
	TEXT("GET /a/b/info/refs?service=git-receive-pack" GIT_HOST "\r\n"),
	TEXT("GET /a/c/info/refs?service=git-upload-pack" GIT_HOST "\r\n"),
	TEXT("POST /a/b.git/git-upload-pack" GIT_HOST
	     "Content-Length: 4\r\n\r\n0000"),
	TEXT(PUSH "Content-Length: 4\r\n\r\n0000"),
	TEXT(PUSH "Content-Length: 162\r\n\r\n" CREATE EMPTY_PACK),
	TEXT(PUSH "Transfer-Encoding: chunked\r\n\r\n82\r\n" CREATE
		  "\r\n20\r\n" EMPTY_PACK "\r\n0\r\n\r\n"),
	TEXT(PUSH "Content-Length: 116\r\n\r\n0070" ONES " " ZERO
		  " refs/heads/x\0report-status0000"),
	TEXT(PUSH "Content-Length: 116\r\n\r\n0070" ZERO " " ONES
		  " refs/heads/y\0report-status0000"),
};

static const struct slice git_answers[] = {
	TEXT("HTTP/1.1 200 OK\r\nContent-Length: 45\r\nContent-Type: "
	     "application/x-git-upload-pack-advertisement\r\n\r\n"
	     "000eversion 2\n000cls-refs\n000fbundle-uri\n0000"),
	TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
	     "Content-Type: application/x-git-receive-pack-result\r\n\r\n2f"
	     "\r\n002b\x01"
	     "000eunpack ok\n0014ok refs/heads/x\n00000000\r\n"
	     "0\r\n\r\n"),
	TEXT("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\n"
	     "Content-Length: 0\r\n\r\n"),
	TEXT("HTTP/1.1 301 No\r\nLocation: /a/c\r\nContent-Length: 0\r\n"
	     "\r\n"),
};

struct dice {
	uint32_t state;
};

static uint32_t
roll(struct dice *d, uint32_t sides)
{
	d->state = d->state * 1664525 + 1013904223;
	return (d->state >> 8) % sides;
}

/* Often whole, sometimes not. */
static void
say_bytes(struct peer *p, struct slice text, struct dice *d)
{
	if (roll(d, 9) == 0)
		text.n = roll(d, (uint32_t)text.n + 1);
	buf_put(&p->sends, text);
}

static void
say(struct peer *p, const char *text, const char *name, struct dice *d)
{
	const char *at = strstr(text, "NAME");

	if (at != NULL) {
		buf_put(&p->sends, slice_of(text, (size_t)(at - text)));
		buf_put_str(&p->sends, name);
		text = at + 4;
	}
	say_bytes(p, slice_of_str(text), d);
}

static bool is_git[WORLD_CLIENTS_MAX]; /* by the number of a client */

static void
ask(struct world *w, struct peer *c, struct dice *d)
{
	const char *name = c->is_tls ? "api.test" : "ok.test";

	if (is_git[c - w->clients])
		say_bytes(c, git_asks[roll(d, COUNT_OF(git_asks))], d);
	else
		say(c,
		    roll(d, 16) == 0 ? upgrade : asks[roll(d, COUNT_OF(asks))],
		    name, d);
}

static bool
has(const struct peer *p, const char *text)
{
	return p->got.n != 0 &&
	    memmem(p->got.p, p->got.n, text, strlen(text)) != NULL;
}

/* Mostly one that git or a WebSocket goes on with. */
static void
answer(struct peer *u, struct dice *d)
{
	if (has(u, "websocket"))
		say(u, switched, "", d);
	else if (has(u, "git.test") && roll(d, 8) == 0)
		say_bytes(u, git_answers[roll(d, COUNT_OF(git_answers))], d);
	else if (has(u, "receive-pack HTTP"))
		say_bytes(u, git_answers[1], d);
	else if (has(u, "upload-pack HTTP"))
		say_bytes(u, git_answers[0], d);
	else
		say(u, answers[roll(d, COUNT_OF(answers))], "", d);
}

static void
act_role(struct world *w, struct dice *d)
{
	static const enum reason reasons[] = { REASON_ALLOW, REASON_ALLOW,
		REASON_ALLOW, REASON_UP_CONNECT, REASON_SHUTDOWN };

	switch (roll(d, 6)) {
	case 0:
		w->dials = reasons[roll(d, COUNT_OF(reasons))];
		break;
	case 1:
		w->releases =
		    roll(d, 3) == 0 ? REASON_CRED_UNAVAILABLE : REASON_ALLOW;
		break;
	case 2:
		w->admits = roll(d, 8) == 0 ? REASON_SHUTDOWN : REASON_ALLOW;
		break;
	case 3:
		w->dial_waits = roll(d, 3) == 0;
		break;
	case 4:
		w->scribe_waits = roll(d, 3) == 0;
		w->scribe_behind = roll(d, 3) == 0;
		sandbox_run(w->sandbox);
		break;
	default:
		world_pass(w, roll(d, 3000));
		break;
	}
}

/* Another policy; the other roles have it, or the one before for a while. */
static void
act_policy(struct world *w, struct dice *d)
{
	if (roll(d, 12) == 0)
		w->roles_at = 0;
	if (roll(d, 40) != 0 || w->n_programs == WORLD_PROGRAMS_MAX)
		return;
	world_set_program(w, program_ref(turns[w->n_programs % 2]));
	w->roles_at = roll(d, 3) == 0 ? w->n_programs - 1 : 0;
}

static void
act(struct world *w, struct dice *d)
{
	size_t recent = w->n_clients < 2 * CLIENTS ? w->n_clients : 2 * CLIENTS;
	struct peer *c =
	    &w->clients[w->n_clients - 1 - roll(d, (uint32_t)recent)];
	struct peer *u = &w->upstream[w->n_upstreams == 0 ?
		0 :
		roll(d, (uint32_t)w->n_upstreams)];

	if (turns[0] != NULL)
		act_policy(w, d);
	switch (roll(d, 10)) {
	case 0:
	case 1:
	case 2:
		ask(w, c, d);
		break;
	case 3:
	case 4:
	case 5:
		answer(u, d);
		break;
	case 6:
		c->ends = c->ends || roll(d, 8) == 0;
		u->ends = u->ends || roll(d, 4) == 0;
		break;
	case 7:
		c->breaks = c->breaks || roll(d, 16) == 0;
		u->breaks = u->breaks || roll(d, 8) == 0;
		break;
	case 8:
		c->window = roll(d, 3) == 0 ? roll(d, 2000) : SIZE_MAX;
		u->window = roll(d, 3) == 0 ? roll(d, 2000) : SIZE_MAX;
		break;
	default:
		act_role(w, d);
		break;
	}
	world_turn(w);
}

/* Through a tunnel, behind which nothing is different. */
static void
connect_by_proxy(struct world *w, const char *name, uint16_t port)
{
	world_connect_proxy(w);
	buf_putf(&w->client->sends,
	    "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", name, port, name,
	    port);
	world_turn(w);
	/* The policy of this moment may allow nothing there. */
	if (slice_has_prefix(buf_slice(&w->client->got),
		SLICE("HTTP/1.1 200 ")))
		buf_clear(&w->client->got);
}

static void
connect_one(struct world *w)
{
	const struct program *p = w->programs[0]; /* it has all */
	static const struct {
		const char *name;
		uint16_t port;
	} places[] = { { "api.test", 443 }, { "ok.test", 80 },
		{ "pin.test", 443 }, { "db.test", 5432 }, { "git.test", 443 } };
	static const size_t order[] = { 0, 4, 1, 4, 0, 4, 1, 2, 3 };
	size_t i = order[w->n_clients % COUNT_OF(order)];
	struct slice name = slice_of_str(places[i].name);
	struct ip dst;

	assert_true(program_address(p, name, &dst));
	is_git[w->n_clients] = i == 4;
	if (w->n_clients % 4 == 1)
		connect_by_proxy(w, places[i].name, places[i].port);
	else
		world_connect(w, &dst, places[i].port);
	if (places[i].port == 443)
		world_put_hello(&w->client->sends, name,
		    w->n_clients % 3 == 0 ? ALPN_OFFER_HTTP11_H2 :
					    ALPN_OFFER_HTTP11);
	world_turn(w);
}

/* Always CLIENTS that are there, as long as the world has room. */
static void
replace_closed(struct world *w)
{
	size_t open = 0;

	for (size_t i = 0; i < w->n_clients; i++)
		open += !w->clients[i].closed;
	while (open++ < CLIENTS && w->n_clients < WORLD_CLIENTS_MAX)
		connect_one(w);
}

static struct program *
compile(struct buf *image, const char *text)
{
	const struct load_file files[] = { { .name = SLICE("config"),
	    .dir = SLICE("/"),
	    .bytes = slice_of_str(config) } };
	const struct load_owner_in own = { .files = files, .n_files = 1 };
	struct load_report report = { 0 };
	struct buf owner_image;
	enum err err;

	buf_init(image, 1 << 20);
	buf_init(&owner_image, 1 << 20);
	assert_true(load_owner(&own, &owner_image, &report));
	struct owner *owner = owner_open(buf_slice(&owner_image), &err);
	assert_non_null(owner);
	const struct load_policy_in in = { .file = { .name = SLICE("policy"),
					       .dir = SLICE("/"),
					       .bytes = slice_of_str(text) },
		.trusted = true,
		.owner = owner,
		.key = { 3 } };
	assert_true(load_policy(&in, image, &report));
	load_report_release(&report);
	owner_free(owner);
	buf_release(&owner_image);
	struct program *program = program_open(buf_slice(image), &err);
	assert_non_null(program);
	return program;
}

/* Clients that got bytes behind a 101. */
static const char behind[] = "xOo=\r\nConnection: Upgrade\r\n"
			     "Upgrade: websocket\r\n\r\nhello";

/* Clients that got this. */
static size_t
n_with(const struct world *w, const char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_clients; i++) {
		const struct buf *got = &w->clients[i].got;
		n += got->n != 0 &&
		    memmem(got->p, got->n, text, strlen(text)) != NULL;
	}
	return n;
}

static void
flows_survive_random_peers(void **state)
{
	struct buf image;
	size_t finished = 0, requests = 0, passed = 0, tunnels = 0;
	size_t adverts = 0, reports = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		struct dice d = { seed };
		struct world w;

		world_init(&w, compile(&image, policy));
		for (int i = 0; i < ACTIONS; i++) {
			replace_closed(&w);
			act(&w, &d);
		}
		for (size_t i = 0; i < w.n_clients; i++) {
			w.clients[i].breaks = roll(&d, 2) == 0;
			w.clients[i].ends = true;
		}
		finished += world_n_accounted(&w);
		tunnels += n_with(&w, behind);
		adverts += n_with(&w, "000eversion 2\n000cls-refs\n0000");
		reports += n_with(&w, "0014ok refs/heads/x");
		world_release(&w);
		assert_int_equal(world_n_accounted(&w), w.n_clients);
		requests += w.n_allowed;
		passed += w.n_passed;
		assert_int_equal(w.n_wrong, 0);
		buf_release(&image);
	}
	print_message(
	    "# %zu flows ended by themselves, %zu requests allowed, %zu "
	    "passed unread, %zu upgraded, %zu advertised, %zu pushed\n",
	    finished, requests, passed, tunnels, adverts, reports);
	assert_true(finished > SEEDS && requests > SEEDS &&
	    passed > SEEDS / 5 && tunnels > SEEDS / 10 &&
	    adverts > SEEDS / 10 && reports > SEEDS / 10);
}

static void
flows_survive_a_policy_that_changes(void **state)
{
	struct buf images[2];
	size_t requests = 0, changes = 0, ended = 0;

	(void)state;
	turns[0] = compile(&images[0], policy);
	turns[1] = compile(&images[1], narrower);
	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		struct dice d = { seed };
		struct world w;

		world_init(&w, program_ref(turns[0]));
		for (int i = 0; i < ACTIONS; i++) {
			replace_closed(&w);
			act(&w, &d);
		}
		w.roles_at = 0;
		world_release(&w);
		assert_int_equal(world_n_accounted(&w), w.n_clients);
		assert_int_equal(w.n_wrong, 0);
		requests += w.n_allowed;
		changes += w.n_programs - 1;
		ended += w.n_changed;
	}
	print_message("# %zu requests allowed, %zu changes, %zu times "
		      "policy.changed\n",
	    requests, changes, ended);
	assert_true(requests > SEEDS && changes > SEEDS && ended > SEEDS / 5);
	for (size_t i = 0; i < COUNT_OF(turns); i++) {
		program_free(turns[i]);
		turns[i] = NULL;
		buf_release(&images[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_survive_random_peers),
		cmocka_unit_test(flows_survive_a_policy_that_changes),
	};

	return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
