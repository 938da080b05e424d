/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run scripts (*.play): scripted peers and clock against the real flow, http
 * and policy.  One command a line; README.md in this folder lists them.  Prints
 * TAP, one test a file.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/ascii.h"
#include "policies.h"
#include "words.h"
#include "world.h"

struct play {
	const char *name;
	struct slice rest; /* of the script */
	size_t line;
	struct world world;
	bool is_up;
	struct policies policies; /* owned */
	size_t n_connects;
	bool failed;
};

static void
fail(struct play *p, const char *what, struct slice got)
{
	printf("# %s:%zu: %s; there is:\n", p->name, p->line, what);
	for (size_t i = 0, at = 0; i <= got.n; i++) {
		if (i < got.n && got.p[i] != '\n')
			continue;
		printf("#   %.*s\n", (int)(i - at), (const char *)got.p + at);
		at = i + 1;
	}
	p->failed = true;
}

/* --- words --------------------------------------------------------------- */

static bool
take_line(struct play *p, struct slice *line)
{
	if (p->rest.n == 0)
		return false;
	const uint8_t *end = memchr(p->rest.p, '\n', p->rest.n);
	size_t n = end == NULL ? p->rest.n : (size_t)(end - p->rest.p);
	*line = slice_first(p->rest, n);
	p->rest = slice_from(p->rest, n + 1);
	p->line++;
	return true;
}

/* --- setting up ---------------------------------------------------------- */

static void
take_block(struct play *p, struct buf *out)
{
	struct slice line;

	while (take_line(p, &line) && !slice_eq(line, SLICE("end"))) {
		buf_put(out, line);
		buf_put_byte(out, '\n');
	}
}

/* The first starts the world, each other takes the place of the one before. */
static void
set_policy(struct play *p)
{
	struct buf *text = policies_next(&p->policies), why;
	struct program *program = NULL;

	if (text == NULL) {
		fail(p, "too many policies", SLICE(""));
		return;
	}
	take_block(p, text);
	buf_init(&why, 1 << 20);
	program = policies_compile(&p->policies, &why);
	if (program == NULL)
		fail(p, "the policy cannot be used", buf_slice(&why));
	else if (p->is_up)
		world_set_program(&p->world, program);
	else
		world_init(&p->world, program);
	p->is_up = p->is_up || program != NULL;
	buf_release(&why);
}

/* Where a client goes: a name's address, or an address. */
static struct ip
address_of(struct play *p, struct slice where)
{
	const struct program *program = p->world.sandbox->generation->program;
	struct ip ip;

	if (!ip_parse(where, &ip) && !program_address(program, where, &ip))
		ip = program_refusal_address(program);
	return ip;
}

static enum alpn_offer
take_offer(struct play *p, struct slice *s)
{
	struct slice word = words_take(s);

	if (slice_eq(word, SLICE("both")))
		return ALPN_OFFER_H2_HTTP11;
	if (slice_eq(word, SLICE("turned")))
		return ALPN_OFFER_HTTP11_H2;
	if (slice_eq(word, SLICE("none")))
		return ALPN_OFFER_NONE;
	enum alpn alpn = ALPN_NONE;
	if (!alpn_read(word, &alpn))
		fail(p, "no such offer", word);
	return alpn_offer_only(alpn);
}

/* What origins do with the next handshakes. */
static void
do_chooses(struct play *p, struct slice s)
{
	struct world *w = &p->world;

	w->speaks_none = words_is(&s, "refuse");
	w->breaks = words_is(&s, "fail");
	w->chooses = ALPN_NONE;
	if (w->speaks_none || w->breaks || words_is(&s, "none"))
		return;
	if (!alpn_read(words_take(&s), &w->chooses))
		fail(p, "no such choice", s);
}

/* connect https|http|tcp NAME [to WHERE] [port N] [sni NAME|none] [offer O] */
static void
do_connect(struct play *p, struct slice s)
{
	bool tls = words_is(&s, "https");
	enum alpn_offer alpn = ALPN_OFFER_HTTP11;

	if (words_is(&s, "proxy")) {
		p->n_connects++;
		world_connect_proxy(&p->world);
		return;
	}
	if (!tls && !words_is(&s, "http"))
		(void)words_is(&s, "tcp"); /* whose port has to be said */
	struct slice name = words_take(&s);
	struct slice to = name, sni = name;
	uint16_t port = tls ? 443 : 80;
	for (words_skip(&s); s.n != 0; words_skip(&s)) {
		if (words_is(&s, "to"))
			to = words_take(&s);
		else if (words_is(&s, "port"))
			port = (uint16_t)words_number(&s);
		else if (words_is(&s, "sni"))
			sni = words_take(&s);
		else if (words_is(&s, "offer"))
			alpn = take_offer(p, &s);
		else
			break;
	}
	if (slice_eq(sni, SLICE("none")))
		sni.n = 0;
	struct ip dst = address_of(p, to);
	p->n_connects++;
	world_connect(&p->world, &dst, port);
	if (tls)
		world_put_hello(&p->world.client->sends, sni, alpn);
	world_turn(&p->world);
}

/* --- acting -------------------------------------------------------------- */

static struct peer *
take_peer(struct play *p, struct slice *s)
{
	if (words_is(s, "client"))
		return words_is(s, "before") && p->world.n_clients > 1 ?
		    &p->world.clients[p->world.n_clients - 2] :
		    p->world.client;
	if (!words_is(s, "upstream"))
		return NULL;
	if (words_is(s, "first"))
		return &p->world.upstream[0];
	if (words_is(s, "second"))
		return &p->world.upstream[1];
	return p->world.latest;
}

static bool
do_peer(struct play *p, struct peer *peer, struct slice s)
{
	struct buf text;

	if (words_is(&s, "sends")) {
		words_text(&s, &text);
		buf_put(&peer->sends, buf_slice(&text));
		buf_release(&text);
	} else if (words_is(&s, "trickles")) {
		words_text(&s, &text);
		for (size_t i = 0; i < text.n; i++) {
			buf_put_byte(&peer->sends, text.p[i]);
			world_turn(&p->world);
		}
		buf_release(&text);
	} else if (words_is(&s, "hello")) {
		struct slice name = words_take(&s);
		name.n = slice_eq(name, SLICE("none")) ? 0 : name.n;
		world_put_hello(&peer->sends, name, ALPN_OFFER_HTTP11);
	} else if (words_is(&s, "ends")) {
		peer->ends = true;
	} else if (words_is(&s, "breaks")) {
		peer->breaks = true;
	} else if (words_is(&s, "unverified")) {
		peer->is_tls = false;
	} else if (words_is(&s, "window")) {
		peer->window = words_number(&s);
	} else {
		return false;
	}
	world_turn(&p->world);
	return true;
}

static enum reason
take_reason(struct play *p, struct slice *s)
{
	struct slice word = words_take(s);
	enum reason r = reason_find(word);

	if (r == REASON_COUNT) {
		fail(p, "no such reason", word);
		return REASON_INTERNAL;
	}
	return r;
}

static bool
contains(struct slice in, struct slice what)
{
	if (what.n == 0 || in.n == 0)
		return what.n == 0;
	return memmem(in.p, in.n, what.p, what.n) != NULL;
}

static void
expect_peer(struct play *p, const struct peer *peer, struct slice s)
{
	struct slice got = buf_slice(&peer->got);
	struct buf text;

	if (words_is(&s, "nothing")) {
		if (got.n != 0)
			fail(p, "something was written", got);
		return;
	}
	if (words_is(&s, "closed")) {
		if (!peer->closed || !peer->saw_end)
			fail(p, "not closed in due form", got);
		return;
	}
	if (words_is(&s, "reset")) {
		if (!peer->closed || peer->saw_end)
			fail(p, "not reset", got);
		return;
	}
	if (words_is(&s, "open")) {
		if (peer->closed || peer->saw_end)
			fail(p, "not open", got);
		return;
	}
	bool exactly = words_is(&s, "exactly");
	bool not = words_is(&s, "not");
	words_text(&s, &text);
	bool is = exactly ? slice_eq(got, buf_slice(&text)) :
			    contains(got, buf_slice(&text));
	if (is == not )
		fail(p, not ? "this must not be there" : "not what was wanted",
		    got);
	buf_release(&text);
}

static void
do_expect(struct play *p, struct slice s)
{
	struct world *w = &p->world;
	struct peer *peer = take_peer(p, &s);
	char text[64];

	if (peer != NULL) {
		expect_peer(p, peer, s);
	} else if (words_is(&s, "dials")) {
		uint64_t n = words_number(&s);
		snprintf(text, sizeof(text), "%zu dials", w->n_upstreams);
		if (w->n_upstreams != n)
			fail(p, "another number", slice_of_str(text));
	} else if (words_is(&s, "offer")) {
		if (w->offered != take_offer(p, &s))
			fail(p, "another offer", alpn_offer_list(w->offered));
	} else if (words_is(&s, "given")) {
		if (alpn_offer_only(w->client->alpn) != take_offer(p, &s))
			fail(p, "another one", alpn_name(w->client->alpn));
	} else if (words_is(&s, "record")) {
		words_skip(&s);
		if (!contains(buf_slice(&w->records), s))
			fail(p, "no such record", buf_slice(&w->records));
	} else if (words_is(&s, "no")) {
		(void)words_is(&s, "record");
		words_skip(&s);
		if (contains(buf_slice(&w->records), s))
			fail(p, "such a record", buf_slice(&w->records));
	} else if (words_is(&s, "backlog")) {
		/* What waits on our side stays below the ceilings. */
		size_t n = w->client->stream == NULL ?
		    0 :
		    w->client->stream->out.n + w->client->stream->in.n;
		if (n > STREAM_IN_MAX + STREAM_OUT_MAX)
			fail(p, "more is queued", (struct slice){ 0 });
	} else {
		fail(p, "what is expected?", s);
	}
}

static void
do_wall(struct play *p, struct slice s)
{
	bool back = words_is(&s, "back");

	if (!back && !words_is(&s, "on"))
		fail(p, "on or back?", s);
	int64_t seconds = (int64_t)words_number(&s);
	world_set_wall(&p->world, back ? -seconds : seconds);
}

static void
do_line(struct play *p, struct slice s)
{
	struct world *w = &p->world;
	struct slice whole = s;

	if (words_is(&s, "policy")) {
		set_policy(p);
		return;
	}
	if (words_is(&s, "config")) {
		take_block(p, &p->policies.config);
		return;
	}
	if (!p->is_up)
		return;
	struct peer *peer = take_peer(p, &s);
	if (peer != NULL && do_peer(p, peer, s))
		return;
	if (words_is(&s, "connect"))
		do_connect(p, s);
	else if (words_is(&s, "expect"))
		do_expect(p, s);
	else if (words_is(&s, "clock"))
		world_pass(w, words_number(&s));
	else if (words_is(&s, "wall"))
		do_wall(p, s);
	else if (words_is(&s, "roles"))
		w->roles_at = words_number(&s);
	else if (words_is(&s, "dials"))
		w->dials = take_reason(p, &s);
	else if (words_is(&s, "token"))
		world_want_token(w, words_take(&s));
	else if (words_is(&s, "origins"))
		do_chooses(p, s);
	else if (words_is(&s, "releases"))
		w->releases = take_reason(p, &s);
	else if (words_is(&s, "handshakes")) {
		w->sandbox->handshakes.parts = words_number(&s) * 1000;
		w->sandbox->handshakes.last_ms = w->now_ms;
	} else if (words_is(&s, "admits"))
		w->admits = take_reason(p, &s);
	else if (words_is(&s, "scribe")) {
		w->scribe_fails = words_is(&s, "fails");
		w->scribe_behind = words_is(&s, "lags");
		sandbox_run(w->sandbox);
		world_turn(w);
	} else if (words_is(&s, "shutdown")) {
		(void)sandbox_finish(w->sandbox);
		sandbox_close(w->sandbox);
		world_turn(w);
	} else if (words_is(&s, "hold")) {
		w->release_waits = words_is(&s, "releases");
		w->dial_waits = w->scribe_waits = !w->release_waits;
	} else if (words_is(&s, "go")) {
		w->dial_waits = w->scribe_waits = w->release_waits = false;
		world_turn(w);
	} else
		fail(p, "no such command", whole);
}

static bool
play(const char *name, struct slice script)
{
	struct play p = { .name = name, .rest = script };
	struct slice line;
	char text[128];

	policies_init(&p.policies);
	while (take_line(&p, &line)) {
		words_skip(&line);
		if (line.n != 0 && line.p[0] != '#')
			do_line(&p, line);
	}
	if (p.is_up) {
		struct world *w = &p.world;
		sandbox_close(w->sandbox);
		world_turn(w);
		snprintf(text, sizeof(text),
		    "%zu connections, %zu accounted for, %zu undecided",
		    p.n_connects, world_n_accounted(w), w->n_wrong);
		if (w->n_wrong != 0 ||
		    (!w->scribe_fails && world_n_accounted(w) != p.n_connects))
			fail(&p, "the records do not add up",
			    slice_of_str(text));
		world_release(w);
	}
	policies_release(&p.policies);
	return !p.failed;
}

static bool
read_file(const char *name, struct buf *out)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	if (fd < 0)
		return false;
	while (n > 0) {
		uint8_t *room = buf_room(out, 65536);
		n = room == NULL ? -1 : read(fd, room, 65536);
		if (n > 0)
			buf_added(out, (size_t)n);
	}
	close(fd);
	return n == 0;
}

int
main(int argc, char **argv)
{
	int n_failed = 0;

	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++) {
		struct buf script;
		buf_init(&script, 4 << 20);
		bool ok = read_file(argv[i], &script) &&
		    play(argv[i], buf_slice(&script));
		const char *slash = strrchr(argv[i], '/');
		printf("%sok %d - %s\n", ok ? "" : "not ", i,
		    slash == NULL ? argv[i] : slash + 1);
		n_failed += !ok;
		buf_release(&script);
	}
	return n_failed == 0 ? 0 : 1;
}
