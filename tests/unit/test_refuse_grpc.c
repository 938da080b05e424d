/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "http/refuse_grpc.h"

static const struct {
	const char *type; /* NULL: none */
	bool grpc;
} types[] = {
	{ "application/grpc", true },
	{ "application/grpc+proto", true },
	{ "application/grpc;charset=utf-8", true },
	{ "Application/gRPC", true },
	{ NULL, false },
	{ "", false },
	{ "application/grp", false },
	{ "application/grpc-web", false },
	{ "application/grpc-web+proto", false },
	{ "application/grpcx", false },
	{ "application/json", false },
};

static void
refusal_knows_a_grpc_client(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		struct http_request req = { 0 };
		print_message("# %s\n", types[i].type ? types[i].type : "none");
		assert_true(
		    field_add(&req.fields, SLICE("te"), SLICE("trailers")));
		if (types[i].type != NULL)
			assert_true(
			    field_add(&req.fields, SLICE("content-type"),
				slice_of_str(types[i].type)));
		assert_int_equal(refusal_is_grpc(&req), types[i].grpc);
	}
}

static void
refusal_has_the_status_that_grpc_makes_of_http(void **state)
{
	(void)state;
	assert_int_equal(refusal_grpc_status(400), 13); /* INTERNAL */
	assert_int_equal(refusal_grpc_status(403), 7);	/* PERMISSION_DENIED */
	assert_int_equal(refusal_grpc_status(413), 2);	/* UNKNOWN */
	assert_int_equal(refusal_grpc_status(421), 2);
	assert_int_equal(refusal_grpc_status(429), 14); /* UNAVAILABLE */
	assert_int_equal(refusal_grpc_status(502), 14);
	assert_int_equal(refusal_grpc_status(503), 14);
	assert_int_equal(refusal_grpc_status(504), 14);
}

static void
expect_message(const struct refusal *r, const char *want)
{
	struct buf got;

	buf_init(&got, 2 * REFUSAL_GRPC_MESSAGE_MAX);
	refusal_put_grpc_message(r, "s1-2", &got);
	assert_string_equal(buf_text(&got), want);
	buf_release(&got);
}

static void
refusal_says_in_grpc_what_it_says_in_http(void **state)
{
	struct refusal r;

	(void)state;
	refusal_init(&r);
	r.reason = REASON_HTTP_PATH_DENIED;
	buf_put_str(&r.what, "POST https://a.test/x");
	buf_put_str(&r.policy, "100% \xc3\xbc\n");
	expect_message(&r,
	    "duenna refused POST https://a.test/x: http.path_denied: no rule "
	    "allows this path; 100%25 %C3%BC%0A; flow s1-2");
	r.code_only = true;
	expect_message(&r, "duenna: http.path_denied; flow s1-2");
	refusal_release(&r);
}

static void
refusal_fits_into_a_grpc_head(void **state)
{
	struct refusal r;
	struct buf got;

	(void)state;
	refusal_init(&r);
	buf_init(&got, 2 * REFUSAL_GRPC_MESSAGE_MAX);
	for (int i = 0; i < REFUSAL_TEXT_MAX; i++) {
		buf_put_byte(&r.what, '%');
		buf_put_byte(&r.policy, '\xff');
	}
	refusal_put_grpc_message(&r, "s1-2", &got);
	assert_false(got.failed);
	assert_in_range(got.n, REFUSAL_GRPC_MESSAGE_MAX - 3,
	    REFUSAL_GRPC_MESSAGE_MAX);
	buf_release(&got);
	refusal_release(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusal_knows_a_grpc_client),
		cmocka_unit_test(
		    refusal_has_the_status_that_grpc_makes_of_http),
		cmocka_unit_test(refusal_says_in_grpc_what_it_says_in_http),
		cmocka_unit_test(refusal_fits_into_a_grpc_head),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
