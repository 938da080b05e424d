/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include "audit/journal.h"
#include "audit/reader.h"
#include "base/clock.h"

static const uint8_t machine[SIGN_PUBLIC_SIZE], signature[SIGN_SIZE];
static char path[] = "/tmp/duenna-journal-XXXXXX";

static void
new_file(void)
{
	memset(path + sizeof(path) - 7, 'X', 6);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
}

static struct journal *
open_log(bool again)
{
	const char *why = NULL;
	enum err err = ERR_NONE;
	int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	struct journal *j = journal_new(fd, again, &why, &err);

	if (j == NULL)
		print_message("# %s\n", why);
	return j;
}

static struct journal *
open_and_start(bool again)
{
	struct journal *j = open_log(again);

	assert_non_null(j);
	assert_true(journal_start(j, machine, signature));
	return j;
}

static size_t
count_lines(const char *part)
{
	FILE *f = fopen(path, "r");
	char line[4096];
	size_t n = 0;

	while (fgets(line, sizeof(line), f) != NULL)
		n += strstr(line, part) != NULL ? 1 : 0;
	fclose(f);
	return n;
}

static bool
put_flow(struct journal *j, enum event_kind kind, const char *flow,
    const void *owner)
{
	struct event e;

	event_init(&e, kind);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_FLOW, flow);
	if (kind == EVENT_FLOW_END)
		event_reason(&e, REASON_ALLOW);
	return journal_put(j, &e, owner);
}

static bool
put_stop(struct journal *j)
{
	struct event e;

	event_init(&e, EVENT_STOP);
	return journal_put(j, &e, NULL) && journal_flush(j);
}

/* Read back, the chain followed: how many records.  Fails on any fault. */
static uint64_t
read_back(void)
{
	const char *detail;
	enum err err = ERR_NONE;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct chain chain;
	struct reader r;
	struct buf store;
	struct slice in;
	struct line l;
	enum reader_got got;

	assert_int_equal(chain_init(&chain, &err), 0);
	reader_init(&r, fd);
	buf_init(&store, LINE_SIZE_MAX + 1);
	while ((got = reader_take(&r, &in)) == READER_LINE) {
		assert_true(line_read(in, &store, &l, &detail));
		assert_int_equal(l.seq, chain.end.seq + 1);
		assert_true(chain_fits(&chain, &l));
		chain_follow(&chain, &l);
	}
	assert_int_equal(got, READER_END);
	uint64_t n = chain.end.seq;
	chain_release(&chain);
	reader_release(&r);
	buf_release(&store);
	close(fd);
	return n;
}

static void
journal_writes_what_was_put_at_a_flush(void **state UNUSED)
{
	int owner = 0;

	new_file();
	struct journal *j = open_log(false);
	assert_false(journal_is_started(j));
	assert_false(put_flow(j, EVENT_FLOW_BEGIN, "a", &owner));
	assert_true(journal_start(j, machine, signature));
	assert_true(journal_takes(j));
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "a", &owner));
	assert_true(put_flow(j, EVENT_FLOW_END, "a", &owner));
	assert_true(journal_waits(j) > 0);
	assert_int_equal(read_back(), 1);
	assert_true(journal_flush(j));
	assert_int_equal(read_back(), 3);
	journal_free(j);
	journal_free(NULL);
	unlink(path);
}

static void
journal_checkpoints_once_what_is_new(void **state UNUSED)
{
	new_file();
	struct journal *j = open_and_start(false);
	assert_true(journal_checkpoint(j));
	assert_true(journal_checkpoint(j));
	assert_int_equal(count_lines("\"event\":\"checkpoint\""), 1);
	assert_true(put_stop(j));
	assert_true(journal_checkpoint(j));
	assert_int_equal(count_lines("\"event\":\"checkpoint\""), 2);
	journal_free(j);
	unlink(path);
}

static void
journal_ends_the_flows_of_a_worker_that_is_gone(void **state UNUSED)
{
	int one = 0, two = 0;

	new_file();
	struct journal *j = open_and_start(false);
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "a", &one));
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "b", &two));
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "c", &one));
	assert_true(put_flow(j, EVENT_FLOW_END, "c", &one));
	assert_true(journal_has_flows(j));
	journal_end_flows(j, &one, "gone");
	assert_true(journal_flush(j));
	assert_int_equal(count_lines("\"reason\":\"internal\""), 1);
	journal_end_flows(j, NULL, "the end");
	assert_false(journal_has_flows(j));
	assert_true(journal_flush(j));
	assert_int_equal(count_lines("\"reason\":\"internal\""), 2);
	assert_int_equal(read_back(), 7);
	journal_free(j);
	unlink(path);
}

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

static void
journal_counts_denials_and_alarms_of_its_run(void **state UNUSED)
{
	struct event e;

	new_file();
	struct journal *j = open_and_start(false);
	event_init(&e, EVENT_DNS);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_DNS_DENIED);
	assert_true(journal_put(j, &e, NULL));
	event_number(&e, FIELD_COUNTED, 40);
	assert_true(journal_put(j, &e, NULL));
	/* A connection on which something was refused says so at its end. */
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "w0-1", NULL));
	event_init(&e, EVENT_REQUEST_END);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_FLOW, "w0-1");
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_TLS_SNI_DENIED);
	assert_true(journal_put(j, &e, NULL));
	e.kind = EVENT_FLOW_END;
	assert_true(journal_put(j, &e, NULL));
	event_str(&e, FIELD_FLOW, "w0-2");
	assert_true(journal_put(j, &e, NULL));
	/* What the sandbox gave up itself was not blocked. */
	event_reason(&e, REASON_CLIENT_ABORT);
	assert_true(journal_put(j, &e, NULL));
	event_init(&e, EVENT_ALARM);
	event_str(&e, FIELD_DETAIL, "look");
	assert_true(journal_put(j, &e, NULL));
	assert_true(put_stop(j));
	assert_int_equal(journal_sum(j).n_denied, 43);
	assert_int_equal(journal_sum(j).n_alarms, 1);
	journal_free(j);
	j = open_log(true);
	assert_int_equal(journal_sum(j).n_denied, 43);
	journal_free(j);
	j = open_log(false);
	assert_int_equal(journal_sum(j).n_denied, 0);
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

/* DO-15: the order of a log is its numbers and its chain, not its times. */
static void
journal_goes_on_when_the_wall_clock_is_set(void **state UNUSED)
{
	static const uint64_t walls[] = { 1700000000000000, 1700086400000000,
		1699913600000000, 1, 1700000000000000 };
	int owner = 0;

	new_file();
	struct journal *j = open_and_start(false);
	for (size_t i = 0; i < COUNT_OF(walls); i++) {
		clock_set(0, walls[i]);
		assert_true(put_flow(j, EVENT_FLOW_BEGIN, "a", &owner));
		assert_true(put_flow(j, EVENT_FLOW_END, "a", &owner));
		assert_true(journal_flush(j));
		assert_true(journal_checkpoint(j));
	}
	clock_set(0, 0);
	journal_free(j);
	assert_int_equal(read_back(), 1 + 3 * COUNT_OF(walls));
	assert_int_equal(count_lines(
			     "\"time\":\"1970-01-01T00:00:00.000001Z\""),
	    3);
	j = open_and_start(true);
	assert_true(put_stop(j));
	journal_free(j);
	unlink(path);
}

/* DO-18: of a flow that is over, or never began, nothing is kept. */
static void
journal_keeps_nothing_of_denied_requests(void **state UNUSED)
{
	size_t before = 0;
	int owner = 0;
	struct event e;
	char flow[16];

	new_file();
	struct journal *j = open_and_start(false);
	for (unsigned i = 0; i < 3000; i++) {
		bool begins = i % 3 != 0;
		if (i == 1000)
			before = mallinfo2().uordblks;
		snprintf(flow, sizeof(flow), "f%04u", i);
		if (begins)
			assert_true(
			    put_flow(j, EVENT_FLOW_BEGIN, flow, &owner));
		event_init(&e, EVENT_REQUEST_END);
		event_str(&e, FIELD_SANDBOX, "s");
		event_str(&e, FIELD_FLOW, flow);
		event_str(&e, FIELD_VERDICT, "deny");
		event_str(&e, FIELD_REASON, "http.path_denied");
		assert_true(journal_put(j, &e, &owner));
		if (i % 3 == 1)
			assert_true(put_flow(j, EVENT_FLOW_END, flow, &owner));
		else if (begins)
			journal_end_flows(j, &owner, "worker is gone");
		assert_true(journal_flush(j));
	}
	assert_int_equal(mallinfo2().uordblks, before);
	assert_int_equal(journal_sum(j).n_denied, 3000);
	journal_free(j);
	unlink(path);
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
		cmocka_unit_test(journal_writes_what_was_put_at_a_flush),
		cmocka_unit_test(journal_checkpoints_once_what_is_new),
		cmocka_unit_test(
		    journal_ends_the_flows_of_a_worker_that_is_gone),
		cmocka_unit_test(journal_goes_on_with_a_log_after_a_crash),
		cmocka_unit_test(
		    journal_takes_nothing_once_its_file_was_changed),
		cmocka_unit_test(journal_goes_on_with_a_file_that_was_renamed),
		cmocka_unit_test(journal_counts_denials_and_alarms_of_its_run),
		cmocka_unit_test(journal_goes_on_when_the_wall_clock_is_set),
		cmocka_unit_test(journal_keeps_nothing_of_denied_requests),
		cmocka_unit_test(
		    journal_that_cannot_write_loses_whole_records_and_counts_them),
		cmocka_unit_test(
		    journal_that_cannot_be_started_is_started_later),
		cmocka_unit_test(
		    journal_does_not_go_on_with_what_is_no_whole_log),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
