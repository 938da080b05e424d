/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"
#include "wire/socks5.h"

#define V4 "\5\1\0\1\xcb\0\x71\x42\1\xbb"
#define V6 "\5\1\0\4\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1\1\xbb"
#define NAME "\5\1\0\3\7OK.test\1\xbb"

/* What a parser made of it, in words: "open password", "u:p", "host port". */
struct got {
	char text[300];
	size_t used;
	enum socks5_reply reply;
	struct parse_fail fail;
};

typedef enum parse take(struct slice in, struct got *got);

static enum parse
take_greeting(struct slice in, struct got *got)
{
	struct socks5_greeting g;
	enum parse answer =
	    socks5_greeting_take(in, &g, &got->used, &got->fail);

	if (answer == PARSE_DONE)
		snprintf(got->text, sizeof(got->text), "%s%s",
		    g.has_open ? "open " : "",
		    g.has_password ? "password" : "");
	return answer;
}

static enum parse
take_password(struct slice in, struct got *got)
{
	struct socks5_password p;
	enum parse answer =
	    socks5_password_take(in, &p, &got->used, &got->fail);

	if (answer == PARSE_DONE)
		snprintf(got->text, sizeof(got->text), "%.*s:%.*s",
		    SLICE_ARG(p.user), SLICE_ARG(p.password));
	return answer;
}

static enum parse
take_request(struct slice in, struct got *got)
{
	struct socks5_request r;
	enum parse answer =
	    socks5_request_take(in, &r, &got->used, &got->reply, &got->fail);

	if (answer == PARSE_DONE)
		snprintf(got->text, sizeof(got->text), "%s %s%u", r.host.text,
		    r.host.is_ip ? "ip " : "", r.port);
	return answer;
}

/* clang-format off */
static const struct {
	take *take;
	struct slice in;
	const char *want; /* of what is whole; else the detail; NULL: MORE */
	bool is_bad;
	size_t at; /* the fault; or bytes of it that are not of the message */
	enum socks5_reply reply;
} rows[] = {
	{ take_greeting, IN("\5\1\0"), "open ", false, 0, 0 },
	{ take_greeting, IN("\5\3\0\1\2"), "open password", false, 0, 0 },
	{ take_greeting, IN("\5\1\2\5\1"), "password", false, 2, 0 },
	{ take_greeting, IN("\5\2\1\xff"), "", false, 0, 0 },
	{ take_greeting, IN("\5\3\0\1"), NULL, false, 0, 0 },
	{ take_greeting, IN("\4\1\0"), "greeting of another version than SOCKS5", true, 0, 0 },
	{ take_greeting, IN("\5\0"), "greeting without a method", true, 1, 0 },

	{ take_password, IN("\1\1u\2pw"), "u:pw", false, 0, 0 },
	{ take_password, IN("\1\0\0"), ":", false, 0, 0 },
	{ take_password, IN("\1\0\1px"), ":p", false, 1, 0 },
	{ take_password, IN("\1\1u"), NULL, false, 0, 0 },
	{ take_password, IN("\5\1u\1p"), "user and password of another version", true, 0, 0 },

	{ take_request, IN(V4), "203.0.113.66 ip 443", false, 0, 0 },
	{ take_request, IN(V6), "2001:db8::1 ip 443", false, 0, 0 },
	{ take_request, IN(NAME), "ok.test 443", false, 0, 0 },
	{ take_request, IN(NAME "\x16\3\1"), "ok.test 443", false, 3, 0 },
	{ take_request, IN("\5\1\0\3\x0c""203.0.113.66\0\x50"), "203.0.113.66 ip 80", false, 0, 0 },
	{ take_request, IN("\5\1\0\3\7ok.test\1"), NULL, false, 0, 0 },
	{ take_request, IN("\4\1\0"), "request of another version than SOCKS5", true, 0, SOCKS5_FAILED },
	{ take_request, IN("\5\2\0\1"), "BIND", true, 1, SOCKS5_NO_COMMAND },
	{ take_request, IN("\5\3"), "UDP ASSOCIATE", true, 1, SOCKS5_NO_COMMAND },
	{ take_request, IN("\5\xf0"), "unknown command", true, 1, SOCKS5_NO_COMMAND },
	{ take_request, IN("\5\1\1"), "reserved byte is not zero", true, 2, SOCKS5_FAILED },
	{ take_request, IN("\5\1\0\2"), "unknown type of address", true, 3, SOCKS5_NO_ADDRESS_TYPE },
	{ take_request, IN("\5\1\0\3\0"), "empty name", true, 4, SOCKS5_FAILED },
	{ take_request, IN("\5\1\0\3\x08ok\0.test\1\xbb"), "name that is no host name", true, 7, SOCKS5_FAILED },
	{ take_request, IN("\5\1\0\3\5[::1]\1\xbb"), "name that is no host name", true, 5, SOCKS5_FAILED },
	{ take_request, IN("\5\1\0\3\7ok.test\0\0"), "port 0", true, 12, SOCKS5_FAILED },
};
/* clang-format on */

static void
socks5_reads_what_a_client_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct got got = { .used = 0 };
		struct slice in = exact(rows[i].in);
		enum parse answer = rows[i].take(in, &got);
		print_message("# row %zu\n", i);
		if (rows[i].is_bad) {
			assert_int_equal(answer, PARSE_BAD);
			assert_string_equal(got.fail.detail, rows[i].want);
			assert_int_equal(got.fail.at, rows[i].at);
			assert_int_equal(got.fail.reason,
			    REASON_PROXY_PROTOCOL);
			assert_int_equal(got.reply, rows[i].reply);
		} else if (rows[i].want == NULL) {
			assert_int_equal(answer, PARSE_MORE);
		} else {
			assert_int_equal(answer, PARSE_DONE);
			assert_string_equal(got.text, rows[i].want);
			assert_int_equal(got.used, in.n - rows[i].at);
		}
		drop(in);
	}
}

/* However it is cut, what is whole is whole, and what is bad stays so. */
static void
socks5_waits_for_all_of_a_message(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct got got = { .used = 0 };
		if (rows[i].want == NULL || rows[i].is_bad)
			continue;
		for (size_t n = 0; n < rows[i].in.n - rows[i].at; n++) {
			struct slice in = exact(slice_first(rows[i].in, n));
			assert_int_equal(rows[i].take(in, &got), PARSE_MORE);
			drop(in);
		}
	}
}

static void
socks5_answers_as_the_rfc_says(void **state)
{
	uint8_t out[14];
	struct wr w = wr_of(out, sizeof(out));

	(void)state;
	socks5_put_method(&w, SOCKS5_NO_METHOD);
	socks5_put_verdict(&w, false);
	socks5_put_reply(&w, SOCKS5_DENIED);
	assert_false(w.bad);
	assert_int_equal(w.n, sizeof(out));
	assert_memory_equal(out, "\5\xff\1\1\5\2\0\1\0\0\0\0\0\0", sizeof(out));
	w = wr_of(out, 2);
	socks5_put_verdict(&w, true);
	assert_memory_equal(out, "\1\0", 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(socks5_reads_what_a_client_says),
		cmocka_unit_test(socks5_waits_for_all_of_a_message),
		cmocka_unit_test(socks5_answers_as_the_rfc_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
