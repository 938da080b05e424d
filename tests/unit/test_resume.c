/* SPDX-License-Identifier: Apache-2.0 */
/* A long log is gone on with from its end, if that is as it should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/journal.h"

static char path[] = "/tmp/duenna-resume-XXXXXX";

static struct journal *
open_log(const char **why)
{
	enum err err = ERR_NONE;

	*why = "";
	return journal_new(open(path, O_RDWR | O_APPEND | O_CLOEXEC), false,
	    why, &err);
}

/* A log of twice the tail. */
static int
set_up(void **state UNUSED)
{
	static const uint8_t machine[SIGN_PUBLIC_SIZE], signature[SIGN_SIZE];
	static char text[EVENT_TEXT_MAX + 1];
	struct event e;
	struct stat st = { 0 };
	const char *why;

	snprintf(path, sizeof(path), "/tmp/duenna-resume-XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	struct journal *j = open_log(&why);
	assert_non_null(j);
	assert_true(journal_start(j, machine, signature));
	memset(text, 'x', sizeof(text) - 1);
	event_init(&e, EVENT_ALARM);
	event_str(&e, FIELD_DETAIL, text);
	while (st.st_size < 2 * RESUME_TAIL) {
		for (int i = 0; i < 100; i++)
			assert_true(journal_put(j, &e, NULL));
		assert_true(journal_flush(j));
		assert_int_equal(fstat(fd, &st), 0);
	}
	event_init(&e, EVENT_STOP);
	assert_true(journal_put(j, &e, NULL));
	assert_true(journal_checkpoint(j));
	journal_free(j);
	close(fd);
	return 0;
}

static int
tear_down(void **state UNUSED)
{
	unlink(path);
	return 0;
}

static off_t
size_of_log(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* One sign of a text, near that place. */
static void
spoil(off_t at)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char c = 0;

	while (c != 'x') {
		assert_int_equal(pread(fd, &c, 1, at), 1);
		at++;
	}
	assert_int_equal(pwrite(fd, "y", 1, at - 1), 1);
	close(fd);
}

static bool
goes_on(void)
{
	static const uint8_t machine[SIGN_PUBLIC_SIZE], signature[SIGN_SIZE];
	const char *why;
	struct journal *j = open_log(&why);
	bool good = j != NULL && journal_start(j, machine, signature);

	if (!good)
		print_message("# %s\n", why);
	journal_free(j);
	return good;
}

/* What the chain says at its end; the records are numbered on. */
static uint64_t
last_number(void)
{
	static char line[LINE_SIZE_MAX];
	uint64_t seq = 0;
	FILE *f = fopen(path, "re");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		seq = strtoull(line + 7, NULL, 10);
	fclose(f);
	return seq;
}

static void
a_log_that_ended_is_read_at_its_tail(void **state UNUSED)
{
	uint64_t last = last_number();

	/* Far before it: `audit verify` finds that, this does not look. */
	spoil(1000);
	assert_true(goes_on());
	assert_int_equal(last_number(), last + 1);
}

static void
its_tail_must_be_whole(void **state UNUSED)
{
	spoil(size_of_log() - RESUME_TAIL / 2);
	assert_false(goes_on());
}

static void
one_that_did_not_end_is_read_whole(void **state UNUSED)
{
	assert_true(goes_on()); /* now it ends in `start` */
	spoil(1000);
	assert_false(goes_on());
}

static void
one_that_is_torn_is_read_whole(void **state UNUSED)
{
	uint64_t last = last_number();
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_int_equal(write(fd, "{\"seq\":", 7), 7);
	close(fd);
	assert_true(goes_on());
	assert_int_equal(last_number(), last + 1);
}

/* Whoever reads it in steps comes to the same. */
static void
steps_lead_to_the_same_end(void **state UNUSED)
{
	const char *why;
	enum err err = ERR_NONE;
	enum resume_step step;
	size_t n = 0;
	struct journal *j =
	    journal_open(open(path, O_RDWR | O_APPEND | O_CLOEXEC), true, &why,
		&err);

	assert_non_null(j);
	assert_false(journal_is_read(j));
	while ((step = journal_read(j, 100000, &why)) == RESUME_MORE)
		n++;
	assert_int_equal(step, RESUME_DONE);
	assert_true(journal_is_read(j));
	assert_true(n > 2 * RESUME_TAIL / 400000);
	char hash[LINE_HASH_HEX + 1];
	memcpy(hash, journal_sum(j).hash, sizeof(hash));
	journal_free(j);
	j = open_log(&why);
	assert_string_equal(journal_sum(j).hash, hash);
	journal_free(j);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(a_log_that_ended_is_read_at_its_tail),
		T(its_tail_must_be_whole),
		T(one_that_did_not_end_is_read_whole),
		T(one_that_is_torn_is_read_whole),
		T(steps_lead_to_the_same_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
