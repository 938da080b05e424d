/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "priv/control_carry.h"

static uint8_t large[MSG_BODY_MAX + 1];

static void
a_small_body_is_in_the_message(void **state)
{
	(void)state;
	struct msg m = { 0 };
	struct buf out;
	enum err err = ERR_NONE;

	buf_init(&out, sizeof(large));
	assert_int_equal(control_carry_put(&m, slice_of(large, MSG_BODY_MAX),
			     &err),
	    0);
	assert_int_equal(m.n_fds, 0);
	assert_int_equal(control_carry_take(&m, &out, &err), 0);
	assert_int_equal(out.n, MSG_BODY_MAX);
	buf_release(&out);
}

static void
a_large_one_is_beside_it_and_is_gone_once_read(void **state)
{
	(void)state;
	struct msg m = { 0 };
	struct buf out;
	struct stat st;
	enum err err = ERR_NONE;

	memset(large, 'x', sizeof(large));
	buf_init(&out, sizeof(large));
	assert_int_equal(control_carry_put(&m, slice_of(large, sizeof(large)),
			     &err),
	    0);
	assert_int_equal(m.n_fds, 1);
	assert_int_equal(m.body.n, 0);
	int kept = dup(m.fds[0]);
	assert_int_equal(control_carry_take(&m, &out, &err), 0);
	assert_true(slice_eq(buf_slice(&out), slice_of(large, sizeof(large))));
	assert_int_equal(m.fds[0], -1);
	assert_int_equal(fstat(kept, &st), 0);
	assert_int_equal(st.st_size, 0);
	close(kept);
	buf_release(&out);
}

static void
refused(struct msg *m, size_t max)
{
	struct buf out;
	enum err err = ERR_NONE;

	buf_init(&out, max);
	assert_int_equal(control_carry_take(m, &out, &err), -1);
	assert_int_equal(err, ERR_MESSAGE);
	assert_int_equal(m->fds[0], -1);
	buf_release(&out);
}

static void
what_is_no_memory_is_refused(void **state)
{
	(void)state;
	struct msg m = { .n_fds = 1 };
	int pair[2];

	assert_int_equal(pipe(pair), 0);
	m.fds[0] = pair[0];
	refused(&m, 100);
	close(pair[1]);
	m.fds[0] = open("/proc/self/status", O_RDONLY);
	refused(&m, 100);
}

static void
what_is_too_large_or_comes_twice_is_refused(void **state)
{
	(void)state;
	struct msg m = { .n_fds = 1 };

	m.fds[0] = memfd_create("x", MFD_CLOEXEC);
	assert_int_equal(ftruncate(m.fds[0], 101), 0);
	refused(&m, 100);
	m.fds[0] = memfd_create("x", MFD_CLOEXEC);
	m.body = SLICE("x");
	refused(&m, 100);
}

static void
a_file_that_cannot_be_emptied_is_refused(void **state)
{
	(void)state;
	struct msg m = { .n_fds = 1 };

	m.fds[0] = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(write(m.fds[0], "abc", 3), 3);
	assert_int_equal(fcntl(m.fds[0], F_ADD_SEALS, F_SEAL_SHRINK), 0);
	refused(&m, 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_body_is_in_the_message),
		cmocka_unit_test(
		    a_large_one_is_beside_it_and_is_gone_once_read),
		cmocka_unit_test(what_is_no_memory_is_refused),
		cmocka_unit_test(what_is_too_large_or_comes_twice_is_refused),
		cmocka_unit_test(a_file_that_cannot_be_emptied_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
