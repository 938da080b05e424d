/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"
#include "wire/dns_msg.h"

#define ONE "\0\1\0\0\0\0\0\0"	   /* counts: one question */
#define ONE_OPT "\0\1\0\0\0\0\0\1" /* and an additional record */
#define OK_TEST "\2ok\4test\0"
#define OK_A OK_TEST "\0\1\0\1"
#define OPT "\0\0\x29\x10\0\0\0\0\0\0\0"
#define L63 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg"

static const struct {
	const char *name;
	struct slice in, labels;
	uint16_t type;
	bool recurse, edns;
} good[] = {
	{ "A", IN("\x12\x34\1\0" ONE OK_A), IN(OK_TEST), DNS_A, true, false },
	{ "AAAA, no recursion", IN("\x12\x34\0\0" ONE OK_TEST "\0\x1c\0\1"),
	    IN(OK_TEST), DNS_AAAA, false, false },
	{ "DN-14 EDNS of 4096", IN("\x12\x34\1\x20" ONE_OPT OK_A OPT),
	    IN(OK_TEST), DNS_A, true, true },
	{ "DN-03 options of EDNS",
	    IN("\x12\x34\1\0" ONE_OPT OK_A
	       "\0\0\x29\x10\0\0\0\x80\0\0\x06\0\x0a\0\2xy"),
	    IN(OK_TEST), DNS_A, true, true },
	{ "the root", IN("\x12\x34\1\0" ONE "\0\0\2\0\1"), IN("\0"), 2, true,
	    false },
	{ "DN-13 odd labels", IN("\x12\x34\1\0" ONE "\4\0 .\xff\0\0\1\0\1"),
	    IN("\4\0 .\xff\0"), DNS_A, true, false },
	{ "the longest name",
	    IN("\x12\x34\1\0" ONE "\77" L63 "\77" L63 "\77" L63
	       "\75aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"
	       "fffffffffff\0\0\1\0\1"),
	    IN("\77" L63 "\77" L63 "\77" L63
	       "\75aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"
	       "fffffffffff\0"),
	    DNS_A, true, false },
};

static void
dns_query_takes_each_good_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct slice in = exact(good[i].in);
		struct dns_query q;
		struct parse_fail fail;
		enum dns_rcode rcode;

		print_message("# %s\n", good[i].name);
		assert_int_equal(dns_query_parse(in, &q, &rcode, &fail),
		    PARSE_DONE);
		assert_int_equal(q.id, 0x1234);
		assert_slice(q.name, good[i].labels);
		assert_int_equal(q.type, good[i].type);
		assert_int_equal(q.recurse, good[i].recurse);
		assert_int_equal(q.has_edns, good[i].edns);
		assert_int_equal(q.question.n, good[i].labels.n + 4);
		drop(in);

		for (size_t n = 0; n < good[i].in.n; n++) {
			in = exact(slice_first(good[i].in, n));
			assert_int_not_equal(dns_query_parse(in, &q, &rcode,
						 &fail),
			    PARSE_DONE);
			drop(in);
		}
	}
}

static const struct {
	const char *name;
	struct slice in;
	enum dns_rcode rcode;
	const char *detail;
	size_t at;
} bad[] = {
	{ "DN-11 two questions", IN("\0\1\1\0\0\2\0\0\0\0\0\0" OK_A OK_A),
	    DNS_FORMERR, "not one question", 4 },
	{ "no question", IN("\0\1\1\0\0\0\0\0\0\0\0\0"), DNS_FORMERR,
	    "not one question", 4 },
	{ "an answer in a question", IN("\0\1\1\0\0\1\0\1\0\0\0\0" OK_A),
	    DNS_FORMERR, "records in a question", 6 },
	{ "an authority", IN("\0\1\1\0\0\1\0\0\0\1\0\0" OK_A), DNS_FORMERR,
	    "records in a question", 6 },
	{ "two additional records", IN("\0\1\1\0\0\1\0\0\0\0\0\2" OK_A OPT OPT),
	    DNS_FORMERR, "records in a question", 6 },
	{ "DN-11 NOTIFY", IN("\0\1\x21\0" ONE OK_A), DNS_NOTIMP,
	    "opcode not QUERY", 2 },
	{ "DN-11 UPDATE", IN("\0\1\x28\0" ONE OK_A), DNS_NOTIMP,
	    "opcode not QUERY", 2 },
	{ "DN-12 pointer to itself", IN("\0\1\1\0" ONE "\xc0\x0c\0\1\0\1"),
	    DNS_FORMERR, "question malformed", 12 },
	{ "DN-12 label of 64", IN("\0\1\1\0" ONE "\100" L63 "a\0\0\1\0\1"),
	    DNS_FORMERR, "question malformed", 12 },
	{ "DN-12 name of 256",
	    IN("\0\1\1\0" ONE "\77" L63 "\77" L63 "\77" L63
	       "\76aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"
	       "ffffffffffff\0\0\1\0\1"),
	    DNS_FORMERR, "question malformed", 12 },
	{ "DN-12 cut in a label", IN("\0\1\1\0" ONE "\2ok\4te"), DNS_FORMERR,
	    "question malformed", 12 },
	{ "DN-12 cut in the type", IN("\0\1\1\0" ONE OK_TEST "\0\1\0"),
	    DNS_FORMERR, "question malformed", 12 },
	{ "bytes behind it", IN("\0\1\1\0" ONE OK_A "x"), DNS_FORMERR,
	    "bytes behind the message", 12 },
	{ "additional A record",
	    IN("\0\1\1\0" ONE_OPT OK_A "\0\0\1\0\1\0\0\0\0\0\0"), DNS_FORMERR,
	    "additional record is no OPT", 25 },
	{ "OPT of another name",
	    IN("\0\1\1\0" ONE_OPT OK_A "\1a\0\0\x29\x10\0\0\0\0\0\0\0"),
	    DNS_FORMERR, "additional record is no OPT", 25 },
	{ "OPT cut", IN("\0\1\1\0" ONE_OPT OK_A "\0\0\x29\x10\0\0\0\0\0\0\1"),
	    DNS_FORMERR, "additional record is no OPT", 25 },
	{ "DN-14 EDNS version 1",
	    IN("\0\1\1\0" ONE_OPT OK_A "\0\0\x29\x10\0\0\1\0\0\0\0"),
	    DNS_BADVERS, "version of EDNS", 25 },
	{ "DN-03 class CHAOS", IN("\0\1\1\0" ONE OK_TEST "\0\1\0\3"),
	    DNS_REFUSED, "class not IN", 12 },
};

static void
dns_query_refuses_each_bad_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct slice in = exact(bad[i].in);
		struct dns_query q;
		struct parse_fail fail;
		enum dns_rcode rcode;

		print_message("# %s\n", bad[i].name);
		assert_int_equal(dns_query_parse(in, &q, &rcode, &fail),
		    PARSE_BAD);
		assert_int_equal(rcode, bad[i].rcode);
		assert_string_equal(fail.detail, bad[i].detail);
		assert_int_equal(fail.at, bad[i].at);
		assert_int_equal(fail.reason, REASON_DNS_MALFORMED);

		/* It can be answered all the same. */
		uint8_t out[DNS_ANSWER_MAX];
		struct wr w = wr_of(out, sizeof(out));
		dns_put_answer(&w, &q, &(struct dns_answer){ .rcode = rcode });
		assert_false(w.bad);
		assert_int_equal(out[2] & 0x80, 0x80);
		assert_int_equal(out[3] & 15, rcode & 15);
		drop(in);
	}
}

static void
dns_query_says_nothing_to_answers(void **state)
{
	struct dns_query q;
	struct parse_fail fail;
	enum dns_rcode rcode;

	(void)state;
	assert_int_equal(dns_query_parse(SLICE("\0\1\x81\x80" ONE OK_A), &q,
			     &rcode, &fail),
	    PARSE_MORE);
	assert_int_equal(dns_query_parse(SLICE("\0\1\1\0\0\1\0\0\0\0\0"), &q,
			     &rcode, &fail),
	    PARSE_MORE);
}

/* DN-10: two messages in one segment, and a length that comes in halves. */
static void
dns_stream_takes_each_message(void **state)
{
	struct slice in = SLICE("\0\2ab\0\1c\0"), msg;
	struct parse_fail fail;
	size_t used;

	(void)state;
	assert_int_equal(dns_stream_take(in, &msg, &used, &fail), PARSE_DONE);
	assert_slice(msg, SLICE("ab"));
	assert_int_equal(used, 4);
	in = slice_from(in, used);
	for (size_t n = 0; n < 3; n++)
		assert_int_equal(dns_stream_take(slice_first(in, n), &msg,
				     &used, &fail),
		    PARSE_MORE);
	assert_int_equal(dns_stream_take(in, &msg, &used, &fail), PARSE_DONE);
	assert_slice(msg, SLICE("c"));
	assert_int_equal(dns_stream_take(slice_from(in, used), &msg, &used,
			     &fail),
	    PARSE_MORE);
	assert_int_equal(dns_stream_take(SLICE("\0\0"), &msg, &used, &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail, "length of a message");
	assert_int_equal(fail.at, 0);
	assert_int_equal(dns_stream_take(SLICE("\x10\1"), &msg, &used, &fail),
	    PARSE_BAD);
}

#define SOA_60                                                             \
	"\xc0\x0c\0\6\0\1\0\0\0\x3c\0\x16\0\0\0\0\0\1\0\0\0\x3c\0\0\0\x3c" \
	"\0\0\0\x3c\0\0\0\x3c"
#define OPT_OUT "\0\0\x29\x04\xd0\0\0\0\0\0\0"

static const struct {
	const char *name;
	struct slice in;
	enum dns_rcode rcode;
	struct slice ip;
	struct slice want;
} answers[] = {
	{ "A", IN("\x12\x34\1\0" ONE OK_A), DNS_NOERROR, IN("198.18.0.9"),
	    IN("\x12\x34\x81\x80\0\1\0\1\0\0\0\0" OK_A
	       "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\x09") },
	{ "AAAA, EDNS", IN("\x12\x34\0\0" ONE_OPT OK_TEST "\0\x1c\0\1" OPT),
	    DNS_NOERROR, IN("fd64::1"),
	    IN("\x12\x34\x80\x80\0\1\0\1\0\0\0\1" OK_TEST "\0\x1c\0\1"
	       "\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\x10\xfd\x64\0\0\0\0\0\0\0\0\0\0"
	       "\0\0\0\1" OPT_OUT) },
	{ "DN-05 NODATA of another type",
	    IN("\x12\x34\1\0" ONE OK_TEST "\0\x10\0\1"), DNS_NOERROR,
	    IN("198.18.0.9"),
	    IN("\x12\x34\x81\x80\0\1\0\0\0\1\0\0" OK_TEST
	       "\0\x10\0\1" SOA_60) },
	{ "NODATA of another family",
	    IN("\x12\x34\1\0" ONE OK_TEST "\0\x1c\0\1"), DNS_NOERROR,
	    IN("198.18.0.9"),
	    IN("\x12\x34\x81\x80\0\1\0\0\0\1\0\0" OK_TEST
	       "\0\x1c\0\1" SOA_60) },
	{ "NXDOMAIN", IN("\x12\x34\1\0" ONE OK_A), DNS_NXDOMAIN, IN(""),
	    IN("\x12\x34\x81\x83\0\1\0\0\0\1\0\0" OK_A SOA_60) },
	{ "the case of letters comes back",
	    IN("\x12\x34\1\0" ONE "\2Ok\4tEst\0\0\1\0\1"), DNS_REFUSED, IN(""),
	    IN("\x12\x34\x81\x85\0\1\0\0\0\0\0\0\2Ok\4tEst\0\0\1\0\1") },
	{ "BADVERS",
	    IN("\x12\x34\1\0" ONE_OPT OK_A "\0\0\x29\x10\0\0\1\0\0\0\0"),
	    DNS_BADVERS, IN(""),
	    IN("\x12\x34\x81\x80\0\1\0\0\0\0\0\1" OK_A
	       "\0\0\x29\x04\xd0\1\0\0\0\0\0") },
	{ "NOTIMP keeps the opcode", IN("\x12\x34\x28\0" ONE OK_A), DNS_NOTIMP,
	    IN(""), IN("\x12\x34\xa8\x84\0\0\0\0\0\0\0\0") },
};

static void
dns_put_answer_writes_each(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		uint8_t out[DNS_ANSWER_MAX];
		struct wr w = wr_of(out, sizeof(out));
		struct dns_answer a = { .rcode = answers[i].rcode,
			.ttl_s = 60 };
		struct dns_query q;
		struct parse_fail fail;
		enum dns_rcode rcode;

		print_message("# %s\n", answers[i].name);
		(void)!dns_query_parse(answers[i].in, &q, &rcode, &fail);
		assert_int_equal(ip_parse(answers[i].ip, &a.ip),
		    answers[i].ip.n != 0);
		dns_put_answer(&w, &q, &a);
		struct slice got = wr_slice(&w);
		assert_int_equal(got.n, answers[i].want.n);
		assert_memory_equal(got.p, answers[i].want.p, got.n);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dns_query_takes_each_good_one),
		cmocka_unit_test(dns_query_refuses_each_bad_one),
		cmocka_unit_test(dns_query_says_nothing_to_answers),
		cmocka_unit_test(dns_stream_takes_each_message),
		cmocka_unit_test(dns_put_answer_writes_each),
	};

	return cmocka_run_group_tests_name("dns_msg", tests, NULL, NULL);
}
