/* SPDX-License-Identifier: Apache-2.0 */
/* What an attach reads of a container's state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/oci.h"

#define STATE "\"status\":\"creating\",\"pid\":7"
#define HEX16 "0123456789abcdef"

static int
read_text(const char *text, struct oci *o)
{
	return oci_read(slice_of_str(text), o);
}

static void
oci_reads_what_an_attach_needs(void **state UNUSED)
{
	struct oci o;

	assert_int_equal(
	    read_text("{\"ociVersion\":\"1.0.2\",\"id\":\"web-1\"," STATE
		      ",\"bundle\":\"/b\",\"more\":[1],\"annotations\":{"
		      "\"io.podman.x\":\"y\",\"duenna.policy\":\"p:q\","
		      "\"duenna.tenant\":\"t\",\"duenna.set.repo\":\"a=b\","
		      "\"duenna.label.ci.job\":\"\"}}",
		&o),
	    0);
	assert_string_equal(o.name, "web-1");
	assert_string_equal(o.pid, "7");
	assert_string_equal(o.policy, "p:q");
	assert_string_equal(o.tenant, "t");
	assert_int_equal(o.n_sets, 1);
	assert_string_equal(o.sets[0], "repo=a=b");
	assert_int_equal(o.n_labels, 1);
	assert_string_equal(o.labels[0], "ci.job=");
	oci_release(&o);
}

static void
oci_needs_no_annotation(void **state UNUSED)
{
	struct oci o;

	assert_int_equal(read_text("{\"id\":\"a\",\"status\":\"created\","
				   "\"pid\":1,\"annotations\":null}",
			     &o),
	    0);
	assert_null(o.policy);
	assert_int_equal(o.n_sets + o.n_labels, 0);
	oci_release(&o);
}

static void
oci_gives_a_sandbox_a_name(void **state UNUSED)
{
	struct oci o;

	assert_int_equal(read_text("{\"id\":\"" HEX16 HEX16 HEX16 HEX16
				   "\"," STATE "}",
			     &o),
	    0);
	assert_string_equal(o.name, HEX16 HEX16 "01234567");
	oci_release(&o);
	assert_int_equal(read_text("{\"id\":\"A_b\"," STATE
				   ",\"annotations\":{\"duenna.name\":\"c\"}}",
			     &o),
	    0);
	assert_string_equal(o.name, "c");
	oci_release(&o);
}

static void
oci_says_what_is_wrong(void **state UNUSED)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "", "it is no JSON: line 1" },
		{ "[]", "it is no object" },
		{ "{\"id\":\"a\",\"id\":\"b\"," STATE "}", "duplicate" },
		{ "{\"id\":\"a\",\"pid\":7}", "`status` is missing" },
		{ "{\"id\":\"a\",\"pid\":7,\"status\":\"running\"}",
		    "the container is running; expected the hook" },
		{ "{\"id\":\"a\",\"status\":\"creating\"}", "`pid` is no" },
		{ "{\"id\":\"a\",\"status\":\"creating\",\"pid\":\"7\"}",
		    "`pid` is no process" },
		{ "{\"id\":\"a\",\"status\":\"creating\",\"pid\":0}",
		    "`pid` is no process" },
		{ "{\"id\":\"a\",\"status\":\"creating\",\"pid\":4294967297}",
		    "`pid` is no process" },
		{ "{" STATE "}", "`id` is missing" },
		{ "{\"id\":\"A\\n\"," STATE "}", "the container `A?` cannot" },
		{ "{\"id\":\"" HEX16 HEX16 HEX16 "\"," STATE "}",
		    "cannot give the sandbox its name" },
		{ "{\"id\":\"a\"," STATE ",\"annotations\":[]}",
		    "`annotations` is no object" },
		{ "{\"id\":\"a\"," STATE
		  ",\"annotations\":{\"duenna.policy\":1}}",
		    "the annotation duenna.policy is no text" },
		{ "{\"id\":\"a\"," STATE
		  ",\"annotations\":{\"duenna.polcy\":\"x\"}}",
		    "there is no annotation duenna.polcy; expected policy" },
		{ "{\"id\":\"a\"," STATE
		  ",\"annotations\":{\"duenna.name\":\"X\"}}",
		    "duenna.name is `X`" },
		{ "{\"id\":\"a\"," STATE
		  ",\"annotations\":{\"duenna.set.\":\"x\"}}",
		    "has no key" },
		{ "{\"id\":\"a\"," STATE
		  ",\"annotations\":{\"duenna.set.a=b\":\"x\"}}",
		    "has no key" },
	};
	struct oci o;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(read_text(rows[i].text, &o), -1);
		if (strstr(o.why, rows[i].why) == NULL)
			fail_msg("%s: %s", rows[i].text, o.why);
		oci_release(&o);
	}
}

static void
oci_takes_so_many_of_a_kind(void **state UNUSED)
{
	static char text[8192];
	struct oci o;
	size_t n = (size_t)snprintf(text, sizeof(text),
	    "{\"id\":\"a\"," STATE ",\"annotations\":{\"x\":\"\"");

	for (size_t i = 0; i <= CONTROL_LABELS_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    ",\"duenna.label.k%zu\":\"v\"", i);
	snprintf(text + n, sizeof(text) - n, "}}");
	assert_int_equal(read_text(text, &o), -1);
	assert_non_null(strstr(o.why, "more than 32 annotations"));
	oci_release(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oci_reads_what_an_attach_needs),
		cmocka_unit_test(oci_needs_no_annotation),
		cmocka_unit_test(oci_gives_a_sandbox_a_name),
		cmocka_unit_test(oci_says_what_is_wrong),
		cmocka_unit_test(oci_takes_so_many_of_a_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
