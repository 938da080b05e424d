/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "certs/bundle.h"
#include "certs/ca.h"
#include "certs/trust.h"

static const struct trust_file *
file_of(const struct trust *t, const char *path)
{
	for (size_t i = 0; i < t->n_files; i++)
		if (strcmp(t->files[i].path, path) == 0)
			return &t->files[i];
	return NULL;
}

static size_t
certificates_in(const struct trust_file *f)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----\n";
	size_t n = 0;

	for (size_t i = 0; i + sizeof(begin) - 1 <= f->bytes.n; i++)
		if (memcmp(f->bytes.p + i, begin, sizeof(begin) - 1) == 0)
			n++;
	return n;
}

static void
trust_adds_the_ca_and_keeps_the_roots(void **state)
{
	(void)state;
	enum err err;
	struct ca *ca = ca_make(SLICE("unit"), 10, &err);
	struct ca *root = ca_make(SLICE("root"), 10, &err);
	struct slice roots[] = { ca_cert(root), ca_cert(root) };
	struct slice cas[] = { ca_cert(ca), ca_cert(root) };
	char hash[BUNDLE_HASH_SIZE], path[TRUST_PATH_MAX];
	struct trust t;

	assert_int_equal(trust_init(&t, cas, 1, roots, 2, &err), 0);
	assert_int_equal(certificates_in(file_of(&t, TRUST_BUNDLE)), 3);
	assert_int_equal(certificates_in(file_of(&t, TRUST_CA)), 1);
	assert_true(bundle_hash(ca_cert(ca), hash));
	snprintf(path, sizeof(path), "/etc/ssl/certs/%s.0", hash);
	assert_int_equal(certificates_in(file_of(&t, path)), 1);
	assert_non_null(file_of(&t, TRUST_JKS));
	assert_non_null(file_of(&t, "/etc/ssl/certs/java/cacerts"));
	const struct trust_file *chromium =
	    file_of(&t, "/etc/chromium/policies/managed/~duenna.json");
	assert_memory_equal(chromium->bytes.p, "{\"CACertificates\":[\"MI", 22);
	assert_true(t.n_files <= TRUST_FILES_MAX);
	trust_release(&t);
	assert_int_equal(t.n_files, 0);

	/* That which will sign one day, too. */
	assert_int_equal(trust_init(&t, cas, 2, roots, 1, &err), 0);
	assert_int_equal(certificates_in(file_of(&t, TRUST_BUNDLE)), 3);
	assert_int_equal(certificates_in(file_of(&t, TRUST_CA)), 2);
	assert_non_null(file_of(&t, path));
	assert_true(bundle_hash(ca_cert(root), hash));
	snprintf(path, sizeof(path), "/etc/ssl/certs/%s.0", hash);
	assert_int_equal(certificates_in(file_of(&t, path)), 1);
	assert_true(t.n_files <= TRUST_FILES_MAX);
	trust_release(&t);
	cas[1] = ca_cert(ca);
	assert_int_equal(trust_init(&t, cas, 2, NULL, 0, &err), 0);
	assert_true(bundle_hash(ca_cert(ca), hash));
	snprintf(path, sizeof(path), "/etc/ssl/certs/%s.1", hash);
	assert_int_equal(certificates_in(file_of(&t, path)), 1);
	trust_release(&t);
	ca_free(ca);
	ca_free(root);
}

static void
trust_wants_a_certificate(void **state)
{
	(void)state;
	enum err err;
	struct slice no = SLICE("no");
	struct trust t;

	assert_int_equal(trust_init(&t, &no, 0, NULL, 0, &err), -1);
	assert_int_equal(trust_init(&t, &no, 1, NULL, 0, &err), -1);
	assert_int_equal(err, ERR_INTEGRITY);
}

static void
trust_variables_name_files_that_exist_in_the_kit(void **state)
{
	(void)state;
	enum err err;
	struct ca *ca = ca_make(SLICE("unit"), 10, &err);
	struct slice cert = ca_cert(ca);
	struct trust t;
	size_t n;
	const struct trust_variable *v = trust_variables(&n);

	assert_int_equal(trust_init(&t, &cert, 1, NULL, 0, &err), 0);
	assert_true(n > 10);
	for (size_t i = 0; i < n; i++) {
		print_message("# %s\n", v[i].name);
		const char *path = strchr(v[i].value, '/');
		assert_true(path == NULL || file_of(&t, path) != NULL);
		assert_string_not_equal(v[i].name, "npm_config_cafile");
		assert_string_not_equal(v[i].name, "SSL_CERT_DIR");
		assert_string_not_equal(v[i].name, "GIT_SSL_CAPATH");
	}
	trust_release(&t);
	ca_free(ca);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trust_adds_the_ca_and_keeps_the_roots),
		cmocka_unit_test(trust_wants_a_certificate),
		cmocka_unit_test(
		    trust_variables_name_files_that_exist_in_the_kit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
