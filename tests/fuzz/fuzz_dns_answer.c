/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox's question, to its answer and its record. */
#include "dns/answer.h"
#include "fuzz_bed.h"
#include "policy/policy.h"
#include "wire/dns_msg.h"

static const char yaml[] = "version: 1\n"
			   "policies:\n"
			   "  p:\n"
			   "    rules:\n"
			   "      - allow: https://ok.test\n"
			   "      - allow: https://*.wild.test\n"
			   "      - allow: https://**.deep.test\n";

static struct program *program;

static bool
is_printable(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] >= 0x7f)
			return false;
	return true;
}

/* An address in an answer is one of the program's. */
static void
check_address(const struct dns_said *said, struct slice out, size_t at)
{
	struct ip ip = program_refusal_address(program), named;

	CHECK(out.n >= at + 16);
	if (said->reason == REASON_ALLOW) {
		CHECK(program_address(program, said->facts.host, &named));
		ip = named;
	}
	CHECK(memcmp(out.p + at + 12, ip.bytes, 4) == 0);
}

static void
check_answer(struct slice in, struct slice out, const struct dns_said *said)
{
	CHECK(out.n >= 12 && out.n <= DNS_ANSWER_MAX);
	CHECK(memcmp(out.p, in.p, 2) == 0 && (out.p[2] & 0x80) != 0);
	/* Of the asker's bytes only the question comes back, where it stood. */
	size_t at = 12;
	if (out.p[5] == 1) {
		while (out.p[at] != 0)
			at += out.p[at] + 1U;
		at += 5;
		CHECK(at <= out.n && at <= in.n);
		CHECK(memcmp(out.p + 12, in.p + 12, at - 12) == 0);
	}
	CHECK(out.p[4] == 0 && out.p[5] <= 1 && out.p[6] == 0 &&
	    out.p[7] <= 1 && out.p[9] <= 1 && out.p[11] <= 1);
	if (out.p[7] == 1)
		check_address(said, out, at);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t one[DNS_ANSWER_MAX], two[DNS_ANSWER_MAX];
	struct wr w = wr_of(one, sizeof(one)), again = wr_of(two, sizeof(two));
	struct slice in = { data, size };
	static struct dns_said said, same;

	if (program == NULL)
		program = fuzz_bed_program(yaml);
	dns_answer(program, in, &w, &said);
	dns_answer(program, in, &again, &same);
	CHECK(!w.bad && slice_eq(wr_slice(&w), wr_slice(&again)));
	CHECK(said.reason == same.reason);
	CHECK(is_printable(said.facts.host));
	CHECK(policy_decide(program, &said.facts).reason == said.reason);
	if (w.n != 0)
		check_answer(in, wr_slice(&w), &said);
	return 0;
}
