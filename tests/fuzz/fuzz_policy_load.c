/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a policy file: never a crash, an image or an error, the same
 * image each time, and no verdict that its own rules do not bear out.
 */
#include "fuzz.h"
#include "load/load.h"
#include "policy/policy.h"

/* Whatever is included is the same text again; its name is its number. */
static const char *
include(void *ctx, uint32_t from, struct slice path, struct load_included *out)
{
	const struct slice *text = ctx;

	CHECK(from <= 255);
	if (path.n == 0 || path.n > 255)
		return "no such file";
	*out = (struct load_included){ *text, (uint32_t)path.n };
	return NULL;
}

#define NOW_S 1800000000 /* in 2027 */

static bool
load(struct slice text, struct buf *image)
{
	struct load_report report = { .want_advice = true };
	struct load_policy_in in = { .file = { SLICE("f.yaml"), SLICE("/w"),
					 text },
		.any = true,
		.now_s = NOW_S,
		.include = include,
		.ctx = &text };
	struct buf messages;

	buf_init(image, IMAGE_SIZE_MAX);
	buf_init(&messages, 1 << 22);
	bool good = load_policy(&in, image, &report);
	CHECK(good == (report.n_errors == 0));
	load_report_text(&report, &messages);
	CHECK(!messages.failed);
	for (size_t i = 0; i < messages.n; i++)
		CHECK(messages.p[i] == '\n' || messages.p[i] >= 0x20);
	buf_release(&messages);
	load_report_release(&report);
	return good;
}

/* Ask about the first pattern of a rule as if it were a name and a path. */
static void
probe(const struct program *p, uint32_t rule)
{
	struct facts f = { .kind = FACTS_REQUEST,
		.now_s = NOW_S,
		.scheme = SCHEME_HTTPS,
		.port = 443,
		.method = SLICE("GET"),
		.path = SLICE("/a/b"),
		.has_query = true,
		.query = SLICE("a=1&b=2"),
		.host = SLICE("a.b.test") };
	struct slice host;

	if (program_rule_host(p, rule, &host))
		f.host = host;
	struct verdict v = policy_decide(p, &f);
	CHECK((v.allow && !v.report) == (v.reason == REASON_ALLOW));
	if (!v.allow)
		return;
	CHECK(v.rule < program_n_rules(p));
	CHECK(!program_rule(p, v.rule).deny);
	CHECK(policy_stumble(p, &f, v.rule) == NULL);
	for (uint32_t i = 0; i < v.rule; i++)
		CHECK(policy_stumble(p, &f, i) != NULL);
	f.kind = FACTS_DIAL;
	f.rule = v.rule;
	CHECK(policy_decide(p, &f).allow);
}

/* What passes unread is a whole decision, with the dial that belongs to it. */
static void
probe_passed(const struct program *p, uint32_t rule, enum scheme scheme)
{
	static const uint16_t ports[] = { 443, 5432 };
	struct facts f = { .kind = FACTS_CONNECT,
		.now_s = NOW_S,
		.scheme = scheme };

	if (!program_rule_host(p, rule, &f.host))
		return;
	f.has_sni = scheme == SCHEME_TLS;
	f.sni = f.host;
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		f.kind = FACTS_CONNECT;
		f.port = ports[i];
		struct verdict v = policy_decide(p, &f);
		CHECK((v.allow && !v.report) == reason_is_allow(v.reason));
		if (!v.allow)
			continue;
		CHECK(v.reason != REASON_ALLOW && v.rule < program_n_rules(p));
		CHECK(!program_rule(p, v.rule).deny);
		CHECK(policy_stumble(p, &f, v.rule) == NULL);
		f.kind = FACTS_DIAL;
		f.rule = v.rule;
		CHECK(policy_decide(p, &f).allow);
		f.kind = FACTS_REQUEST;
		f.method = SLICE("GET");
		f.path = SLICE("/");
		CHECK(!policy_decide(p, &f).allow);
		f.scheme = SCHEME_HTTPS;
		CHECK(!policy_decide(p, &f).allow);
		f.scheme = scheme;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf one, two;
	enum err err;

	bool good = load(slice_of(data, size), &one);
	if (good) {
		struct program *p = program_open(buf_slice(&one), &err);
		CHECK(p != NULL);
		for (uint32_t i = 0; i < program_n_rules(p) && i < 16; i++) {
			probe(p, i);
			probe_passed(p, i, SCHEME_TLS);
			probe_passed(p, i, SCHEME_TCP);
		}
		program_free(p);
		CHECK(load(slice_of(data, size), &two));
		CHECK(slice_eq(buf_slice(&one), buf_slice(&two)));
		buf_release(&two);
	}
	buf_release(&one);
	return 0;
}
