/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of tests/cases against the real flow, http and policy: each whole,
 * and byte by byte.  The verdict in the records is the row's reason, and the
 * other side saw what the row says and nothing else.  An alarm is raised where
 * the row says so, and nowhere else.
 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/ascii.h"
#include "base/base64.h"
#include "case.h"
#include "load/load.h"
#include "wire/h1_body.h"
#include "wire/h1_head.h"
#include "world.h"

#define TRICKLE_MAX 700 /* longer cases are not sent byte by byte */
#define CANNED "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static char *policies, *owner_text; /* policies.yaml, owner.yaml */

/* As the keeper does: the secret behind the slot's prefix. */
static struct slice
slot_value(const struct world *w, uint32_t credential)
{
	static char value[256];
	char secret[128], pair[192];
	struct program_credential c =
	    program_credential(w->sandbox->generation->program, credential);

	snprintf(secret, sizeof(secret), "%.*s" CASE_SECRET, SLICE_ARG(c.name));
	memcpy(value, c.prefix.n == 0 ? (const uint8_t *)"" : c.prefix.p,
	    c.prefix.n);
	if (c.kind == CREDENTIAL_BASIC) {
		snprintf(pair, sizeof(pair), "%.*s%s:%s", SLICE_ARG(c.user),
		    c.secret_is_user ? secret : "",
		    c.secret_is_user ? "" : secret);
		return slice_of(value,
		    c.prefix.n +
			base64_encode(slice_of_str(pair), value + c.prefix.n));
	}
	memcpy(value + c.prefix.n, secret, strlen(secret));
	return slice_of(value, c.prefix.n + strlen(secret));
}

static struct owner *
open_owner(struct buf *image, struct load_report *report)
{
	const struct load_file file = { .name = SLICE("owner.yaml"),
		.dir = SLICE("/"),
		.bytes = slice_of_str(owner_text) };
	const struct load_owner_in in = { .files = &file,
		.n_files = 1,
		.home = SLICE("/home/play") };
	enum err err;

	buf_init(image, 1 << 20);
	assert_true(load_owner(&in, image, report));
	struct owner *owner = owner_open(buf_slice(image), &err);
	assert_non_null(owner);
	return owner;
}

static void
put_placeholders(struct sandbox *sb)
{
	const struct program *p = sb->generation->program;
	enum err err;

	for (uint32_t i = 0; i < program_n_credentials(p); i++) {
		char text[64];
		snprintf(text, sizeof(text), CASE_PLACEHOLDER "%.*s",
		    SLICE_ARG(program_credential(p, i).name));
		assert_int_equal(placeholder_set_add(&sb->placeholders, i,
				     slice_of_str(text), &err),
		    0);
	}
}

static void
begin(struct world *w, const char *policy, struct buf *image)
{
	struct load_report report = { 0 };
	struct buf owner_image;
	enum err err;
	struct owner *owner = open_owner(&owner_image, &report);
	const struct load_policy_in in = {
		.file = { .name = SLICE("policies.yaml"),
		    .dir = SLICE("/"),
		    .bytes = slice_of_str(policies) },
		.policy = slice_of_str(policy),
		.trusted = true,
		.owner = owner,
		.key = { 7 },
	};

	buf_init(image, 16 << 20);
	bool loaded = load_policy(&in, image, &report);
	load_report_release(&report);
	assert_true(loaded);
	owner_free(owner);
	buf_release(&owner_image);
	struct program *program = program_open(buf_slice(image), &err);
	assert_non_null(program);
	world_init(w, program);
	w->value_of = slot_value;
	put_placeholders(w->sandbox);
}

/* What is whole of the messages in `got`: heads as they are, bodies bare. */
static void
normalise(struct slice got, bool requests, struct buf *out)
{
	while (got.n != 0) {
		struct http_request req = { 0 };
		struct http_response res = { 0 };
		struct h1_body body;
		struct parse_fail fail;
		struct slice data;
		size_t used, begun = out->n;

		enum parse p = requests ?
		    h1_request_take(got, &h1_limits, &req, &used, &fail) :
		    h1_response_take(got, &h1_limits, SLICE("GET"), &res, &used,
			&fail);
		if (p != PARSE_DONE)
			return;
		buf_put(out, slice_first(got, used));
		got = slice_from(got, used);
		h1_body_init(&body, requests ? req.body : res.body,
		    requests ? req.length : res.length, H1_CLIENT);
		do {
			p = h1_body_take(&body, got, &data, &used, &fail);
			if (p == PARSE_BAD || (p == PARSE_MORE && used == 0)) {
				out->n = begun;
				return;
			}
			buf_put(out, data);
			buf_put(out, body.section);
			got = slice_from(got, used);
		} while (p == PARSE_MORE);
	}
}

/* The reason in the first record that has `mark` before it, else `none`. */
static void
first_reason(const struct world *w, const char *mark, const char *none,
    char *out, size_t max)
{
	struct slice rest = buf_slice(&w->records);
	const uint8_t *p =
	    rest.n == 0 ? NULL : memmem(rest.p, rest.n, mark, strlen(mark));

	snprintf(out, max, "%s", none);
	if (p == NULL)
		return;
	p += strlen(mark);
	size_t n = 0;
	while (p[n] != ' ' && p[n] != '\n')
		n++;
	snprintf(out, max, "%.*s", (int)n, (const char *)p);
}

static void
send_to(struct world *w, struct peer *peer, struct slice bytes, bool trickle)
{
	if (!trickle) {
		buf_put(&peer->sends, bytes);
		world_turn(w);
		return;
	}
	for (size_t i = 0; i < bytes.n; i++) {
		buf_put_byte(&peer->sends, bytes.p[i]);
		world_turn(w);
	}
}

/* Every upstream answers each whole request that it has seen. */
static void
answer_all(struct world *w)
{
	size_t answered = 0, asked;

	do {
		struct buf seen;
		buf_init(&seen, 4 << 20);
		for (size_t i = 0; i < w->n_upstreams; i++)
			normalise(buf_slice(&w->upstream[i].got), true, &seen);
		asked = 0;
		for (size_t at = 0; at + 11 <= seen.n; at++)
			asked += memcmp(seen.p + at, " HTTP/1.1\r\n", 11) == 0;
		buf_release(&seen);
		if (asked <= answered)
			return;
		answered++;
		send_to(w, w->latest, SLICE(CANNED), false);
	} while (true);
}

static void
connect_to(struct world *w, bool plain)
{
	const struct program *p = w->sandbox->generation->program;
	struct ip dst;

	/* A name of one pattern: its own address; else the wildcard's. */
	if (!program_address(p, SLICE("ok.test"), &dst) &&
	    !program_address(p, SLICE("a.ok.test"), &dst) &&
	    !program_address(p, SLICE("_x.ok.test"), &dst) &&
	    !program_address(p, SLICE("xn--bcher-kva.test"), &dst))
		dst = program_refusal_address(p);
	world_connect(w, &dst, plain ? 80 : 443);
	if (plain)
		return;
	world_put_hello(&w->client->sends, SLICE("ok.test"), ALPN_OFFER_HTTP11);
	world_turn(w);
}

static void
run_request(struct world *w, struct slice bytes, bool trickle, struct buf *saw)
{
	send_to(w, w->client, bytes, trickle);
	answer_all(w);
	w->client->ends = true;
	world_turn(w);
	answer_all(w);
	world_pass(w, 20000);
	for (size_t i = 0; i < w->n_upstreams; i++)
		normalise(buf_slice(&w->upstream[i].got), true, saw);
}

static void
run_answer(struct world *w, struct slice bytes, bool trickle, struct buf *saw)
{
	send_to(w, w->client, SLICE("GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n"),
	    false);
	send_to(w, &w->upstream[0], bytes, trickle);
	/* Then it ends, or, if the answer is whole, it stays. */
	normalise(buf_slice(&w->client->got), false, saw);
	w->upstream[0].ends = saw->n == 0;
	buf_clear(saw);
	world_turn(w);
	world_pass(w, 20000);
	normalise(buf_slice(&w->client->got), false, saw);
}

static void
run_hello(struct world *w, struct slice bytes, bool trickle)
{
	struct ip dst;

	assert_true(program_address(w->sandbox->generation->program,
	    SLICE("ok.test"), &dst));
	world_connect(w, &dst, 443);
	send_to(w, w->client, bytes, trickle);
	world_pass(w, 20000);
	w->client->ends = true;
	world_turn(w);
	world_pass(w, 20000);
}

/* Whatever was said before: a good request gets its own answer. */
static void
run_next(struct world *w, const char *id)
{
	static const char own[] =
	    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n123";

	connect_to(w, false);
	send_to(w, w->client,
	    SLICE("GET /own HTTP/1.1\r\nHost: ok.test\r\n\r\n"), false);
	if (w->n_upstreams == 0 || w->latest->got.n == 0)
		fail_msg("%s: the next request reached nobody", id);
	send_to(w, w->latest, slice_of_str(own), false);
	if (!slice_eq_str(buf_slice(&w->client->got), own))
		fail_msg("%s: the next answer is\n%.*s", id,
		    SLICE_ARG(buf_slice(&w->client->got)));
}

static void
run(const struct case_row *row, struct slice bytes, struct slice sees,
    bool trickle)
{
	struct world world;
	struct buf image, saw;
	char got[64], alarm[64];
	bool plain = strncmp(row->policy, "plain", 5) == 0;

	buf_init(&saw, 4 << 20);
	begin(&world, row->policy, &image);
	if (strcmp(row->input, "hello") == 0) {
		run_hello(&world, bytes, trickle);
	} else {
		connect_to(&world, plain);
		if (strcmp(row->input, "answer") == 0)
			run_answer(&world, bytes, trickle, &saw);
		else
			run_request(&world, bytes, trickle, &saw);
	}
	first_reason(&world, " deny ", "allow", got, sizeof(got));
	first_reason(&world, "alarm  ", "", alarm, sizeof(alarm));
	if (strcmp(got, row->reason) != 0 || strcmp(alarm, row->alarm) != 0)
		fail_msg("%s%s: %s !%s, not %s !%s\n%.*s", row->id,
		    trickle ? " byte by byte" : "", got, alarm, row->reason,
		    row->alarm, SLICE_ARG(buf_slice(&world.records)));
	/* Our own refusal is what a client sees of a bad answer. */
	bool ours =
	    strcmp(row->input, "answer") == 0 && strcmp(got, "allow") != 0;
	if (!ours && !slice_eq(buf_slice(&saw), sees))
		fail_msg("%s%s: the other side saw\n%.*s\nand not\n%.*s",
		    row->id, trickle ? " byte by byte" : "",
		    SLICE_ARG(buf_slice(&saw)), SLICE_ARG(sees));
	if (strcmp(row->policy, "base") == 0)
		run_next(&world, row->id);
	assert_int_equal(world.n_wrong, 0);
	size_t n_clients = world.n_clients;
	world_release(&world);
	assert_int_equal(world_n_accounted(&world), n_clients);
	buf_release(&image);
	buf_release(&saw);
}

static void
run_row(const struct case_row *row)
{
	static uint8_t bytes[CASE_SIZE], sees[CASE_SIZE];
	size_t picks = 1, none;
	size_t n_sees = case_unescape(row->sees, 0, &none, sees);

	for (size_t pick = 0; pick < picks; pick++) {
		size_t n = case_unescape(row->bytes, pick, &picks, bytes);
		run(row, slice_of(bytes, n), slice_of(sees, n_sees), false);
		if (n <= TRICKLE_MAX && pick == 0)
			run(row, slice_of(bytes, n), slice_of(sees, n_sees),
			    true);
	}
}

static void
rows_of_credentials(void **state)
{
	(void)state;
	case_file("cr", 150, run_row);
}

static void
rows_of_names(void **state)
{
	(void)state;
	case_file("nm", 1, run_row);
}

static void
rows_of_paths(void **state)
{
	(void)state;
	case_file("pt", 1, run_row);
}

static void
rows_of_framing(void **state)
{
	(void)state;
	case_file("sm", 1, run_row);
}

static void
rows_of_hellos(void **state)
{
	(void)state;
	case_file("tl", 1, run_row);
}

/* What a client is answered to `path` with this value of Authorization. */
static void
ask(const char *path, const char *value, struct buf *answer)
{
	struct world world;
	struct buf image;
	char text[256];

	begin(&world, "cred", &image);
	connect_to(&world, false);
	snprintf(text, sizeof(text),
	    "GET %s HTTP/1.1\r\nHost: ok.test\r\nAuthorization: Bearer "
	    "%s\r\n\r\n",
	    path, value);
	send_to(&world, world.client, slice_of_str(text), false);
	buf_init(answer, 1 << 16);
	buf_put(answer, buf_slice(&world.client->got));
	assert_int_equal(world.upstream[0].got.n, 0);
	world_release(&world);
	buf_release(&image);
}

/* A value from `like` whose last `n` characters are other ones each time. */
static void
guess(const char *like, size_t n, uint32_t *seed, char *out)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	size_t size = strlen(like);

	memcpy(out, like, size + 1);
	for (size_t i = size - n; i < size; i++) {
		*seed = *seed * 1103515245 + 12345;
		out[i] = letters[(*seed >> 16) % (sizeof(letters) - 1)];
	}
}

/* 1,000 guesses are answered as the right one is, byte for byte. */
static void
check_guesses(const char *path, const char *right, const char *like, size_t n)
{
	char value[64];
	uint32_t seed = 20;
	struct buf first, answer;

	ask(path, right, &first);
	assert_true(first.n > 100);
	for (int i = 0; i < 1000; i++) {
		guess(like, n, &seed, value);
		ask(path, value, &answer);
		if (!slice_eq(buf_slice(&answer), buf_slice(&first)))
			fail_msg("%s: %.*s", value,
			    SLICE_ARG(buf_slice(&answer)));
		buf_release(&answer);
	}
	buf_release(&first);
}

/*
 * CR-20.  Where policy says no, the right placeholder is answered as any other
 * value.  One of another sandbox is answered as one that nobody has; the mark
 * alone decides.
 */
static void
a_placeholder_is_no_oracle(void **state)
{
	static const char ours[] = CASE_PLACEHOLDER "api";
	static const char others[] = "ghp_dUeNnA7q0123456789abcdefghijklmnopqr";

	(void)state;
	check_guesses("/v2/a", ours, "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
	    36);
	check_guesses("/v1/a", others, others, 28);
	check_guesses("/v1/a", others, ours, 4);
}

static void
rows_of_tunnels(void **state)
{
	(void)state;
	case_file("up", 1, run_row);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_credentials),
		cmocka_unit_test(a_placeholder_is_no_oracle),
		cmocka_unit_test(rows_of_names),
		cmocka_unit_test(rows_of_paths),
		cmocka_unit_test(rows_of_framing),
		cmocka_unit_test(rows_of_hellos),
		cmocka_unit_test(rows_of_tunnels),
	};

	policies = case_text("policies.yaml");
	owner_text = case_text("owner.yaml");
	int failed = cmocka_run_group_tests_name("rows", tests, NULL, NULL);
	free(policies);
	free(owner_text);
	return failed;
}
