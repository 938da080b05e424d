/* SPDX-License-Identifier: Apache-2.0 */
/* A log for other programs; that it is JSON and CSV: tests/e2e/test_audit.py */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <unistd.h>

#include "audit_bed.h"
#include "base/clock.h"

static const char policy[] = "version: 1\n"
			     "policies:\n"
			     "  agent:\n"
			     "    rules:\n"
			     "      - name: hello\n"
			     "        allow: https://api.test/hello/**\n";

#define NOON_US UINT64_C(1796040000000000) /* 2026-11-30T12:00:00Z */

static char path[512];

static int
set_up(void **state UNUSED)
{
	struct journal *j;
	struct event e;
	char hash[LINE_HASH_HEX + 1];

	audit_bed_init(policy);
	snprintf(path, sizeof(path), "%s/duenna/log/2026-a.jsonl", home);
	clock_set(1, NOON_US);
	j = log_begin(path);
	log_request(j, "GET", "https://api.test/hello/you");
	log_request(j, "POST", "https://evil.test/b");
	event_init(&e, EVENT_ALARM);
	event_str(&e, FIELD_DETAIL, "=2+2,\"x\"\x1b\xff");
	event_number(&e, FIELD_COUNTED, UINT64_MAX);
	event_bool(&e, FIELD_REPEATED, true);
	log_event(j, &e);
	log_end(j, true, hash);
	clock_set(0, 0);
	return 0;
}

static int
tear_down(void **state UNUSED)
{
	audit_bed_release();
	return 0;
}

static void
otlp_has_each_record_with_all_of_its_fields(void **state UNUSED)
{
	assert_int_equal(audit("export", path, NULL), 0);
	assert_int_equal(count_lines(), 1);
	assert_memory_equal(out,
	    "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":"
	    "\"service.name\",",
	    65);
	assert_true(says("{\"timeUnixNano\":\"1796040000000000000\","
			 "\"severityNumber\":9,\"severityText\":\"INFO\","
			 "\"eventName\":\"duenna.request.end\","
			 "\"body\":{\"stringValue\":\"request.end allow GET "
			 "https://api.test/hello/you\"},\"attributes\":["
			 "{\"key\":\"duenna.seq\",\"value\":{\"intValue\":"));
	assert_true(says("\"severityNumber\":13,\"severityText\":\"WARN\""));
	assert_true(says("{\"key\":\"duenna.verdict\",\"value\":"
			 "{\"stringValue\":\"deny\"}}"));
	assert_true(says("{\"key\":\"server.port\",\"value\":"
			 "{\"intValue\":\"443\"}}"));
	assert_true(says("{\"key\":\"duenna.hash\",\"value\":"));
	/* The whole of a text; no number that has no room in the form. */
	assert_true(says("\"severityNumber\":17,\"severityText\":\"ERROR\""));
	assert_true(says("\"=2+2,\\\"x\\\"\\u001b\\uefff\""));
	assert_true(says("{\"stringValue\":\"18446744073709551615\"}"));
	assert_true(says("{\"boolValue\":true}"));
}

static void
csv_has_a_column_a_field_and_no_formulas(void **state UNUSED)
{
	assert_int_equal(audit("export", "--format", "csv", path, NULL), 0);
	assert_memory_equal(out, "seq,time,event,sandbox,policy,", 30);
	assert_true(says(",process.exit.code,hash\r\n"));
	assert_true(says(",2026-11-30T12:00:00.000000Z,request.end,"));
	assert_true(says("\"'=2+2,\"\"x\"\"\\x1b\\xff\""));
	assert_false(says("\"=2"));
}

static void
filters_choose_what_is_exported(void **state UNUSED)
{
	assert_int_equal(audit("export", "--format", "csv", "--denied", path,
			     NULL),
	    0);
	assert_int_equal(count_lines(), 2);
	assert_int_equal(audit("export", "--limit", "2", path, NULL), 0);
	assert_int_equal(count_lines(), 1);
	assert_false(says("request.end deny"));
	assert_int_equal(audit("export", "--host", "no.test", path, NULL), 1);
	assert_int_equal(count_lines(), 0);
	assert_int_equal(audit("export", "--format", "xml", path, NULL), 2);
}

static void
show_says_that_nothing_is_such_a_record(void **state UNUSED)
{
	assert_int_equal(audit("show", "--host", "no.test", path, NULL), 1);
	assert_int_equal(audit("show", "--json", "--rule", "none", path, NULL),
	    1);
	assert_int_equal(audit("show", "--denied", path, NULL), 0);
	assert_int_equal(audit("show", path, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(otlp_has_each_record_with_all_of_its_fields),
		cmocka_unit_test(csv_has_a_column_a_field_and_no_formulas),
		cmocka_unit_test(filters_choose_what_is_exported),
		cmocka_unit_test(show_says_that_nothing_is_such_a_record),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
