/* SPDX-License-Identifier: Apache-2.0 */
/* Rows DN-01 to DN-05, DN-11 to DN-14, DN-20 of the cases, as far as pure. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/limits.h"
#include "dns/answer.h"
#include "dns_bed.h"
#include "policy_bed.h"
#include "wire/dns_msg.h"

#define OPT "\0\0\x29\x10\0\0\0\0\0\0\0"
#define OPT_VERSION_1 "\0\0\x29\x10\0\0\1\0\0\0\0"
/* A cookie and a client subnet of the asker's choice. */
#define OPT_OPTIONS                                                    \
	"\0\0\x29\x10\0\0\0\0\0\0\x17\0\x0a\0\x08secret01\0\x08\0\x07" \
	"\0\1\x18\0\1\2\3"
#define TYPE_TXT 16
#define TYPE_HTTPS 65
#define TYPE_ANY 255

static struct bed bed;

/* What an answer has. */
enum has {
	SILENCE,
	ADDRESS, /* of the name's pattern */
	REFUSAL, /* the address of refused names */
	NOTHING, /* no record but the SOA */
	BARE,	 /* an error without records */
};

/* clang-format off */
static const struct {
	const char *id, *label;
	struct question q;
	enum has has;
	unsigned rcode;
	enum reason reason;
	const char *detail;
} cases[] = {
#define Q(name, type) { name, type, 1, 0x100, 1, 0, "", 0 }
	{ "", "allowed", Q("ok.test", 1), ADDRESS, 0, REASON_ALLOW, "" },
	{ "DN-03", "its letters in any case", Q("oK.TEsT", 1), ADDRESS, 0, REASON_ALLOW, "" },
	{ "DN-02", "under a wildcard", Q("data.wild.test", 1), ADDRESS, 0, REASON_ALLOW, "" },
	{ "DN-02", "two labels under one", Q("a.b.wild.test", 1), REFUSAL, 0, REASON_DNS_DENIED, "" },
	{ "", "the apex of a wildcard", Q("wild.test", 1), REFUSAL, 0, REASON_DNS_DENIED, "" },
	{ "", "no IPv6 in there", Q("ok.test", 28), NOTHING, 0, REASON_ALLOW, "" },
	{ "DN-05", "TXT of an allowed name", Q("ok.test", TYPE_TXT), NOTHING, 0, REASON_DNS_QTYPE, "" },
	{ "DN-05", "HTTPS of an allowed name", Q("ok.test", TYPE_HTTPS), NOTHING, 0, REASON_DNS_QTYPE, "" },
	{ "DN-05", "ANY of an allowed name", Q("ok.test", TYPE_ANY), NOTHING, 0, REASON_DNS_QTYPE, "" },
	{ "DN-01", "refused, A", Q("secretdata.evil.test", 1), REFUSAL, 0, REASON_DNS_DENIED, "" },
	{ "DN-01", "refused, AAAA", Q("secretdata.evil.test", 28), NOTHING, 0, REASON_DNS_DENIED, "" },
	{ "DN-01", "refused, TXT", Q("secretdata.evil.test", TYPE_TXT), NOTHING, 0, REASON_DNS_DENIED, "" },
	{ "", "one label", Q("localhost", 1), REFUSAL, 0, REASON_DNS_DENIED, "name of one label" },
	{ "", "the root", Q("", 1), REFUSAL, 0, REASON_DNS_DENIED, "name of one label" },
	{ "", "text of an address", Q("192.0.2.7", 1), REFUSAL, 0, REASON_DNS_DENIED, "last label is a number" },
	{ "DN-13", "dot inside a label", Q("ok\\.test", 1), NOTHING, 3, REASON_DNS_MALFORMED, "byte that no name has" },
	{ "DN-13", "space inside a label", Q("o k.test", 1), NOTHING, 3, REASON_DNS_MALFORMED, "byte that no name has" },
	{ "DN-13", "control inside a label", Q("ok\x1b[2J.test", 1), NOTHING, 3, REASON_DNS_MALFORMED, "byte that no name has" },
	{ "DN-13", "high byte inside a label", Q("\xc3\xb6k.test", 1), NOTHING, 3, REASON_DNS_MALFORMED, "not ASCII: write A-labels" },
	{ "", "EDNS", { "ok.test", 1, 1, 0x100, 1, 1, OPT, sizeof(OPT) - 1 }, ADDRESS, 0, REASON_ALLOW, "" },
	{ "DN-14", "EDNS version 1", { "ok.test", 1, 1, 0x100, 1, 1, OPT_VERSION_1, sizeof(OPT_VERSION_1) - 1 }, BARE, 16, REASON_DNS_MALFORMED, "version of EDNS" },
	{ "DN-11", "two questions", { "ok.test", 1, 1, 0x100, 2, 0, "\2ok\4test\0\0\1\0\1", 13 }, BARE, 1, REASON_DNS_MALFORMED, "not one question" },
	{ "DN-11", "no question", { "ok.test", 1, 1, 0x100, 0, 0, "", 0 }, BARE, 1, REASON_DNS_MALFORMED, "not one question" },
	{ "DN-11", "an answer", { "ok.test", 1, 1, 0x8180, 1, 0, "", 0 }, SILENCE, 0, REASON_DNS_MALFORMED, "no question" },
	{ "DN-11", "NOTIFY", { "ok.test", 6, 1, 0x2400, 1, 0, "", 0 }, BARE, 4, REASON_DNS_MALFORMED, "opcode not QUERY" },
	{ "DN-11", "UPDATE", { "ok.test", 6, 1, 0x2800, 1, 0, "", 0 }, BARE, 4, REASON_DNS_MALFORMED, "opcode not QUERY" },
	{ "DN-03", "class CHAOS", { "ok.test", 1, 3, 0x100, 1, 0, "", 0 }, BARE, 5, REASON_DNS_MALFORMED, "class not IN" },
	{ "DN-12", "bytes behind it", { "ok.test", 1, 1, 0x100, 1, 0, "x", 1 }, BARE, 1, REASON_DNS_MALFORMED, "bytes behind the message" },
};
/* clang-format on */

static void
check_records(enum has has, struct slice host, const struct answered *a)
{
	struct ip refusal = program_refusal_address(bed.program), ip = refusal;
	bool allowed = has == ADDRESS;

	if (allowed)
		assert_true(program_address(bed.program, host, &ip));
	assert_int_equal(a->n_answers, has == ADDRESS || has == REFUSAL);
	assert_int_equal(a->n_authority, has == NOTHING);
	if (a->n_answers == 0)
		return;
	assert_int_equal(a->type, DNS_A);
	assert_int_equal(a->ttl,
	    allowed ? LIMIT_DNS_TTL_S : LIMIT_DNS_REFUSED_TTL_S);
	assert_true(slice_eq(a->data, slice_of(ip.bytes, 4)));
	assert_int_equal(ip.bytes[0], 198);
	assert_int_equal(allowed, !ip_eq(&ip, &refusal));
}

static void
dns_answer_says_what_each_case_wants(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint8_t in[DNS_QUERY_MAX], out[DNS_ANSWER_MAX];
		struct wr w = wr_of(out, sizeof(out));
		struct dns_said said;
		struct answered a;

		print_message("# %s %s\n", cases[i].id, cases[i].label);
		struct slice msg =
		    question_put(&cases[i].q, 0x1234, in, sizeof(in));
		dns_answer(bed.program, msg, &w, &said);
		assert_int_equal(said.reason, cases[i].reason);
		assert_string_equal(said.detail, cases[i].detail);
		/* The record of it gives the same verdict again. */
		struct verdict again = policy_decide(bed.program, &said.facts);
		assert_int_equal(again.reason, said.reason);
		if (cases[i].has == SILENCE) {
			assert_int_equal(w.n, 0);
			continue;
		}
		assert_true(answered_read(wr_slice(&w), &a));
		assert_int_equal(a.id, 0x1234);
		assert_int_equal(a.flags & 0x8000, 0x8000);
		assert_int_equal(a.rcode, cases[i].rcode);
		check_records(cases[i].has, said.facts.host, &a);
	}
}

/* DN-13: what goes into a record is printable, whatever was asked. */
static void
dns_answer_names_nothing_raw(void **state)
{
	uint8_t in[DNS_QUERY_MAX], out[DNS_ANSWER_MAX];
	struct question q = question_of("O\x1b]\\.k\x80.Test", 1);
	struct wr w = wr_of(out, sizeof(out));
	struct dns_said said;
	(void)state;

	dns_answer(bed.program, question_put(&q, 1, in, sizeof(in)), &w, &said);
	assert_true(slice_eq(said.facts.host, SLICE("o???k?.test")));
	assert_int_equal(said.facts.fault, REASON_DNS_MALFORMED);
}

/* DN-12: pointers, labels that are too long, and every cut of a message. */
static void
dns_answer_refuses_what_is_no_message(void **state)
{
	static const char *const names[] = {
		"\xc0\x0c",	/* a pointer to itself */
		"\2ok\xc0\x0c", /* a loop */
		"\x40"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"\x3f"
		"a", /* shorter than it says */
	};
	uint8_t in[DNS_QUERY_MAX], out[DNS_ANSWER_MAX];
	struct dns_said said;
	struct answered a;
	(void)state;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct wr m = wr_of(in, sizeof(in)),
			  w = wr_of(out, sizeof(out));
		wr_bytes(&m, SLICE("\0\1\1\0\0\1\0\0\0\0\0\0"));
		wr_bytes(&m, slice_of_str(names[i]));
		wr_bytes(&m, SLICE("\0\0\1\0\1"));
		dns_answer(bed.program, wr_slice(&m), &w, &said);
		assert_int_equal(said.reason, REASON_DNS_MALFORMED);
		assert_true(answered_read(wr_slice(&w), &a));
		assert_int_equal(a.rcode, DNS_FORMERR);
	}
	struct question q = question_of("ok.test", 1);
	size_t whole = question_put(&q, 1, in, sizeof(in)).n;
	for (size_t n = 0; n < whole; n++) {
		struct wr w = wr_of(out, sizeof(out));
		dns_answer(bed.program, slice_of(in, n), &w, &said);
		assert_int_equal(said.reason, REASON_DNS_MALFORMED);
		assert_int_equal(w.n != 0, n >= 12);
	}
}

/* DN-03: nothing but the question and its id comes back. */
static void
dns_answer_does_not_depend_on_options(void **state)
{
	uint8_t in[DNS_QUERY_MAX], plain[DNS_ANSWER_MAX], out[DNS_ANSWER_MAX];
	struct question q = question_of("ok.test", 1);
	struct wr w = wr_of(plain, sizeof(plain));
	struct dns_said said;
	(void)state;

	q.n_additional = 1;
	q.tail = OPT;
	q.n_tail = sizeof(OPT) - 1;
	dns_answer(bed.program, question_put(&q, 7, in, sizeof(in)), &w, &said);
	q.tail = OPT_OPTIONS;
	q.n_tail = sizeof(OPT_OPTIONS) - 1;
	struct wr with = wr_of(out, sizeof(out));
	dns_answer(bed.program, question_put(&q, 7, in, sizeof(in)), &with,
	    &said);
	assert_int_equal(said.reason, REASON_ALLOW);
	assert_true(slice_eq(wr_slice(&w), wr_slice(&with)));
	/* AD, CD, RA and the reserved bit do not either. */
	q.flags = 0x1f0;
	struct wr flags = wr_of(out, sizeof(out));
	dns_answer(bed.program, question_put(&q, 7, in, sizeof(in)), &flags,
	    &said);
	assert_true(slice_eq(wr_slice(&w), wr_slice(&flags)));
}

/* DN-20: one address for all names of a pattern, one for all refused. */
static void
dns_answer_has_one_address_a_pattern(void **state)
{
	struct ip wild = { 0 };
	char name[64];
	(void)state;

	for (unsigned i = 0; i < 2000; i++) {
		uint8_t in[DNS_QUERY_MAX], out[DNS_ANSWER_MAX];
		struct wr w = wr_of(out, sizeof(out));
		struct dns_said said;
		struct answered a;
		bool ok = i % 2 == 0;

		snprintf(name, sizeof(name),
		    ok ? "n%u.wild.test" : "n%u.evil.test", i);
		struct question q = question_of(name, 1);
		dns_answer(bed.program, question_put(&q, 7, in, sizeof(in)), &w,
		    &said);
		assert_true(answered_read(wr_slice(&w), &a));
		struct ip got = { .family = 4 };
		memcpy(got.bytes, a.data.p, 4);
		if (i == 0)
			wild = got;
		struct ip refusal = program_refusal_address(bed.program);
		assert_true(ip_eq(&got, ok ? &wild : &refusal));
	}
}

/* The answer is a function, and bounded, whatever the bytes. */
static void
dns_answer_is_a_function_of_its_input(void **state)
{
	uint8_t in[128], one[DNS_ANSWER_MAX], two[DNS_ANSWER_MAX];
	struct question q = question_of("data.wild.test", 1);
	uint32_t seed = 1;
	(void)state;

	for (unsigned i = 0; i < 20000; i++) {
		size_t n = question_put(&q, (uint16_t)i, in, sizeof(in)).n;
		for (unsigned j = 0; j < i % 5; j++) {
			seed = seed * 1103515245 + 12345;
			in[(seed >> 16) % n] = (uint8_t)(seed >> 8);
		}
		struct wr a = wr_of(one, sizeof(one)),
			  b = wr_of(two, sizeof(two));
		struct dns_said said, again;
		dns_answer(bed.program, slice_of(in, n), &a, &said);
		dns_answer(bed.program, slice_of(in, n), &b, &again);
		assert_false(a.bad);
		assert_int_equal(said.reason, again.reason);
		assert_true(slice_eq(wr_slice(&a), wr_slice(&b)));
	}
}

static int
set_up(void **state)
{
	(void)state;
	bed_load_trusted(&bed, NULL, dns_bed_policy);
	if (bed.program == NULL)
		print_error("%s", buf_text(&bed.text));
	return bed.program == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	(void)state;
	bed_release(&bed);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dns_answer_says_what_each_case_wants),
		cmocka_unit_test(dns_answer_names_nothing_raw),
		cmocka_unit_test(dns_answer_refuses_what_is_no_message),
		cmocka_unit_test(dns_answer_does_not_depend_on_options),
		cmocka_unit_test(dns_answer_has_one_address_a_pattern),
		cmocka_unit_test(dns_answer_is_a_function_of_its_input),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
