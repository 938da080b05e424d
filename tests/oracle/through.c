/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes out behind flow/, http/ and policy/ when a peer says this, and how
 * we read that ourselves; for a second implementation to compare with.
 *
 * Reads lines `KIND HEX`, writes a line for each, in hex; `-` for nothing:
 *   request   what a client says.  For each whole request that reached an
 *             origin: `METHOD,TARGET,.BODY,BYTES`, and a blank
 *   answer    what an origin answers to a GET before it ends.  What the client
 *             got: `STATUS,.BODY,whole|cut,BYTES`
 */
#include <stdio.h>

#include "base/ascii.h"
#include "policy_bed.h"
#include "wire/h1_body.h"
#include "world.h"

#define INPUT_MAX 200000
#define CANNED "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - {allow: 'http://ok.test/**', methods: any, encoded_slash: true}\n";

static struct bed bed;

static void
print(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		printf("%02x", s.p[i]);
}

/* One message off the front of `rest`, as we read it. */
struct message {
	struct http_request req;
	struct http_response res;
	struct buf body;
	struct slice bytes;
	bool whole, is_request;
};

static bool
take_head(struct message *m, struct slice in, size_t *used)
{
	struct parse_fail fail;

	memset(&m->req, 0, sizeof(m->req));
	memset(&m->res, 0, sizeof(m->res));
	return (m->is_request ?
		       h1_request_take(in, &h1_limits, &m->req, used, &fail) :
		       h1_response_take(in, &h1_limits, SLICE("GET"), &m->res,
			   used, &fail)) == PARSE_DONE;
}

/* False: not even its head is there. */
static bool
take_message(struct message *m, struct slice *rest)
{
	struct slice begun = *rest, data;
	struct parse_fail fail;
	struct h1_body body;
	enum parse p;
	size_t used;

	if (!take_head(m, *rest, &used))
		return false;
	*rest = slice_from(*rest, used);
	buf_clear(&m->body);
	h1_body_init(&body, m->is_request ? m->req.body : m->res.body,
	    m->is_request ? m->req.length : m->res.length,
	    m->is_request ? H1_CLIENT : H1_UPSTREAM);
	do {
		p = h1_body_take(&body, *rest, &data, &used, &fail);
		if (p == PARSE_BAD)
			break;
		buf_put(&m->body, data);
		*rest = slice_from(*rest, used);
	} while (p == PARSE_MORE && used != 0);
	m->whole = p == PARSE_DONE ||
	    (p == PARSE_MORE && rest->n == 0 && h1_body_may_end(&body));
	m->bytes = slice_first(begun, begun.n - rest->n);
	return true;
}

static void
begin(struct world *w)
{
	struct ip dst;
	enum err err;
	struct program *program = program_open(buf_slice(&bed.image), &err);

	if (program == NULL ||
	    !program_address(program, SLICE("ok.test"), &dst))
		abort();
	world_init(w, program);
	world_connect(w, &dst, 80);
}

/* How many whole requests the origins have. */
static size_t
n_requests(const struct world *w, struct message *m)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_upstreams; i++) {
		struct slice rest = buf_slice(&w->upstream[i].got);
		while (take_message(m, &rest) && m->whole)
			n++;
	}
	return n;
}

static void
on_request(struct world *w, struct slice in)
{
	static struct message m = { .is_request = true };
	size_t n_answered = 0;

	buf_init(&m.body, INPUT_MAX);
	buf_put(&w->client->sends, in);
	world_turn(w);
	while (n_requests(w, &m) > n_answered) {
		n_answered++;
		buf_put_str(&w->latest->sends, CANNED);
		world_turn(w);
	}
	if (n_answered == 0)
		printf("-");
	for (size_t i = 0; i < w->n_upstreams; i++) {
		struct slice rest = buf_slice(&w->upstream[i].got);
		while (take_message(&m, &rest) && m.whole) {
			print(m.req.method);
			printf(",");
			print(m.req.raw_target);
			printf(",.");
			print(buf_slice(&m.body));
			printf(",");
			print(m.bytes);
			printf(" ");
		}
	}
	buf_release(&m.body);
}

static void
on_answer(struct world *w, struct slice in)
{
	static struct message m;
	struct slice rest;

	buf_init(&m.body, INPUT_MAX);
	buf_put_str(&w->client->sends,
	    "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n");
	world_turn(w);
	/* The last byte alone: what is wrong may be seen when a part of it is
	 * with the client. */
	buf_put(&w->upstream[0].sends, slice_first(in, in.n - (in.n != 0)));
	world_turn(w);
	buf_put(&w->upstream[0].sends, slice_from(in, in.n - (in.n != 0)));
	w->upstream[0].ends = true;
	world_turn(w);
	rest = buf_slice(&w->client->got);
	while (take_message(&m, &rest) && m.res.status < 200)
		continue;
	if (w->client->got.n == 0) {
		printf("-");
		buf_release(&m.body);
		return;
	}
	/* A client that gets a reset sees no end. */
	bool whole = m.whole && (rest.n == 0) &&
	    (m.res.body != HTTP_BODY_UNTIL_CLOSE || w->client->saw_end);
	printf("%u,.", m.res.status);
	print(buf_slice(&m.body));
	printf(",%s,", whole ? "whole" : "cut");
	print(buf_slice(&w->client->got));
	buf_release(&m.body);
}

static void
on_line(const char *kind, struct slice in)
{
	static struct world w;

	begin(&w);
	if (strcmp(kind, "request") == 0)
		on_request(&w, in);
	else
		on_answer(&w, in);
	printf("\n");
	w.client->ends = true;
	world_turn(&w);
	world_release(&w);
}

int
main(void)
{
	static uint8_t bytes[INPUT_MAX];
	char *line = NULL;
	size_t size = 0;

	bed_load_trusted(&bed, NULL, policy);
	while (getline(&line, &size, stdin) > 0) {
		char *hex = strchr(line, ' ');
		size_t n = 0;

		if (hex == NULL)
			return 2;
		*hex++ = '\0';
		for (; ascii_hex((uint8_t)hex[0]) >= 0 && n < INPUT_MAX;
		     hex += 2)
			bytes[n++] = (uint8_t)(ascii_hex((uint8_t)hex[0]) * 16 +
			    ascii_hex((uint8_t)hex[1]));
		on_line(line, slice_of(bytes, n));
	}
	free(line);
	bed_release(&bed);
	return 0;
}
