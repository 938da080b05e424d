/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker that was taken over may send the dialer. */
#include "dial/request.h"
#include "fuzz_bed.h"
#include "wire/host.h"

static const char yaml[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - allow: https://ok.test\n"
    "      - allow: ['https://a.test', 'https://b.test:8443']\n"
    "      - deny: https://cut.wild.test/**\n"
    "      - allow: https://*.wild.test\n"
    "      - allow: http://plain.test\n"
    "      - allow: https://192.0.2.7\n"
    "      - allow: 'https://[2001:db8::7]:8443'\n";

static struct program *program;

static void
check_allowed(const struct request *r, const struct facts *f)
{
	struct slice only;

	CHECK(r->rule < program_n_rules(program));
	struct program_rule rule = program_rule(program, r->rule);
	CHECK(!rule.deny && f->host.n != 0 && r->port != 0);
	/* A name that the worker did not give is the rule's only one. */
	if (program_rule_host(program, r->rule, &only))
		CHECK(!program_rule_is_wild(program, r->rule) &&
		    slice_eq(f->host, only));
	else
		CHECK(slice_eq(f->host, r->host));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice body = { data, size };
	struct request r;
	struct facts facts, again;

	if (program == NULL)
		program = fuzz_bed_program(yaml);
	if (!request_read(body, &r))
		return 0;
	CHECK(lies_in(r.host, body) && lies_in(r.who.flow, body));
	CHECK(lies_in(r.who.digest, body));
	CHECK(r.host.n <= REQUEST_HOST_MAX && r.who.flow.n <= WHO_FLOW_MAX);
	CHECK(r.who.digest.n <= WHO_DIGEST_MAX);
	CHECK(r.who.flow.n != 0 && r.who.digest.n != 0);
	struct verdict v = request_decide(program, &r, &facts);
	CHECK(request_decide(program, &r, &again).reason == v.reason);
	/* The record of it says the same again. */
	CHECK(policy_decide(program, &facts).reason == v.reason);
	if (v.allow)
		check_allowed(&r, &facts);
	return 0;
}
