/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of tests/cases/dn.rows against the answer, and what holds for any
 * question.
 */
#include <malloc.h>

#include "base/limits.h"
#include "case.h"
#include "dns/answer.h"
#include "dns_bed.h"
#include "policy_bed.h"
#include "row.h"
#include "wire/dns_msg.h"

#define OPT "\0\0\x29\x10\0\0\0\0\0\0\0"
/* A cookie and a client subnet of the asker's choice. */
#define OPT_OPTIONS                                                    \
	"\0\0\x29\x10\0\0\0\0\0\0\x17\0\x0a\0\x08secret01\0\x08\0\x07" \
	"\0\1\x18\0\1\2\3"

static char *owner, *policies;
static struct bed bed; /* the policy `names` */

/* What the field `sees` of a row says. */
struct sees {
	unsigned rcode;
	bool silence, address, refusal;
	const char *detail; /* for people; empty: any */
};

static bool
take_word(const char **at, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*at, word, n) != 0 || ((*at)[n] != ' ' && (*at)[n] != '\0'))
		return false;
	*at += n + ((*at)[n] == ' ');
	return true;
}

static struct sees
sees_read(const struct case_row *row)
{
	static const struct {
		const char *word;
		unsigned rcode;
	} rcodes[] = {
		{ "NOERROR", 0 },
		{ "FORMERR", 1 },
		{ "NXDOMAIN", 3 },
		{ "NOTIMP", 4 },
		{ "REFUSED", 5 },
		{ "BADVERS", 16 },
	};
	struct sees s = { .rcode = 0 };
	const char *at = row->sees;
	bool known = s.silence = take_word(&at, "silence");

	for (size_t i = 0; i < COUNT_OF(rcodes) && !known; i++) {
		known = take_word(&at, rcodes[i].word);
		s.rcode = rcodes[i].rcode;
	}
	if (!known)
		fail_msg("%s sees what? %s", row->id, row->sees);
	s.address = take_word(&at, "address");
	s.refusal = take_word(&at, "refusal");
	s.detail = at;
	return s;
}

static uint16_t
type_of(struct slice word)
{
	static const struct {
		const char *word;
		uint16_t type;
	} types[] = {
		{ "A", 1 },
		{ "NS", 2 },
		{ "CNAME", 5 },
		{ "SOA", 6 },
		{ "PTR", 12 },
		{ "MX", 15 },
		{ "TXT", 16 },
		{ "AAAA", 28 },
		{ "LOC", 29 },
		{ "SRV", 33 },
		{ "SVCB", 64 },
		{ "HTTPS", 65 },
		{ "AXFR", 252 },
		{ "ANY", 255 },
	};

	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (slice_eq_str(word, types[i].word))
			return types[i].type;
	fail_msg("no type: %.*s", SLICE_ARG(word));
	return 0;
}

/* `NAME TYPE` as a message; a dot ends a label. */
static struct slice
message_of(struct slice text, uint8_t *out, size_t max)
{
	struct wr w = wr_of(out, max);
	size_t n = text.n, begin = 0;

	while (n != 0 && text.p[n - 1] != ' ')
		n--;
	assert_int_not_equal(n, 0);
	uint16_t type = type_of(slice_from(text, n));
	wr_bytes(&w, SLICE("\x12\x34\1\0\0\1\0\0\0\0\0\0"));
	for (size_t i = 0; i < n; i++) {
		if (i != n - 1 && text.p[i] != '.')
			continue;
		if (i != begin)
			wr_slice8(&w, slice_of(text.p + begin, i - begin));
		begin = i + 1;
	}
	wr_u8(&w, 0);
	wr_u16(&w, type);
	wr_u16(&w, 1);
	assert_false(w.bad);
	return wr_slice(&w);
}

static void
check_records(const struct sees *sees, struct slice host,
    const struct answered *a)
{
	struct ip refusal = program_refusal_address(bed.program), ip = refusal;

	if (sees->address)
		assert_true(program_address(bed.program, host, &ip));
	assert_int_equal(a->n_answers, sees->address || sees->refusal);
	/* No data, or no such name: only then somebody's authority is told. */
	bool none = sees->rcode == DNS_NOERROR || sees->rcode == DNS_NXDOMAIN;
	assert_int_equal(a->n_authority, none && a->n_answers == 0);
	if (a->n_answers == 0)
		return;
	assert_int_equal(a->type, DNS_A);
	assert_int_equal(a->ttl,
	    sees->address ? LIMIT_DNS_TTL_S : LIMIT_DNS_REFUSED_TTL_S);
	assert_true(slice_eq(a->data, slice_of(ip.bytes, 4)));
	assert_int_equal(ip.bytes[0], 198);
	assert_int_equal(sees->address, !ip_eq(&ip, &refusal));
}

static void
check_message(const struct case_row *row, struct slice msg)
{
	uint8_t out[DNS_ANSWER_MAX];
	struct wr w = wr_of(out, sizeof(out));
	struct sees sees = sees_read(row);
	struct slice copy = exact(msg);
	struct dns_said said;
	struct answered a;

	dns_answer(bed.program, copy, &w, &said);
	drop(copy);
	if (strcmp(reason_name(said.reason), row->reason) != 0)
		fail_msg("%s: %s", row->id, reason_name(said.reason));
	if (sees.detail[0] != '\0')
		assert_string_equal(said.detail, sees.detail);
	/* The record of it gives the same verdict again. */
	struct verdict again = policy_decide(bed.program, &said.facts);
	assert_int_equal(again.reason, said.reason);
	assert_int_equal(w.n == 0, sees.silence);
	if (sees.silence)
		return;
	assert_true(answered_read(wr_slice(&w), &a));
	assert_int_equal(a.id, 0x1234);
	assert_int_equal(a.flags & 0x8000, 0x8000);
	if (a.rcode != sees.rcode)
		fail_msg("%s: rcode %u", row->id, a.rcode);
	check_records(&sees, said.facts.host, &a);
}

static void
check_row(const struct case_row *row)
{
	static uint8_t bytes[CASE_SIZE];
	uint8_t in[DNS_QUERY_MAX];
	bool question = strcmp(row->input, "question") == 0;
	size_t picks = 1;

	assert_true(question || strcmp(row->input, "message") == 0);
	assert_string_equal(row->policy, "names");
	print_message("# %s\n", row->id);
	for (size_t pick = 0; pick < picks; pick++) {
		size_t n = case_unescape(row->bytes, pick, &picks, bytes);
		struct slice msg = slice_of(bytes, n);
		check_message(row,
		    question ? message_of(msg, in, sizeof(in)) : msg);
	}
}

static void
dns_answer_says_what_each_row_wants(void **state)
{
	(void)state;
	case_file("dn", 90, check_row);
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

/* DN-12: every cut of a message. */
static void
dns_answer_refuses_what_is_no_message(void **state)
{
	uint8_t in[DNS_QUERY_MAX], out[DNS_ANSWER_MAX];
	struct question q = question_of("ok.test", 1);
	size_t whole = question_put(&q, 1, in, sizeof(in)).n;
	struct dns_said said;
	(void)state;

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

/*
 * DN-20: one address for all names of a pattern, one for all refused, and
 * nothing is kept of any.
 */
static void
dns_answer_has_one_address_a_pattern(void **state)
{
	struct ip wild = { 0 };
	char name[64];
	size_t before = mallinfo2().uordblks;
	(void)state;

	for (unsigned i = 0; i < 100000; i++) {
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
	assert_int_equal(mallinfo2().uordblks, before);
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

/* DN-01 with `dns: {refused: nxdomain}`: allowed names are as they were. */
static void
dns_answer_denies_names_if_the_owner_wants(void **state)
{
	static const struct {
		const char *name;
		uint16_t type, rcode, n_answers;
		enum reason reason;
	} rows[] = {
		{ "data.evil.test", 1, DNS_NXDOMAIN, 0, REASON_DNS_DENIED },
		{ "data.evil.test", 28, DNS_NXDOMAIN, 0, REASON_DNS_DENIED },
		{ "data.evil.test", 16, DNS_NXDOMAIN, 0, REASON_DNS_DENIED },
		{ "localhost", 1, DNS_NXDOMAIN, 0, REASON_DNS_DENIED },
		{ "ok.test", 1, DNS_NOERROR, 1, REASON_ALLOW },
		{ "ok.test", 28, DNS_NOERROR, 0, REASON_ALLOW },
		{ "ok.test", 16, DNS_NOERROR, 0, REASON_DNS_QTYPE },
	};
	struct bed b;
	(void)state;

	bed_load(&b, "version: 1\ndns: {refused: nxdomain}\n",
	    "version: 1\npolicies: {p: {rules: [{allow: "
	    "'https://ok.test/**'}]}}\n");
	assert_non_null(b.program);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t in[DNS_QUERY_MAX], out[DNS_ANSWER_MAX];
		struct question q = question_of(rows[i].name, rows[i].type);
		struct wr w = wr_of(out, sizeof(out));
		struct dns_said said;
		struct answered a;
		dns_answer(b.program, question_put(&q, 7, in, sizeof(in)), &w,
		    &said);
		assert_int_equal(said.reason, rows[i].reason);
		assert_true(answered_read(wr_slice(&w), &a));
		assert_int_equal(a.rcode, rows[i].rcode);
		assert_int_equal(a.n_answers, rows[i].n_answers);
		assert_int_equal(a.n_authority, 1 - rows[i].n_answers);
	}
	bed_release(&b);
}

static int
set_up(void **state)
{
	(void)state;
	owner = case_text("owner.yaml");
	policies = case_text("policies.yaml");
	bed_load_named(&bed, owner, policies, "names");
	if (bed.program == NULL)
		print_error("%s", buf_text(&bed.text));
	return bed.program == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	(void)state;
	bed_release(&bed);
	free(owner);
	free(policies);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dns_answer_says_what_each_row_wants),
		cmocka_unit_test(dns_answer_names_nothing_raw),
		cmocka_unit_test(dns_answer_refuses_what_is_no_message),
		cmocka_unit_test(dns_answer_does_not_depend_on_options),
		cmocka_unit_test(dns_answer_has_one_address_a_pattern),
		cmocka_unit_test(dns_answer_denies_names_if_the_owner_wants),
		cmocka_unit_test(dns_answer_is_a_function_of_its_input),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
