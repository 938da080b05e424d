/* SPDX-License-Identifier: Apache-2.0 */
/* The batch of LFS: what goes up, and what comes down without its tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/limits.h"
#include "git/lfs.h"

#define OID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ONE "{\"oid\":\"" OID "\",\"size\":12}"
#define OBJECTS "\"objects\":[" ONE "]"
#define DOWN "\"operation\":\"download\""

/* `want` NULL: refused, for `detail`. */
static const struct {
	const char *in, *want, *detail;
} asks[] = {
	{ "{" DOWN "," OBJECTS "}", "{" DOWN "," OBJECTS "}", NULL },
	{ " { \"objects\" : [ { \"size\" : 12 , \"oid\" : \"" OID
	  "\" } ] , " DOWN " } \n",
	    "{" OBJECTS "," DOWN "}", NULL },
	{ "{\"ref\":{\"name\":\"refs/heads/\\\"\xc3\xa4\"}," DOWN
	  ",\"transfers\":[\"lfs-standalone-file\",\"basic\",\"ssh\"]," OBJECTS
	  ",\"hash_algo\":\"sha256\"}",
	    "{" DOWN ",\"transfers\":[\"basic\"]," OBJECTS
	    ",\"hash_algo\":\"sha256\"}",
	    NULL },
	{ "{" DOWN ",\"objects\":[]}", "{" DOWN ",\"objects\":[]}", NULL },
	{ "{" DOWN ",\"objects\":[" ONE "," ONE "],\"ref\":{}}",
	    "{" DOWN ",\"objects\":[" ONE "," ONE "]}", NULL },
	{ "", NULL, "a batch without a body" },
	{ "[]", NULL, "expected an object" },
	{ "{" DOWN "}", NULL, "a batch without its operation or its objects" },
	{ "{" OBJECTS "}", NULL,
	    "a batch without its operation or its objects" },
	{ "{" DOWN "," OBJECTS "}x", NULL, "bytes behind a batch" },
	{ "{" DOWN "," DOWN "," OBJECTS "}", NULL,
	    "a key of a batch that stands twice" },
	{ "{" DOWN ",\"oper\\u0061tion\":\"upload\"," OBJECTS "}", NULL,
	    "escape or odd byte in a string" },
	{ "{\"Operation\":\"download\"," OBJECTS "}", NULL,
	    "unknown key of a batch" },
	{ "{\"operation\":\"verify\"," OBJECTS "}", NULL,
	    "an operation that is no download and no upload" },
	{ "{" DOWN ",\"transfers\":[\"ssh\"]," OBJECTS "}", NULL,
	    "transfers without `basic`" },
	{ "{" DOWN ",\"hash_algo\":\"sha512\"," OBJECTS "}", NULL,
	    "a hash that is not sha256" },
	{ "{" DOWN ",\"objects\":[{\"oid\":\"" OID "\"}]}", NULL,
	    "an object without its id or its size" },
	{ "{" DOWN ",\"objects\":[{\"oid\":\"" OID "0\",\"size\":1}]}", NULL,
	    "an object without its id or its size" },
	{ "{" DOWN ",\"objects\":[{\"oid\":\"x\",\"oid\":\"" OID
	  "\",\"size\":1}]}",
	    NULL, "a key of an object, unknown or twice" },
	{ "{" DOWN ",\"objects\":[{\"oid\":\"" OID "\",\"size\":-1}]}", NULL,
	    "expected a size" },
	{ "{" DOWN ",\"objects\":[{\"oid\":\"" OID "\",\"size\":01}]}", NULL,
	    "a number with a zero before it" },
	{ "{" DOWN ",\"objects\":[{\"oid\":\"" OID "\",\"size\":1.5}]}", NULL,
	    "a size that is no whole number" },
	{ "{" DOWN ",\"objects\":[{\"oid\":\"" OID
	  "\",\"size\":1234567890123456}]}",
	    NULL, "a size that is too large" },
};

static void
lfs_ask_is_written_anew(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(asks); i++) {
		struct slice in = slice_of_str(asks[i].in);
		uint8_t *room = malloc(in.n + 1);
		struct wr out = wr_of(room, in.n);
		struct parse_fail fail;
		struct lfs_ask ask;

		print_message("# %s\n", asks[i].in);
		bool good = lfs_ask_read(in, &ask, &out, &fail) == PARSE_DONE;
		assert_int_equal(good, asks[i].want != NULL);
		if (good) {
			size_t n = strlen(asks[i].want);
			assert_false(ask.upload || out.bad);
			assert_int_equal(out.n, in.n);
			assert_memory_equal(room, asks[i].want, n);
			while (n < in.n)
				assert_int_equal(room[n++], ' ');
		} else {
			assert_string_equal(fail.detail, asks[i].detail);
			assert_int_equal(fail.reason, REASON_GIT_MALFORMED);
		}
		free(room);
	}
}

static void
lfs_ask_has_a_ceiling(void **state)
{
	uint8_t *room = malloc(1 << 16);
	struct parse_fail fail;
	struct lfs_ask ask;

	(void)state;
	assert_non_null(room);
	for (unsigned n = LIMIT_LFS_OBJECTS; n < LIMIT_LFS_OBJECTS + 2; n++) {
		struct wr out = wr_of(room, 1 << 16);
		struct buf in;
		buf_init(&in, 1 << 16);
		buf_put_str(&in, "{\"operation\":\"upload\",\"objects\":[");
		for (unsigned i = 0; i < n; i++)
			buf_putf(&in, "%s" ONE, i == 0 ? "" : ",");
		buf_put_str(&in, "]}");
		bool good = lfs_ask_read(buf_slice(&in), &ask, &out, &fail) ==
		    PARSE_DONE;
		assert_int_equal(good, n == LIMIT_LFS_OBJECTS);
		assert_true(ask.upload);
		assert_int_equal(ask.bytes, 12 * LIMIT_LFS_OBJECTS);
		assert_true(in.n <= LIMIT_LFS_ASK_SIZE);
		if (!good)
			assert_int_equal(fail.reason, REASON_LIMIT_BYTES);
		buf_release(&in);
	}
	free(room);
}

/* GT-85: of a batch's answer; `want` NULL: refused. */
static const struct {
	const char *in, *want;
} answers[] = {
	{ "{\"objects\":[{\"actions\":{\"upload\":{\"href\":\"https://a/"
	  "authorization\",\"header\":{\"Authorization\":\"Basic c2VjcmV0\","
	  "\"Accept\":\"x\"}}}}]}",
	    "{\"objects\":[{\"actions\":{\"upload\":{\"href\":\"https://a/"
	    "authorization\",\"header\":{\"X-Not-Granted\":\"xxxxxxxxxxxxxx\","
	    "\"Accept\":\"x\"}}}}]}" },
	{ "{ \"AUTHORIZATION\" : \"a\\\"b\\\\\" , \"authorization2\" : \"y\" }",
	    "{ \"X-Not-Granted\" : \"xxxxxx\" , \"authorization2\" : \"y\" }" },
	{ "{\"a\":[\"authorization\",{\"authorization\":\"k\"}],\"\":1}",
	    "{\"a\":[\"authorization\",{\"X-Not-Granted\":\"x\"}],\"\":1}" },
	{ "{\"authorizatio\":\"k\",\"xauthorization\":\"k\"}",
	    "{\"authorizatio\":\"k\",\"xauthorization\":\"k\"}" },
	{ "{\"a-key-that-is-longer-than-the-room\":\"k\\u0022\"}\n",
	    "{\"a-key-that-is-longer-than-the-room\":\"k\\u0022\"}\n" },
	{ "{\"authorization\":{\"a\":1}}", NULL },
	{ "{\"authorization\":null}", NULL },
	{ "{\"authorization\",\"k\"}", NULL },
	{ "{\"\\u0061uthorization\":\"k\"}", NULL },
	{ "{\"a\":1", NULL },
	{ "{\"a\":\"", NULL },
	{ "{}]", NULL },
	{ "{]", NULL },
	{ "{} {}", NULL },
	{ "[]", NULL },
	{ "\"x\"", NULL },
	{ "{\"a\":\"\n\"}", NULL },
	{ "{1:2}", NULL },
	{ "{:\"authorization\":\"k\"}", NULL },
	{ "", NULL },
	{ "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", NULL },
};

/* `cut` bytes, then the rest. */
static bool
take(struct slice in, size_t cut, struct buf *out)
{
	struct parse_fail fail = { .detail = NULL };
	struct lfs_answer a;

	lfs_answer_init(&a);
	bool good = lfs_answer_take(&a, slice_first(in, cut), out, &fail) &&
	    lfs_answer_take(&a, slice_from(in, cut), out, &fail) &&
	    lfs_answer_end(&a, &fail);
	assert_int_equal(good, fail.detail == NULL);
	assert_true(good || fail.reason == REASON_UP_RESPONSE);
	return good;
}

static void
lfs_answer_loses_every_authorization_at_every_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		struct slice in = slice_of_str(answers[i].in);
		print_message("# %s\n", answers[i].in);
		for (size_t cut = 0; cut <= in.n; cut++) {
			struct buf out;
			buf_init(&out, 4096);
			bool good = take(in, cut, &out);
			assert_int_equal(good, answers[i].want != NULL);
			if (good)
				assert_string_equal(buf_text(&out),
				    answers[i].want);
			buf_release(&out);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lfs_ask_is_written_anew),
		cmocka_unit_test(lfs_ask_has_a_ceiling),
		cmocka_unit_test(
		    lfs_answer_loses_every_authorization_at_every_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
