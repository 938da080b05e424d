/* SPDX-License-Identifier: Apache-2.0 */
#include "inquire_bed.h"

#define ROOM 262144 /* bytes that each peer's script may need */

static const char policy[] = "version: 1\n"
			     "policies:\n"
			     "  p:\n"
			     "    rules:\n"
			     "      - allow: git+https://git.test/Acme/App\n"
			     "        forge: forgejo\n"
			     "        fetch: true\n"
			     "        push: {branches: ['agent/**']}\n"
			     "        credential: token\n";

static const char config[] = "version: 1\n"
			     "credentials:\n"
			     "  token: {kind: token, secret: {env: T}, "
			     "only: ['git+https://git.test/Acme/App']}\n";

static struct slice
value_of(const struct world *w UNUSED, uint32_t credential UNUSED)
{
	return SLICE(INQUIRE_VALUE);
}

/* The world's own memory is there before any of ours fails. */
static void
reserve(struct buf *b)
{
	static const uint8_t zeros[ROOM];

	assert_true(buf_put(b, slice_of(zeros, ROOM)));
	buf_clear(b);
}

struct scene *
scene_begin(void)
{
	static struct scene s;
	struct ip dst;

	s = (struct scene){ 0 };
	bed_load_trusted(&s.bed, config, policy);
	assert_non_null(s.bed.program);
	world_init(&s.w, s.bed.program);
	s.bed.program = NULL; /* the sandbox's now */
	s.w.value_of = value_of;
	reserve(&s.w.records);
	for (size_t i = 0; i < 4; i++) {
		reserve(&s.w.upstream[i].sends);
		reserve(&s.w.upstream[i].got);
	}
	assert_true(program_address(s.w.sandbox->generation->program,
	    SLICE("git.test"), &dst));
	world_connect(&s.w, &dst, 443);
	world_put_hello(&s.w.client->sends, SLICE("git.test"),
	    ALPN_OFFER_HTTP11);
	world_turn(&s.w);
	buf_put_str(&s.w.client->sends,
	    "GET /acme/app/info/refs?service=git-receive-pack HTTP/1.1\r\n"
	    "Host: git.test\r\n\r\n");
	world_turn(&s.w);
	assert_int_equal(s.w.n_upstreams, 1);
	s.r = LIST_FIRST(&LIST_FIRST(&s.w.sandbox->flows)->requests);
	assert_int_equal(s.r->x.phase, EXCHANGE_SEND);
	return &s;
}

struct scene *
scene_begin_asking(void)
{
	struct scene *s = scene_begin();

	s->q = inquire_new(s->r);
	assert_non_null(s->q);
	return s;
}

void
scene_finish(struct scene *s)
{
	inquire_free(s->q);
	world_turn(&s->w);
	assert_int_equal(s->w.sandbox->n_upstreams, 1);
	world_release(&s->w);
	assert_int_equal(s->w.n_wrong, 0);
	bed_release(&s->bed);
}

void
scene_discover(struct scene *s)
{
	assert_true(inquire_ask(s->q, true, (struct slice){ 0 }));
	world_turn(&s->w);
}

void
scene_answer(struct scene *s, const char *text)
{
	buf_put_str(&s->w.latest->sends, text);
	world_turn(&s->w);
}

bool
scene_has(const struct buf *b, const char *text)
{
	return b->n != 0 && memmem(b->p, b->n, text, strlen(text)) != NULL;
}

void
scene_want(struct scene *s, enum parse parse, const char *in)
{
	assert_int_equal(inquire_peek(s->q, &s->in, &s->fail), parse);
	assert_slice(s->in, slice_of_str(in));
}

void
scene_want_bad(struct scene *s, enum reason reason, const char *detail)
{
	scene_want(s, PARSE_BAD, "");
	assert_int_equal(s->fail.reason, reason);
	assert_string_equal(s->fail.detail, detail);
	assert_false(inquire_is_pending(s->q));
}
