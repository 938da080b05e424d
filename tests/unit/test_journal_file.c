/* SPDX-License-Identifier: Apache-2.0 */
#include "journal_bed.h"

/*
 * Whoever owns the file may do with it what he likes: then it is no log any
 * more, and what cannot be recorded is not allowed.
 */
static void
journal_takes_nothing_once_its_file_was_changed(void **state UNUSED)
{
	static const char *const how[] = { "emptied", "cut", "longer",
		"removed" };

	for (size_t i = 0; i < COUNT_OF(how); i++) {
		new_file();
		struct journal *j = open_and_start(false);
		int other = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
		struct stat st;
		assert_int_equal(fstat(other, &st), 0);
		print_message("# %s\n", how[i]);
		assert_true(journal_takes(j));
		if (i < 2)
			assert_int_equal(ftruncate(other,
					     i == 0 ? 0 : st.st_size / 2),
			    0);
		else if (i == 2)
			assert_int_equal(write(other, "x", 1), 1);
		else
			unlink(path);
		/* Noticed where nothing is to be written, too. */
		assert_false(journal_flush(j));
		assert_false(journal_takes(j));
		assert_false(put_stop(j));
		assert_false(journal_retry(j));
		assert_false(journal_checkpoint(j));
		assert_int_equal(fstat(other, &st), 0);
		off_t size = st.st_size;
		journal_end_flows(j, NULL, "the end");
		journal_free(j);
		assert_int_equal(fstat(other, &st), 0);
		assert_int_equal(st.st_size, size);
		close(other);
		unlink(path);
	}
}

/* One that is renamed is the same log: rotation is its owner's. */
static void
journal_goes_on_with_a_file_that_was_renamed(void **state UNUSED)
{
	char other[sizeof(path) + 8];

	new_file();
	struct journal *j = open_and_start(false);
	snprintf(other, sizeof(other), "%s.old", path);
	assert_int_equal(rename(path, other), 0);
	assert_true(put_stop(j));
	assert_true(journal_checkpoint(j));
	journal_free(j);
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(read_back(), 3);
	unlink(path);
}

/* LG-06, LG-13 */
static void
journal_goes_on_with_a_log_after_a_crash(void **state UNUSED)
{
	int owner = 0;

	new_file();
	struct journal *j = open_and_start(false);
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "a", &owner));
	assert_true(journal_flush(j));
	journal_free(j);
	int fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "{\"seq\":3,\"ti", 12), 12);
	close(fd);

	/* The same run: the flow is still open, and is the worker's. */
	j = open_and_start(true);
	assert_int_equal(count_lines("recovered: line 3 was cut; its 12 "
				     "bytes (sha256:"),
	    1);
	assert_int_equal(count_lines("\"duenna.repeated\":true"), 1);
	assert_int_equal(count_lines("\"reason\":\"internal\""), 0);
	journal_give_flows(j, &owner);
	journal_end_flows(j, &owner, "gone");
	assert_true(journal_flush(j));
	assert_int_equal(count_lines("\"reason\":\"internal\""), 1);
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "b", &owner));
	assert_true(journal_flush(j));
	journal_free(j);

	/* Another run: what the one before left open is ended first. */
	j = open_and_start(false);
	assert_int_equal(count_lines("\"reason\":\"internal\""), 2);
	assert_int_equal(read_back(), 7);
	journal_free(j);
	unlink(path);
}

/* A file-size limit is as good as a full disk. */
static void
limit_file(rlim_t bytes)
{
	struct rlimit l = { bytes, RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void
journal_that_cannot_write_loses_whole_records_and_counts_them(
    void **state UNUSED)
{
	struct stat st;
	int owner = 0;

	new_file();
	struct journal *j = open_and_start(false);
	assert_int_equal(stat(path, &st), 0);
	limit_file((rlim_t)st.st_size + 250);
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "a", &owner));
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "b", &owner));
	assert_false(journal_flush(j));
	assert_false(journal_takes(j));
	assert_true(journal_is_started(j));
	/* Nothing of them is there, not even the half that fitted. */
	assert_int_equal(read_back(), 1);
	assert_false(put_flow(j, EVENT_FLOW_BEGIN, "c", &owner));
	assert_false(journal_checkpoint(j));
	limit_file((rlim_t)st.st_size + 10);
	assert_false(journal_retry(j));
	limit_file(RLIM_INFINITY);
	assert_true(journal_retry(j));
	assert_true(journal_takes(j));
	assert_int_equal(count_lines("\"event\":\"gap\""), 1);
	assert_int_equal(count_lines("\"duenna.count\":3"), 1);
	assert_true(put_stop(j));
	assert_int_equal(read_back(), 3);
	journal_free(j);
	unlink(path);
}

/* What was blocked is known at the end, whether its record is or not. */
static void
journal_counts_what_it_cannot_write(void **state UNUSED)
{
	struct event e;
	struct stat st;
	int owner = 0;

	new_file();
	struct journal *j = open_and_start(false);
	assert_int_equal(stat(path, &st), 0);
	limit_file((rlim_t)st.st_size + 10);
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "a", &owner));
	assert_false(journal_checkpoint(j));
	assert_int_equal(journal_sum(j).n_lost, 1);
	/* A flow on which a request is refused, its end repeating that. */
	assert_false(put_flow(j, EVENT_FLOW_BEGIN, "b", &owner));
	event_init(&e, EVENT_REQUEST_END);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_FLOW, "b");
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_HTTP_METHOD_DENIED);
	assert_false(journal_put(j, &e, &owner));
	e.kind = EVENT_FLOW_END;
	assert_false(journal_put(j, &e, &owner));
	assert_int_equal(journal_sum(j).n_denied, 1);
	assert_int_equal(journal_sum(j).n_missing, 4);
	limit_file(RLIM_INFINITY);
	assert_true(journal_retry(j));
	assert_int_equal(journal_sum(j).n_lost, 0);
	assert_int_equal(journal_sum(j).n_missing, 4);
	journal_free(j);
	unlink(path);
}

/* A checkpoint is no record of anything: there is no gap. */
static void
journal_that_misses_a_checkpoint_has_no_gap(void **state UNUSED)
{
	struct stat st;
	int owner = 0;

	new_file();
	struct journal *j = open_and_start(false);
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "a", &owner));
	assert_true(journal_flush(j));
	assert_int_equal(stat(path, &st), 0);
	limit_file((rlim_t)st.st_size + 10);
	assert_false(journal_checkpoint(j));
	assert_false(journal_retry(j));
	limit_file(RLIM_INFINITY);
	assert_true(journal_retry(j));
	assert_true(journal_takes(j));
	assert_int_equal(count_lines("\"event\":\"gap\""), 0);
	assert_int_equal(count_lines("\"event\":\"checkpoint\""), 1);
	assert_int_equal(read_back(), 3);
	journal_free(j);
	unlink(path);
}

static void
journal_that_cannot_be_started_is_started_later(void **state UNUSED)
{
	new_file();
	struct journal *j = open_log(false);
	limit_file(100);
	assert_false(journal_start(j, machine, signature));
	assert_false(journal_is_started(j));
	assert_int_equal(read_back(), 0);
	limit_file(RLIM_INFINITY);
	assert_true(journal_start(j, machine, signature));
	assert_int_equal(read_back(), 1);
	journal_free(j);
	unlink(path);
}

static void
journal_does_not_go_on_with_what_is_no_whole_log(void **state UNUSED)
{
	const char *why = NULL;
	enum err err = ERR_NONE;
	int pair[2];

	new_file();
	journal_free(open_and_start(false));
	int fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, "3", 1, 18), 1); /* of the time */
	close(fd);
	assert_null(open_log(false));
	fd = open(path, O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, "my notes\n", 9), 9);
	close(fd);
	assert_null(open_log(false));
	unlink(path);
	assert_int_equal(pipe(pair), 0);
	assert_null(journal_new(pair[0], false, &why, &err));
	assert_string_equal(why, "it is no regular file");
	assert_int_equal(err, ERR_INTEGRITY);
	close(pair[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(journal_goes_on_with_a_log_after_a_crash),
		cmocka_unit_test(
		    journal_takes_nothing_once_its_file_was_changed),
		cmocka_unit_test(journal_goes_on_with_a_file_that_was_renamed),
		cmocka_unit_test(
		    journal_that_cannot_write_loses_whole_records_and_counts_them),
		cmocka_unit_test(journal_counts_what_it_cannot_write),
		cmocka_unit_test(journal_that_misses_a_checkpoint_has_no_gap),
		cmocka_unit_test(
		    journal_that_cannot_be_started_is_started_later),
		cmocka_unit_test(
		    journal_does_not_go_on_with_what_is_no_whole_log),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
