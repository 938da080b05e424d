/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "certs/ca.h"
#include "crypto/sign.h"
#include "keep/vault.h"

static int
file_with(struct slice bytes)
{
	int fd = memfd_create("vault", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes.p, bytes.n), bytes.n);
	return fd;
}

static void
vault_gives_the_same_ca_again(void **state)
{
	(void)state;
	int fd = file_with((struct slice){ 0 });
	bool found = true;
	enum err err;

	struct ca *a = vault_ca(fd, SLICE("host"), &found, &err);
	assert_non_null(a);
	assert_false(found);
	struct ca *b = vault_ca(fd, SLICE("other"), &found, &err);
	assert_non_null(b);
	assert_true(found);
	assert_true(slice_eq(vault_ca_cert(a), vault_ca_cert(b)));
	ca_free(a);
	ca_free(b);
	close(fd);
}

static void
vault_never_overwrites_what_it_cannot_read(void **state)
{
	(void)state;
	static const char *const odd[] = { "x", "DUENNAK1", "DUENNAK2....",
		"DUENNAK1\x01\x01too short" };
	bool found;
	enum err err;

	for (size_t i = 0; i < COUNT_OF(odd); i++) {
		struct slice bytes = slice_of_str(odd[i]);
		int fd = file_with(bytes);
		assert_null(vault_ca(fd, SLICE("host"), &found, &err));
		assert_int_equal(err, ERR_INTEGRITY);
		assert_int_equal(lseek(fd, 0, SEEK_END), bytes.n);
		close(fd);
	}
}

static void
vault_refuses_what_is_too_long_or_closed(void **state)
{
	(void)state;
	static uint8_t big[10000];
	int fd = file_with(slice_of(big, sizeof(big)));
	bool found;
	enum err err;

	assert_null(vault_ca(fd, SLICE("host"), &found, &err));
	close(fd);
	assert_null(vault_ca(fd, SLICE("host"), &found, &err));
	assert_int_equal(err, ERR_SYSTEM);
	assert_null(vault_audit_key(fd, &err));
	assert_int_equal(err, ERR_SYSTEM);
}

static void
vault_makes_one_audit_key(void **state)
{
	(void)state;
	int fd = file_with((struct slice){ 0 });
	enum err err;

	struct sign_key *a = vault_audit_key(fd, &err);
	assert_non_null(a);
	assert_int_equal(lseek(fd, 0, SEEK_END), SIGN_PRIVATE_SIZE);
	struct sign_key *b = vault_audit_key(fd, &err);
	assert_non_null(b);
	assert_memory_equal(sign_key_public(a), sign_key_public(b),
	    SIGN_PUBLIC_SIZE);
	sign_key_free(a);
	sign_key_free(b);
	close(fd);

	fd = file_with(SLICE("not a key"));
	assert_null(vault_audit_key(fd, &err));
	assert_int_equal(err, ERR_INTEGRITY);
	close(fd);
}

/* Two runs begin at once: each opened the file by itself. */
static void
vault_audit_key_is_made_under_a_lock(void **state)
{
	(void)state;
	char path[] = "/tmp/duenna-test-key-XXXXXX";
	int made = mkstemp(path);
	uint8_t got[4][SIGN_PUBLIC_SIZE];
	int pipes[4][2];

	assert_true(made >= 0);
	close(made);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pipe(pipes[i]), 0);
		if (fork() == 0) {
			enum err err;
			int fd = open(path, O_RDWR | O_CLOEXEC);
			struct sign_key *key = vault_audit_key(fd, &err);
			if (key == NULL ||
			    write(pipes[i][1], sign_key_public(key),
				SIGN_PUBLIC_SIZE) != SIGN_PUBLIC_SIZE)
				_exit(1);
			_exit(0);
		}
		close(pipes[i][1]);
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(read(pipes[i][0], got[i], SIGN_PUBLIC_SIZE),
		    SIGN_PUBLIC_SIZE);
		close(pipes[i][0]);
		assert_memory_equal(got[0], got[i], SIGN_PUBLIC_SIZE);
	}
	while (wait(NULL) > 0)
		continue;
	unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vault_gives_the_same_ca_again),
		cmocka_unit_test(vault_never_overwrites_what_it_cannot_read),
		cmocka_unit_test(vault_refuses_what_is_too_long_or_closed),
		cmocka_unit_test(vault_makes_one_audit_key),
		cmocka_unit_test(vault_audit_key_is_made_under_a_lock),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
