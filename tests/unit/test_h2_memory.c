/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of a connection of HTTP/2, and of nghttp2 for it, fails
 * once: nothing is lost, nothing is used that is gone, and what fails says so.
 */
#include "fails.h"

#include <sys/queue.h>

#include <stddef.h>

#include "h2_bed.h"

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

/* --- nghttp2's allocations are ours too ----------------------------------- */

struct block {
	TAILQ_ENTRY(block) entry;
	size_t n;
	max_align_t bytes[]; /* what nghttp2 sees */
};

static TAILQ_HEAD(, block) blocks = TAILQ_HEAD_INITIALIZER(blocks);

static struct block *
block_of(void *p)
{
	return (void *)((char *)p - offsetof(struct block, bytes));
}

static void *
mem_malloc(size_t n, void *arg UNUSED)
{
	struct block *b = __wrap_malloc(sizeof(*b) + n);

	if (b == NULL)
		return NULL;
	b->n = n;
	TAILQ_INSERT_TAIL(&blocks, b, entry);
	return b->bytes;
}

static void
mem_free(void *p, void *arg UNUSED)
{
	if (p == NULL)
		return;
	TAILQ_REMOVE(&blocks, block_of(p), entry);
	free(block_of(p));
}

static void *
mem_calloc(size_t n, size_t size, void *arg UNUSED)
{
	void *p = mem_malloc(n * size, NULL);

	if (p != NULL)
		memset(p, 0, n * size);
	return p;
}

static void *
mem_realloc(void *p, size_t n, void *arg UNUSED)
{
	void *q = mem_malloc(n, NULL);

	if (q == NULL || p == NULL)
		return q;
	memcpy(q, p, block_of(p)->n < n ? block_of(p)->n : n);
	mem_free(p, NULL);
	return q;
}

/* What a session that failed in nghttp2 leaves: see http/h2.c. */
static size_t
free_blocks(void)
{
	struct block *b;
	size_t n = 0;

	for (; (b = TAILQ_FIRST(&blocks)) != NULL; n++)
		mem_free(b->bytes, NULL);
	return n;
}

static nghttp2_mem mem = { NULL, mem_malloc, mem_free, mem_calloc,
	mem_realloc };

int __wrap_nghttp2_session_server_new3(nghttp2_session **session,
    const nghttp2_session_callbacks *callbacks, void *arg,
    const nghttp2_option *option, nghttp2_mem *theirs);
int __wrap_nghttp2_session_client_new3(nghttp2_session **session,
    const nghttp2_session_callbacks *callbacks, void *arg,
    const nghttp2_option *option, nghttp2_mem *theirs);
int __real_nghttp2_session_server_new3(nghttp2_session **session,
    const nghttp2_session_callbacks *callbacks, void *arg,
    const nghttp2_option *option, nghttp2_mem *theirs);
int __real_nghttp2_session_client_new3(nghttp2_session **session,
    const nghttp2_session_callbacks *callbacks, void *arg,
    const nghttp2_option *option, nghttp2_mem *theirs);

int
__wrap_nghttp2_session_server_new3(nghttp2_session **session,
    const nghttp2_session_callbacks *callbacks, void *arg,
    const nghttp2_option *option, nghttp2_mem *theirs UNUSED)
{
	return __real_nghttp2_session_server_new3(session, callbacks, arg,
	    option, &mem);
}

int
__wrap_nghttp2_session_client_new3(nghttp2_session **session,
    const nghttp2_session_callbacks *callbacks, void *arg,
    const nghttp2_option *option, nghttp2_mem *theirs UNUSED)
{
	return __real_nghttp2_session_client_new3(session, callbacks, arg,
	    option, &mem);
}

/* --- the walk ------------------------------------------------------------- */

static const struct host host = { .text = "ok.test", .n = 7 };

static bool
ask(struct h2_side *client, struct stream **s)
{
	struct field slot = { .name = SLICE("authorization"),
		.value = SLICE("canary") };
	struct field_list fields = { .n = 0 };
	struct http_new_request r = {
		.method = SLICE("POST"),
		.path = SLICE("/"),
		.host = &host,
		.fields = &fields,
		.body = HTTP_BODY_OPEN,
		.credentials = &slot,
		.n_credentials = 1,
	};
	enum err err;

	*s = h2_open(client->c, &err);
	if (*s == NULL)
		return false;
	client->s[client->n++] = *s;
	return h2_put_request(*s, &r, false);
}

static bool
answer(struct stream *s)
{
	struct field_list fields = { .n = 1 };
	struct http_new_response r = { .status = 200, .fields = &fields };
	struct http_request req = { 0 };
	struct parse_fail fail;
	struct buf head;

	fields.at[0] =
	    (struct field){ .name = SLICE("a"), .value = SLICE("b") };
	buf_init(&head, LIMIT_HEAD_SIZE);
	bool ok = h2_read_request(s, &req, &head, &fail) == PARSE_DONE;
	buf_release(&head);
	return ok && h2_put_response(s, &r, false) &&
	    stream_put(s, SLICE("world")) && h2_put_trailers(s, &fields);
}

/* True if all went well; all that is there is well-formed in any case. */
static bool
talk(struct h2_bed *b)
{
	static uint8_t zeros[LIMIT_BACKLOG_SIZE];
	struct stream *up, *second;
	struct http_response res = { 0 };
	struct parse_fail fail;
	struct buf head;

	if (!ask(&b->client, &up) || !ask(&b->client, &second) ||
	    !stream_put(up, slice_of(zeros, sizeof(zeros))))
		return false;
	stream_close(second);
	b->client.s[1] = NULL;
	h2_bed_turn(b);
	if (!stream_put(up, slice_of(zeros, sizeof(zeros))))
		return false;
	stream_shut(up);
	h2_bed_turn(b);
	if (b->server.n == 0)
		return false;
	struct stream *s = b->server.s[0];
	if (!answer(s))
		return false;
	while (stream_peek(s).n != 0)
		stream_take(s, stream_peek(s).n);
	h2_bed_turn(b);
	if (!stream_is_eof(s) || stream_is_broken(s))
		return false;
	buf_init(&head, LIMIT_HEAD_SIZE);
	bool ok = h2_read_response(up, SLICE("GET"), &res, &head, &fail) ==
	    PARSE_DONE;
	buf_release(&head);
	ok = ok && slice_eq(stream_peek(up), SLICE("world"));
	stream_take(up, stream_peek(up).n);
	return ok && stream_is_eof(up);
}

static void
h2_survives_each_allocation_that_fails(void **state)
{
	(void)state;
	for (int all = 0; all < 2; all++) {
		bool whole = false;
		unsigned first = 1;
		for (; !whole; first++) {
			struct h2_bed b;
			h2_bed_init(&b, H2_BED_BOTH);
			/* What the test itself needs does not fail. */
			assert_non_null(buf_room(&b.to_server.bytes, 1 << 20));
			assert_non_null(buf_room(&b.to_client.bytes, 1 << 20));
			fails_from(first, all);
			whole = talk(&b);
			bool failed = fails_asked() >= first;
			fails_from(0, false);
			/* A failure may be mended, but is never hidden: the
			 * answer was whole. */
			whole = whole && !failed;
			h2_bed_release(&b);
			size_t left = free_blocks();
			assert_true(left == 0 || failed);
			assert_true(first < 2000);
		}
		assert_true(first > 20);
	}
}

static void
ignore_news(struct h2_conn *c UNUSED, void *arg UNUSED)
{
}

static const struct h2_conn_ops no_ops = { .on_news = ignore_news };

static void
h2_says_that_there_is_no_memory(void **state)
{
	(void)state;
	struct h2_bed b;
	struct h2_conn *c = NULL;

	h2_bed_init(&b, H2_BED_CLIENT);
	for (unsigned first = 1; c == NULL; first++) {
		enum err err = ERR_NONE;
		struct stream *bytes = h2_bed_end(&b);
		fails_from(first, false);
		c = h2_accept(b.loop, bytes, &no_ops, NULL, &err);
		fails_from(0, false);
		if (c == NULL)
			assert_int_equal(err, ERR_MEMORY);
		h2_bed_turn(&b); /* the stream is freed in any case */
		assert_true(c != NULL || b.to_server.reader == NULL);
		assert_true(first < 200);
	}
	h2_close(c);
	h2_bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h2_survives_each_allocation_that_fails),
		cmocka_unit_test(h2_says_that_there_is_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
