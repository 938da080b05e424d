/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "audit/reader.h"

/* A file with this content, read from its start. */
static int
file_of(const char *text, size_t n)
{
	FILE *f = tmpfile();
	int fd = dup(fileno(f));

	assert_true(write(fd, text, n) == (ssize_t)n);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	fclose(f);
	return fd;
}

static void
reader_gives_lines_and_says_how_the_last_ends(void **state UNUSED)
{
	static const char text[] = "one\n\ntwo\r\nlast";
	struct reader r;
	struct slice line;
	int fd = file_of(text, sizeof(text) - 1);

	reader_init(&r, fd);
	assert_int_equal(reader_take(&r, &line), READER_LINE);
	assert_true(slice_eq_str(line, "one"));
	assert_int_equal(r.offset, 0);
	assert_int_equal(reader_take(&r, &line), READER_LINE);
	assert_int_equal(line.n, 0);
	assert_int_equal(reader_take(&r, &line), READER_LINE);
	assert_true(slice_eq_str(line, "two\r"));
	assert_int_equal(r.offset, 5);
	assert_int_equal(r.next, 10);
	assert_int_equal(reader_take(&r, &line), READER_CUT);
	assert_true(slice_eq_str(line, "last"));
	assert_int_equal(reader_take(&r, &line), READER_END);
	assert_int_equal(reader_take(&r, &line), READER_END);
	reader_release(&r);
	close(fd);
}

static void
reader_says_once_that_a_line_is_too_long(void **state UNUSED)
{
	size_t n = 3 * (size_t)LINE_SIZE_MAX;
	char *text = malloc(n + 6);
	struct reader r;
	struct slice line;

	memset(text, 'x', n);
	memcpy(text + n, "\nnext\n", 6);
	int fd = file_of(text, n + 6);
	reader_init(&r, fd);
	assert_int_equal(reader_take(&r, &line), READER_LONG);
	assert_int_equal(reader_take(&r, &line), READER_LINE);
	assert_true(slice_eq_str(line, "next"));
	assert_int_equal(reader_take(&r, &line), READER_END);
	assert_int_equal(r.next, n + 6);
	reader_release(&r);
	close(fd);
	free(text);
}

static void
reader_reads_on_in_a_file_that_grows(void **state UNUSED)
{
	struct reader r;
	struct slice line;
	int fd = file_of("", 0);

	reader_init(&r, fd);
	assert_int_equal(reader_take(&r, &line), READER_END);
	assert_int_equal(pwrite(fd, "a\n", 2, 0), 2);
	assert_int_equal(reader_take(&r, &line), READER_LINE);
	assert_true(slice_eq_str(line, "a"));
	reader_release(&r);
	close(fd);
}

static void
reader_says_that_a_file_cannot_be_read(void **state UNUSED)
{
	struct reader r;
	struct slice line;

	reader_init(&r, -1);
	assert_int_equal(reader_take(&r, &line), READER_FAILED);
	reader_release(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reader_gives_lines_and_says_how_the_last_ends),
		cmocka_unit_test(reader_says_once_that_a_line_is_too_long),
		cmocka_unit_test(reader_reads_on_in_a_file_that_grows),
		cmocka_unit_test(reader_says_that_a_file_cannot_be_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
