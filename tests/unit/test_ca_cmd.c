/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attr.h"
#include "certs/bundle.h"
#include "certs/ca.h"
#include "cmd/cmd.h"

static char ca_path[] = "/tmp/duenna-test-ca-XXXXXX";
static char roots_path[] = "/tmp/duenna-test-roots-XXXXXX";
static struct buf pem;

static int
setup(void **state)
{
	(void)state;
	enum err err;
	struct ca *ca = ca_make(SLICE("unit"), 10, &err);
	struct ca *root = ca_make(SLICE("root"), 10, &err);
	int fd = mkstemp(ca_path), other = mkstemp(roots_path);

	buf_init(&pem, 65536);
	if (ca == NULL || root == NULL || fd < 0 || other < 0 ||
	    !bundle_put_pem(&pem, ca_cert(root)) ||
	    write(other, pem.p, pem.n) != (ssize_t)pem.n)
		return -1;
	buf_clear(&pem);
	if (!bundle_put_pem(&pem, ca_cert(ca)) ||
	    write(fd, pem.p, pem.n) != (ssize_t)pem.n)
		return -1;
	close(fd);
	close(other);
	ca_free(ca);
	ca_free(root);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	unlink(ca_path);
	unlink(roots_path);
	buf_release(&pem);
	return 0;
}

/* Run it; what it printed is in `out`.  Tests' own output goes to stdout. */
static int
run(const char *const *args, size_t n, char *out, size_t max)
{
	static char name[] = "ca";
	char *argv[10] = { name };
	FILE *file = tmpfile();
	int saved = dup(STDOUT_FILENO);

	for (size_t i = 0; i < n; i++)
		argv[i + 1] = (char *)(uintptr_t)args[i];
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	optind = 1;
	int status = ca_main((int)n + 1, argv);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	rewind(file);
	size_t got = fread(out, 1, max - 1, file);
	out[got] = '\0';
	fclose(file);
	return status;
}

static void
ca_shows_its_certificate(void **state)
{
	(void)state;
	const char *const args[] = { "show", "--ca", ca_path };
	const char *const json[] = { "show", "--json", "--ca", ca_path };
	char out[4096];

	assert_int_equal(run(args, 3, out, sizeof(out)), 0);
	assert_non_null(strstr(out, "subject: CN=duenna egress CA unit\n"));
	assert_non_null(strstr(out, "SHA-256: "));
	assert_int_equal(run(json, 4, out, sizeof(out)), 0);
	assert_memory_equal(out, "{\"file\":\"/tmp/", 14);
}

static void
ca_merges_the_roots_once(void **state)
{
	(void)state;
	const char *const args[] = { "bundle", "--ca", ca_path, "--roots",
		roots_path };
	const char *const same[] = { "bundle", "--ca", ca_path, "--roots",
		ca_path };
	char out[16384];

	assert_int_equal(run(args, 5, out, sizeof(out)), 0);
	char *first = strstr(out, "BEGIN");
	assert_non_null(first);
	assert_non_null(strstr(first + 1, "BEGIN"));
	assert_int_equal(run(same, 5, out, sizeof(out)), 0);
	assert_string_equal(out, buf_text(&pem));
}

static void
ca_prints_the_variables_for_files_that_are_there(void **state)
{
	(void)state;
	const char *const sh[] = { "env", "--ca", ca_path, "--bundle",
		roots_path };
	const char *const fish[] = { "env", "--ca", ca_path, "--bundle",
		roots_path, "--fish" };
	const char *const json[] = { "env", "--ca", ca_path, "--bundle",
		roots_path, "--store", "/dev/null", "--json" };
	char out[8192], want[256];

	assert_int_equal(run(sh, 5, out, sizeof(out)), 0);
	snprintf(want, sizeof(want), "export NODE_EXTRA_CA_CERTS='%s'\n",
	    ca_path);
	assert_non_null(strstr(out, want));
	snprintf(want, sizeof(want), "export SSL_CERT_FILE='%s'\n", roots_path);
	assert_non_null(strstr(out, want));
	assert_null(strstr(out, "JAVA")); /* no store was named */
	assert_null(strstr(out, "/etc/"));
	assert_int_equal(run(fish, 6, out, sizeof(out)), 0);
	snprintf(want, sizeof(want), "set -gx SSL_CERT_FILE '%s'\n",
	    roots_path);
	assert_non_null(strstr(out, want));
	assert_int_equal(run(json, 8, out, sizeof(out)), 0);
	snprintf(want, sizeof(want), "\"NODE_EXTRA_CA_CERTS\":\"%s\"", ca_path);
	assert_non_null(strstr(out, want));
	assert_non_null(strstr(out,
	    "\"JAVA_TOOL_OPTIONS\":\"-Djavax.net.ssl.trustStore=/dev/null\""));
}

static void
ca_quotes_what_a_shell_would_read(void **state)
{
	(void)state;
	char odd[] = "/tmp/duenna'\\$(x)-XXXXXX", out[16384];
	int fd = mkstemp(odd);
	const char *const sh[] = { "env", "--ca", odd, "--bundle", odd };
	const char *const fish[] = { "env", "--ca", odd, "--bundle", odd,
		"--fish" };

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(run(sh, 5, out, sizeof(out)), 0);
	assert_non_null(
	    strstr(out, "export PIP_CERT='/tmp/duenna'\\''\\$(x)-"));
	assert_int_equal(run(fish, 6, out, sizeof(out)), 0);
	assert_non_null(
	    strstr(out, "set -gx PIP_CERT '/tmp/duenna\\'\\\\$(x)-"));
	unlink(odd);
}

static void
ca_makes_the_store_of_java(void **state)
{
	(void)state;
	const char *const args[] = { "bundle", "--jks", "--ca", ca_path,
		"--roots", roots_path };
	char out[16384];

	assert_int_equal(run(args, 6, out, sizeof(out)), 0);
	/* magic, version 2, two entries */
	assert_memory_equal(out, "\xfe\xed\xfe\xed\0\0\0\2\0\0\0\2", 12);
}

static void
ca_says_what_it_cannot_do(void **state)
{
	(void)state;
	const char *const none[] = { "show", "--ca", "/nowhere/ca.pem" };
	const char *const verb[] = { "make" },
			  *const opt[] = { "show", "--what" };
	const char *const no_bundle[] = { "env", "--ca", ca_path };
	const char *const no_store[] = { "env", "--ca", ca_path, "--bundle",
		ca_path, "--store", "/nowhere/store" };
	const char *const no_cert[] = { "show", "--ca", "/dev/null" };
	char out[4096];

	assert_int_equal(run(none, 3, out, sizeof(out)), CMD_NO);
	assert_int_equal(run(no_cert, 3, out, sizeof(out)), CMD_NO);
	assert_int_equal(run(no_bundle, 3, out, sizeof(out)), CMD_USAGE);
	assert_int_equal(run(no_store, 7, out, sizeof(out)), CMD_NO);
	assert_int_equal(run(verb, 1, out, sizeof(out)), CMD_USAGE);
	assert_int_equal(run(opt, 2, out, sizeof(out)), CMD_USAGE);
	assert_int_equal(run(NULL, 0, out, sizeof(out)), CMD_USAGE);
	assert_string_equal(out, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ca_shows_its_certificate),
		cmocka_unit_test(ca_merges_the_roots_once),
		cmocka_unit_test(
		    ca_prints_the_variables_for_files_that_are_there),
		cmocka_unit_test(ca_quotes_what_a_shell_would_read),
		cmocka_unit_test(ca_makes_the_store_of_java),
		cmocka_unit_test(ca_says_what_it_cannot_do),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
