/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "audit/facts_event.h"
#include "audit/line.h"
#include "policy_bed.h"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  agent:\n"
    "    rules:\n"
    "      - name: no-secrets\n"
    "        deny: https://ok.test/admin/**\n"
    "      - name: ok\n"
    "        allow: https://ok.test/**\n"
    "        methods: [GET, DELETE]\n"
    "      - name: plain\n"
    "        allow: http://plain.test/x\n"
    "      - name: query\n"
    "        allow: https://q.test/api\n"
    "        query: {type: ['2', 'a b'], prefix: ['runs/*'], any: any, "
    "token: absent}\n"
    "      - name: open\n"
    "        allow: https://q.test/open\n"
    "        query: {type: ['2'], others: allow}\n"
    "      - name: wild\n"
    "        allow: https://*.wild.test/**\n"
    "        methods: any\n"
    "      - name: literal\n"
    "        allow: https://192.0.2.1/**\n";

static int
setup(void **state)
{
	static struct bed bed;

	bed_load_trusted(&bed, NULL, policy);
	if (bed.program == NULL)
		print_error("%s", buf_text(&bed.text));
	*state = &bed;
	return bed.program == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	bed_release(*state);
	return 0;
}

static bool
same(const struct verdict *a, const struct verdict *b)
{
	return a->allow == b->allow && a->reason == b->reason &&
	    a->rule == b->rule && a->n_credentials == b->n_credentials &&
	    a->strip == b->strip;
}

/*
 * Facts to a record, over the way to the scribe, to a line of the log, and
 * back: decided again it must give the same.
 */
static void
assert_recomputes(const struct program *p, const struct facts *f)
{
	static uint8_t bytes[EVENT_SIZE_MAX];
	static struct facts_text text;
	static const char hash[] = "0123456789abcdef0123456789abcdef"
				   "0123456789abcdef0123456789abcdef";
	struct verdict v = policy_decide(p, f), again;
	struct event e, sent;
	struct buf out, store;
	const char *detail;
	struct facts back;
	struct line l;

	event_init(&e, EVENT_REQUEST_END);
	facts_to_event(p, f, &v, &text, &e);
	size_t n = event_encode(&e, bytes, sizeof(bytes));
	assert_true(event_decode(slice_of(bytes, n), &sent));
	buf_init(&out, LINE_SIZE_MAX);
	buf_init(&store, LINE_SIZE_MAX + 1);
	line_put(&out, 1, 1, &sent);
	line_put_hash(&out, hash);
	assert_true(line_read(slice_first(buf_slice(&out), out.n - 1), &store,
	    &l, &detail));
	assert_true(facts_from_event(&l.event, &back));
	again = policy_decide(p, &back);
	if (!same(&v, &again))
		print_error("%s", buf_text(&out));
	assert_true(same(&v, &again));
	assert_true(slice_eq_str(event_text_of(&l.event, FIELD_REASON),
	    reason_name(again.reason)));
	buf_release(&out);
	buf_release(&store);
}

static const char *
pick(const char *const *list, size_t n)
{
	return list[(size_t)random() % n];
}

#define PICK(list) pick(list, COUNT_OF(list))

static struct facts
random_facts(const struct program *p)
{
	static const char *const hosts[] = { "ok.test", "plain.test", "q.test",
		"a.wild.test", "b.a.wild.test", "no.test", "192.0.2.1", "",
		"192.0.2.7" };
	static const char *const methods[] = { "GET", "DELETE", "POST", "get",
		"" };
	static const char *const paths[] = { "/", "/admin/x", "/x", "/api",
		"/open", "/a%2Fb", "" };
	static const char *const queries[] = { "", "type=2", "type=3",
		"type=2&prefix=runs/7&any=1", "type=2&other=secret",
		"type=2&x=a;b", "type=2&any=;", "token=1&type=2", "=&type=2",
		"=v&type=2", "type=2&type=2", "type=a+b&prefix=runs/", "&&",
		"t%79pe=2", "any&type=2" };
	struct facts f = {
		.kind = (enum facts_kind)(random() % 4),
		.scheme = random() % 4 == 0 ? SCHEME_HTTP : SCHEME_HTTPS,
		.port = random() % 4 == 0 ? 80 : 443,
		.rule = (uint32_t)random() % 9,
		.qtype = random() % 3 == 0 ? 28 : 1,
	};

	if (random() % 8 == 0)
		f.fault = (enum reason)(random() % REASON_COUNT);
	if (reason_is_allow(f.fault))
		f.fault = REASON_ALLOW;
	f.host = slice_of_str(PICK(hosts));
	f.method = slice_of_str(PICK(methods));
	f.path = slice_of_str(PICK(paths));
	f.has_query = random() % 2 == 0;
	if (f.has_query)
		f.query = slice_of_str(PICK(queries));
	f.has_sni = random() % 4 != 0;
	if (f.has_sni)
		f.sni = random() % 8 == 0 ? slice_of_str(PICK(hosts)) : f.host;
	if (random() % 8 != 0 && !ip_parse(f.host, &f.dst) &&
	    !program_address(p, f.host, &f.dst))
		f.dst = program_refusal_address(p);
	f.upgrade = random() % 8 == 0;
	f.cookie = random() % 8 == 0;
	f.range = random() % 8 == 0;
	f.signed_url = random() % 8 == 0;
	if (random() % 8 == 0)
		f.foreign = (uint32_t)random() % (1U << FOREIGN_SLOT_COUNT);
	if (random() % 8 == 0)
		f.placeholder = (enum placeholder_seen)(random() % 4);
	return f;
}

/* P: decide(record.facts) = record.verdict. */
static void
every_record_can_be_decided_again(void **state)
{
	const struct bed *b = *state;
	unsigned seen[REASON_COUNT] = { 0 };

	srandom(1);
	for (int i = 0; i < 40000; i++) {
		struct facts f = random_facts(b->program);
		assert_recomputes(b->program, &f);
		seen[policy_decide(b->program, &f).reason]++;
	}
	assert_true(seen[REASON_ALLOW] > 500);
	assert_true(seen[REASON_HTTP_QUERY_DENIED] > 50);
}

static void
a_record_has_values_of_judged_keys_only(void **state)
{
	static const struct {
		const char *url, *want;
	} rows[] = {
		{ "https://q.test/api?type=2&prefix=runs/7",
		    "type=2&prefix=runs/7" },
		{ "https://q.test/api?type=9&any=secret", "type=9&any" },
		{ "https://q.test/api?token=secret&type=2", "token&type=2" },
		{ "https://q.test/open?type=2&a=secret&b=;secret&c=",
		    "type=2&a&b=;&c" },
		{ "https://ok.test/x?q=secret&access_token=t&&=x&",
		    "q&access_token&=" },
		{ "https://ok.test/x?", "" },
	};
	struct bed *b = *state;
	static struct facts_text text;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct facts f = bed_request(b->program, "GET", rows[i].url);
		struct verdict v = policy_decide(b->program, &f);
		struct event e;
		event_init(&e, EVENT_REQUEST_END);
		facts_to_event(b->program, &f, &v, &text, &e);
		print_message("# %s\n", rows[i].url);
		assert_true(event_has(&e, FIELD_QUERY));
		assert_true(
		    slice_eq_str(event_text_of(&e, FIELD_QUERY), rows[i].want));
		assert_recomputes(b->program, &f);
	}
}

static void
a_fault_is_told_without_the_query(void **state)
{
	static uint8_t query[LIMIT_TARGET_SIZE + 1];
	struct bed *b = *state;
	static struct facts_text text;
	struct facts f = bed_request(b->program, "GET", "https://ok.test/x?y");
	struct verdict v;
	struct event e;

	f.fault = REASON_HTTP_FRAMING;
	v = policy_decide(b->program, &f);
	event_init(&e, EVENT_REQUEST_END);
	facts_to_event(b->program, &f, &v, &text, &e);
	assert_false(event_has(&e, FIELD_QUERY));
	assert_true(
	    slice_eq_str(event_text_of(&e, FIELD_FAULT), "http.framing"));
	f.query = slice_of(query, sizeof(query));
	f.fault = REASON_LIMIT_BYTES;
	assert_recomputes(b->program, &f);
}

static void
without_a_program_there_are_facts_and_no_rule(void **state UNUSED)
{
	static struct facts_text text;
	struct facts f = { .kind = FACTS_REQUEST, .host = SLICE("a.test") };
	struct verdict v = { .reason = REASON_POLICY_NONE,
		.rule = VERDICT_NONE };
	struct event e;

	event_init(&e, EVENT_REQUEST_END);
	facts_to_event(NULL, &f, &v, &text, &e);
	assert_false(event_has(&e, FIELD_RULE));
	assert_true(event_has(&e, FIELD_FACTS_KIND));
}

static void
facts_from_event_refuses_what_no_role_writes(void **state UNUSED)
{
	struct facts f;
	struct event e;

	event_init(&e, EVENT_REQUEST_END);
	assert_false(facts_from_event(&e, &f));
	event_str(&e, FIELD_FACTS_KIND, "request");
	assert_false(facts_from_event(&e, &f));
	event_str(&e, FIELD_SCHEME, "gopher");
	assert_false(facts_from_event(&e, &f));
	event_str(&e, FIELD_SCHEME, "https");
	assert_true(facts_from_event(&e, &f));
	event_number(&e, FIELD_PORT, 65536);
	assert_false(facts_from_event(&e, &f));
	event_number(&e, FIELD_PORT, 443);
	event_number(&e, FIELD_PLACEHOLDER, 4);
	assert_false(facts_from_event(&e, &f));
	event_number(&e, FIELD_PLACEHOLDER, 1);
	event_number(&e, FIELD_FOREIGN, 1U << FOREIGN_SLOT_COUNT);
	assert_false(facts_from_event(&e, &f));
	event_number(&e, FIELD_FOREIGN, 1);
	event_str(&e, FIELD_DST_ADDRESS, "127.1");
	assert_false(facts_from_event(&e, &f));
	event_str(&e, FIELD_DST_ADDRESS, "127.0.0.1");
	event_str(&e, FIELD_FAULT, "none");
	assert_false(facts_from_event(&e, &f));
	event_str(&e, FIELD_FAULT, "internal");
	assert_true(facts_from_event(&e, &f));
	assert_int_equal(f.fault, REASON_INTERNAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_can_be_decided_again),
		cmocka_unit_test(a_record_has_values_of_judged_keys_only),
		cmocka_unit_test(a_fault_is_told_without_the_query),
		cmocka_unit_test(without_a_program_there_are_facts_and_no_rule),
		cmocka_unit_test(facts_from_event_refuses_what_no_role_writes),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
