/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole connection: what a client and an upstream say, in pieces, and how
 * they end, against flow, http and policy.  Whatever it is: one end on record,
 * records that are decided again, and nothing at the upstream but requests that
 * our own parser takes, for the one host, with a method of the policy.
 *
 *	u8 options, u16 bytes of the client's, the client's, the upstream's
 */
#include "fuzz.h"
#include "load/load.h"
#include "wire/h1_body.h"
#include "wire/h1_head.h"
#include "wire/upgrade.h"
#include "world.h"

#define PLAIN 0x01   /* http on port 80, without a credential */
#define TRICKLE 0x02 /* byte by byte */
#define CLIENT_ENDS 0x04
#define CLIENT_BREAKS 0x08
#define UP_ENDS 0x10
#define UP_BREAKS 0x20
#define LATE 0x40   /* the upstream speaks before the client has ended */
#define NARROW 0x80 /* both take little at once */

static const char config[] =
    "version: 1\n"
    "credentials:\n"
    "  token: {kind: token, secret: {env: T}, only: [\"https://ok.test/**\"]}\n";

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - {allow: \"https://ok.test/**\", methods: [GET, POST],\n"
    "         credential: token}\n"
    "      - {allow: \"http://ok.test/**\", methods: [GET, POST]}\n"
    "      - {allow: [\"ws://ok.test/**\"], limits: {body: 1KiB}}\n"
    "      - {allow: \"wss://ok.test/**\", credential: token}\n";

static struct buf image;

static void
compile(void)
{
	const struct load_file file = { .name = SLICE("c"),
		.dir = SLICE("/"),
		.bytes = slice_of_str(config) };
	const struct load_owner_in own = { .files = &file, .n_files = 1 };
	struct load_report report = { 0 };
	struct buf owner_image;
	enum err err;

	buf_init(&image, 1 << 20);
	buf_init(&owner_image, 1 << 20);
	CHECK(load_owner(&own, &owner_image, &report));
	struct owner *owner = owner_open(buf_slice(&owner_image), &err);
	CHECK(owner != NULL);
	const struct load_policy_in in = { .file = { .name = SLICE("p"),
					       .dir = SLICE("/"),
					       .bytes = slice_of_str(policy) },
		.trusted = true,
		.owner = owner };
	CHECK(load_policy(&in, &image, &report));
	load_report_release(&report);
	owner_free(owner);
	buf_release(&owner_image);
}

/* Behind a request that opens a WebSocket nothing comes before a 101. */
static void
check_upgrade(const struct http_request *req, struct slice rest,
    struct slice answers)
{
	CHECK(upgrade_asked(req) == UPGRADE_WEBSOCKET);
	CHECK(upgrade_check_request(req) == NULL);
	CHECK(rest.n == 0 || memmem(answers.p, answers.n, " 101", 4) != NULL);
}

/* What an upstream got is whole requests of ours, the last perhaps cut. */
static void
check_requests(struct slice got, bool plain, struct slice answers)
{
	while (got.n != 0) {
		struct http_request req = { 0 };
		struct h1_body body;
		struct parse_fail fail;
		struct slice data;
		size_t used;

		enum parse p =
		    h1_request_take(got, &h1_limits, &req, &used, &fail);
		CHECK(p != PARSE_BAD);
		if (p == PARSE_MORE)
			return;
		CHECK(slice_eq(host_slice(&req.host.host), SLICE("ok.test")));
		CHECK(slice_eq(req.method, SLICE("GET")) ||
		    slice_eq(req.method, SLICE("POST")));
		CHECK(req.target.form == TARGET_ORIGIN);
		CHECK(field_count(&req.fields, SLICE("authorization")) ==
		    (plain ? 0 : 1));
		got = slice_from(got, used);
		if (req.has_upgrade) {
			check_upgrade(&req, got, answers);
			return;
		}
		h1_body_init(&body, req.body, req.length, H1_CLIENT);
		do {
			p = h1_body_take(&body, got, &data, &used, &fail);
			CHECK(p != PARSE_BAD);
			got = slice_from(got, used);
		} while (p == PARSE_MORE && used != 0);
		if (p == PARSE_MORE)
			return;
	}
}

static void
say(struct world *w, struct peer *p, struct slice bytes, bool trickle)
{
	if (!trickle) {
		buf_put(&p->sends, bytes);
		world_turn(w);
		return;
	}
	for (size_t i = 0; i < bytes.n && i < 512; i++) {
		buf_put_byte(&p->sends, bytes.p[i]);
		world_turn(w);
	}
	buf_put(&p->sends, slice_from(bytes, 512));
	world_turn(w);
}

static void
begin(struct world *w, uint8_t options)
{
	struct ip dst;
	enum err err;

	world_init(w, program_open(buf_slice(&image), &err));
	CHECK(program_address(w->sandbox->generation->program, SLICE("ok.test"),
	    &dst));
	world_connect(w, &dst, (options & PLAIN) != 0 ? 80 : 443);
	if ((options & PLAIN) == 0)
		world_put_hello(&w->client->sends, SLICE("ok.test"), true);
	if ((options & NARROW) != 0)
		w->client->window = w->upstream[0].window = 100;
	world_turn(w);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { data, size };
	static struct world w;

	if (image.n == 0)
		compile();
	if (size < 3)
		return 0;
	uint8_t options = data[0];
	size_t n = (size_t)(data[1] << 8 | data[2]);
	struct slice client = slice_first(slice_from(in, 3), n);
	struct slice upstream = slice_from(in, 3 + client.n);

	begin(&w, options);
	if ((options & LATE) != 0)
		say(&w, w.latest, upstream, false);
	say(&w, w.client, client, (options & TRICKLE) != 0);
	if ((options & LATE) == 0)
		say(&w, w.latest, upstream, (options & TRICKLE) != 0);
	w.client->window = w.latest->window = SIZE_MAX;
	w.client->ends = (options & CLIENT_ENDS) != 0;
	w.client->breaks = (options & CLIENT_BREAKS) != 0;
	w.latest->ends = (options & UP_ENDS) != 0;
	w.latest->breaks = (options & UP_BREAKS) != 0;
	world_turn(&w);
	for (size_t i = 0; i < w.n_upstreams; i++)
		check_requests(buf_slice(&w.upstream[i].got),
		    (options & PLAIN) != 0, upstream);
	world_pass(&w, 1000000);
	world_pass(&w, 20000);
	CHECK(w.n_wrong == 0);
	world_release(&w);
	CHECK(world_n_accounted(&w) == 1);
	return 0;
}
