/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "certs/managed.h"

#define CA SLICE("duenna")   /* the form does not matter here */
#define CA_BASE64 "ZHVlbm5h" /* of it */

static char folder[] = "/tmp/duenna-test-managed-XXXXXX";

static int
setup(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	(void)state;
	return rmdir(folder);
}

static const char *
path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void
put(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void
firefox_is(const char *host, const char *want)
{
	struct buf out;

	put("f.json", host);
	buf_init(&out, 65536);
	assert_true(managed_firefox(&out, path_of("f.json"), "/ca.pem"));
	assert_string_equal(buf_text(&out), want);
	buf_release(&out);
	unlink(path_of("f.json"));
}

static void
firefox_keeps_what_the_host_set(void **state)
{
	(void)state;
	firefox_is("{\"policies\": {\"DisableTelemetry\": true,\n"
		   " \"Certificates\": {\"ImportEnterpriseRoots\": true,\n"
		   "  \"Install\": [\"own.pem\"]}}, \"x\": 1}\n",
	    "{\"policies\": {\"DisableTelemetry\": true,\n"
	    " \"Certificates\": {\"ImportEnterpriseRoots\": true,\n"
	    "  \"Install\": [\"/ca.pem\",\"own.pem\"]}}, \"x\": 1}\n");
	firefox_is(" { \"policies\" : { } } ",
	    "{ \"policies\" : {\"Certificates\":{\"Install\":[\"/ca.pem\"]} "
	    "} }\n");
	firefox_is("{\"policies\":{\"Certificates\":{\"Install\":[ ]}}}",
	    "{\"policies\":{\"Certificates\":{\"Install\":[\"/ca.pem\" "
	    "]}}}\n");
	firefox_is("{\"x\":{}}",
	    "{\"policies\":{\"Certificates\":{\"Install\":[\"/ca.pem\"]}},"
	    "\"x\":{}}\n");
	/* of two, a browser takes the last */
	firefox_is("{\"policies\":1,\"policies\":{}}",
	    "{\"policies\":1,\"policies\":{\"Certificates\":{\"Install\":"
	    "[\"/ca.pem\"]}}}\n");
}

static void
firefox_policies_that_are_none_are_passed_over(void **state)
{
	(void)state;
	static const char *const none[] = { "", "{", "[]", "7", "\"\xff\"",
		"{\"policies\":[]}", "{\"policies\":{\"Certificates\":\"x\"}}",
		"{\"policies\":{\"Certificates\":{\"Install\":{}}}}",
		"{\"policies\":{},\"policies\":2}" };
	static const char want[] =
	    "{\"policies\":{\"Certificates\":{\"Install\":[\"/ca.pem\"]}}}\n";
	struct buf out;

	for (size_t i = 0; i < COUNT_OF(none); i++)
		firefox_is(none[i], want);
	buf_init(&out, 65536);
	assert_true(managed_firefox(&out, "/nowhere/f.json", "/ca.pem"));
	assert_true(managed_firefox(&out, "/dev/zero", "/ca.pem"));
	assert_int_equal(out.n, 2 * strlen(want));
	buf_release(&out);
	buf_init(&out, 10);
	assert_false(managed_firefox(&out, "/nowhere/f.json", "/ca.pem"));
	buf_release(&out);
}

static void
chromium_gets_ours_beside_those_of_the_host(void **state)
{
	(void)state;
	const struct slice ca = CA;
	struct buf out;

	buf_init(&out, 65536);
	assert_true(managed_chromium(&out, "/nowhere", &ca, 1));
	assert_string_equal(buf_text(&out),
	    "{\"CACertificates\":[\"" CA_BASE64 "\"]}\n");
	buf_clear(&out);
	put("a.json", "{\"CACertificates\":[\"AAAA\"],\"HomepageLocation\":1}");
	put("b.json", "{\"CACertificates\":\"none\"}");
	put("c.txt", "no JSON");
	assert_int_equal(mkdir(path_of("d"), 0700), 0);
	assert_true(managed_chromium(&out, folder, &ca, 1));
	assert_string_equal(buf_text(&out),
	    "{\"CACertificates\":[\"" CA_BASE64 "\",\"AAAA\"]}\n");
	buf_release(&out);
	unlink(path_of("a.json"));
	unlink(path_of("b.json"));
	unlink(path_of("c.txt"));
	rmdir(path_of("d"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(firefox_keeps_what_the_host_set),
		cmocka_unit_test(
		    firefox_policies_that_are_none_are_passed_over),
		cmocka_unit_test(chromium_gets_ours_beside_those_of_the_host),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
