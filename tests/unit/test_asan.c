/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept for the next use is as freed: in a build with AddressSanitizer
 * whoever touches it dies.  Each touch happens in a child.  Built in such a
 * build alone.
 */
#include <sys/wait.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/secret.h"
#include "net/stream_buf.h"

/* Does a child that reads this byte end by itself? */
static bool
may_touch(const uint8_t *p)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
		uint8_t byte = *(const volatile uint8_t *)p;
		_exit(byte == 0 ? 0 : 42);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) &&
	    (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 42);
}

static void
fill(struct stream_buf *b, size_t n)
{
	uint8_t *p = stream_buf_tail(b, n, LIMIT_BACKLOG_SIZE);

	assert_non_null(p);
	memset(p, 'x', n);
	b->n += n;
}

static void
stream_buf_that_was_released_is_forbidden(void **state)
{
	struct stream_buf b = { 0 };

	(void)state;
	fill(&b, 1000);
	uint8_t *was = b.p;
	assert_true(may_touch(was));
	stream_buf_release(&b, false);
	assert_false(may_touch(was));
	fill(&b, 1000); /* the same memory, for the next one */
	assert_ptr_equal(b.p, was);
	assert_true(may_touch(was));
	stream_buf_release(&b, true);
	assert_false(may_touch(was));
}

static void
stream_bytes_that_were_taken_are_forbidden(void **state)
{
	struct stream_buf b = { 0 };

	(void)state;
	fill(&b, 1000);
	stream_buf_drop(&b, 600);
	assert_false(may_touch(b.p));
	assert_true(may_touch(b.p + 600));
	assert_true(may_touch(b.p + 999));
	fill(&b, LIMIT_BACKLOG_SIZE - 400); /* what is left moves forward */
	assert_int_equal(b.at, 0);
	assert_true(may_touch(b.p));
	stream_buf_release(&b, false);
}

static void
secret_that_was_released_is_forbidden(void **state)
{
	struct secret s;
	enum err err;

	(void)state;
	assert_int_equal(secret_init(&s, SLICE("canary-0"), &err), 0);
	uint8_t *was = s.p;
	assert_true(may_touch(was + 7));
	assert_false(may_touch(was + 8)); /* behind its last byte */
	secret_release(&s);
	assert_false(may_touch(was));
	assert_int_equal(secret_init(&s, SLICE("canary-1"), &err), 0);
	assert_ptr_equal(s.p, was);
	assert_true(may_touch(was));
	secret_release(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_buf_that_was_released_is_forbidden),
		cmocka_unit_test(stream_bytes_that_were_taken_are_forbidden),
		cmocka_unit_test(secret_that_was_released_is_forbidden),
	};

	return cmocka_run_group_tests_name("asan", tests, NULL, NULL);
}
