/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include "audit_bed.h"

static const char policy[] = "version: 1\n"
			     "policies:\n"
			     "  agent:\n"
			     "    rules:\n"
			     "      - name: hello\n"
			     "        allow: https://api.test/hello/**\n";

static char log_path[512], hash[LINE_HASH_HEX + 1];

static void
write_log(const char *path, bool stops)
{
	struct journal *j = log_begin(path);

	log_flow(j, EVENT_FLOW_BEGIN);
	log_flow(j, EVENT_DIAL);
	log_request(j, "GET", "https://api.test/hello/you");
	log_request(j, "DELETE", "https://api.test/hello/you");
	log_request(j, "GET", "https://evil.test/\x1b[2Jx");
	log_flow(j, EVENT_FLOW_END);
	log_end(j, stops, hash);
}

static int
set_up(void **state UNUSED)
{
	char path[512];

	audit_bed_init(policy);
	snprintf(log_path, sizeof(log_path),
	    "%s/duenna/log/2026-11-30T090807Z-build-1.jsonl", home);
	snprintf(path, sizeof(path), "%s/open.jsonl", home);
	write_log(path, false);
	write_log(log_path, true);
	return 0;
}

static int
tear_down(void **state UNUSED)
{
	audit_bed_release();
	return 0;
}

/* A copy of the log with one text replaced, once; NULL: the path of none. */
static void
spoil(const char *old, const char *new, char path[256])
{
	static char text[65536];
	int fd = open(log_path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	char *at;

	close(fd);
	assert_true(n > 0);
	text[n] = '\0';
	at = strstr(text, old);
	assert_non_null(at);
	assert_int_equal(strlen(old), strlen(new));
	memcpy(at, new, strlen(new));
	snprintf(path, 256, "%s/spoilt.jsonl", home);
	write_file(path, slice_of_str(text));
}

static void
show_is_a_table_of_what_was_decided(void **state UNUSED)
{
	assert_int_equal(audit("show", log_path, NULL), 0);
	assert_true(says("reason"));
	assert_true(says("hello  GET https://api.test/hello/you"));
	assert_true(says("http.method_denied"));
	assert_false(says("checkpoint"));
	/* LG-05 */
	assert_null(strchr(out, '\x1b'));
	assert_true(says("\\x1b[2Jx"));
	size_t short_one = count_lines();
	assert_int_equal(audit("show", "--last", "--all", NULL), 0);
	assert_true(says("checkpoint"));
	assert_true(count_lines() > short_one);
	assert_int_equal(audit("show", "--verdict", "deny", NULL), 0);
	assert_int_equal(count_lines(), 3);
	assert_int_equal(audit("show", "--reason", "http.method_denied", NULL),
	    0);
	assert_int_equal(count_lines(), 2);
	assert_int_equal(audit("show", "--sandbox", "other", NULL), 1);
	assert_int_equal(count_lines(), 1);
	assert_int_equal(audit("show", "--json", "--verdict", "allow", NULL),
	    0);
	assert_true(says("\"event\":\"request.end\""));
	assert_int_equal(out[0], '{');
}

/* Two runs of one second: the name does not tell which was the later one. */
static void
the_newest_log_is_the_one_written_last(void **state UNUSED)
{
	struct timespec before[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	char path[512];

	snprintf(path, sizeof(path),
	    "%s/duenna/log/2026-11-30T090807Z-zzz.jsonl", home);
	write_file(path, SLICE(""));
	assert_int_equal(utimensat(AT_FDCWD, path, before, 0), 0);
	assert_int_equal(audit("show", NULL), 0);
	assert_true(says("https://api.test/hello/you"));
	assert_int_equal(unlink(path), 0);
}

static void
verify_holds_for_a_whole_log_and_its_key(void **state UNUSED)
{
	char path[256];

	assert_int_equal(audit("verify", NULL), 0);
	assert_true(says("9 records, 0 problems\n"));
	assert_true(says("all are under a signed checkpoint\n"));
	assert_true(says("by this machine's key\n"));
	assert_true(says(hash));
	assert_int_equal(audit("verify", "--key", key_text, "--hash", hash,
			     NULL),
	    0);
	snprintf(path, sizeof(path), "%s/key", home);
	write_file(path, slice_of_str(key_text));
	assert_int_equal(audit("verify", "--key", path, NULL), 0);
	assert_int_equal(audit("key", NULL), 0);
	assert_memory_equal(out, key_text, 64);
	assert_int_equal(audit("verify", "--json", NULL), 0);
	assert_true(says("{\"problems\":[],\"records\":9,"));
}

static void
verify_fails_for_a_fault_another_key_and_a_missing_end(void **state UNUSED)
{
	char path[256],
	    other[] =
		"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

	spoil("/hello/you", "/hello/yOU", path);
	assert_int_equal(audit("verify", path, NULL), 1);
	assert_true(says("record 4: the hash does not fit"));
	assert_int_equal(audit("verify", "--json", path, NULL), 1);
	assert_true(says("{\"line\":4,\"seq\":4,"));
	assert_int_equal(audit("verify", "--key", other, NULL), 1);
	assert_true(says("another machine's key"));
	assert_int_equal(audit("verify", "--hash", other, NULL), 1);
	assert_int_equal(audit("verify", "/nowhere", NULL), 1);
	snprintf(path, sizeof(path), "%s/open.jsonl", home);
	assert_int_equal(audit("verify", path, NULL), 1);
	assert_true(says("does not end in `stop`"));
	assert_int_equal(audit("verify", "--open", path, NULL), 0);
}

/* Each run has a key of its own; the chain is one. */
static void
verify_tells_runs_apart(void **state UNUSED)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/runs.jsonl", home);
	write_log(path, true);
	write_log(path, true);
	assert_int_equal(audit("verify", path, NULL), 0);
	assert_true(says("18 records of 2 runs, 0 problems\n"));
	assert_true(says("all are under a signed checkpoint\n"));
	struct journal *j = log_begin(path);
	log_flow(j, EVENT_FLOW_BEGIN);
	assert_true(journal_flush(j));
	journal_free(j);
	/* Killed: what it wrote last is under no checkpoint. */
	assert_int_equal(audit("verify", path, NULL), 1);
	assert_true(says("from record 19 on there is none\n"));
	/* The next run ends its flow; its checkpoint covers all, but later. */
	log_end(log_begin(path), true, hash);
	assert_int_equal(audit("verify", path, NULL), 1);
	assert_true(says("record 21: the run before it does not end in "
			 "`stop`: duenna was killed"));
	assert_true(says("24 records of 4 runs, 1 problem\n"));
	assert_true(says("records 19 to 20 were under none when the key of "
			 "the log changed\n"));
	assert_int_equal(audit("verify", "--open", path, NULL), 0);
	assert_true(says("all are under a signed checkpoint\n"));
	assert_int_equal(audit("verify", "--open", "--json", path, NULL), 0);
	assert_true(says("\"runs\":4,\"open_runs\":1,"));
	assert_true(says("\"late\":1,"));
}

static void
replay_decides_every_record_again(void **state UNUSED)
{
	char path[256];

	assert_int_equal(audit("replay", NULL), 0);
	assert_true(says("3 records decided again, 0 differ\n"));
	spoil("http.method_denied", "http.host_mismatch", path);
	assert_int_equal(audit("replay", path, NULL), 1);
	assert_true(says("record 5: its facts give deny, http.method_denied; "
			 "it says deny, http.host_mismatch"));
	spoil("\"verdict\":\"deny\"", "\"verdict\":\"den'\"", path);
	assert_int_equal(audit("replay", path, NULL), 1);
	assert_true(says("record 5: its facts cannot be read"));
	spoil("\"event\":\"dial\"", "\"event\":\"dill\"", path);
	assert_int_equal(audit("replay", path, NULL), 1);
	assert_true(says("line 3: no record"));
	spoil("DELETE", "OPTION", path);
	assert_int_equal(audit("replay", path, NULL), 0);
	spoil("/hello/you", "/hollo/you", path);
	assert_int_equal(audit("replay", path, NULL), 1);
	assert_true(says("record 4: its facts give deny, http.path_denied; it "
			 "says allow, allow"));
	assert_int_equal(audit("replay", "--json", path, NULL), 1);
	assert_true(says("{\"seq\":4,\"problem\":\""));
	assert_true(says("\"decided\":3,\"different\":1,"));
	assert_int_equal(audit("replay", "--programs", home, NULL), 1);
	assert_true(says("3 records not decided: no program sha256:"));
}

static void
replay_takes_no_program_that_is_not_the_one_named(void **state UNUSED)
{
	char path[512], folder[256];

	make_folder("false", folder);
	snprintf(path, sizeof(path), "%s/sha256-%s", folder, digest + 7);
	write_file(path, SLICE("another"));
	assert_int_equal(audit("replay", "--programs", folder, NULL), 1);
	assert_true(says("3 records not decided"));
}

static void
wrong_usage_is_2(void **state UNUSED)
{
	assert_int_equal(audit(NULL, NULL), 2);
	assert_int_equal(audit("shew", NULL), 2);
	assert_int_equal(audit("show", "a", "b", NULL), 2);
	assert_int_equal(audit("show", "--reason", "because", NULL), 2);
	assert_int_equal(audit("show", "--verdict", "maybe", NULL), 2);
	assert_int_equal(audit("show", "--colour", NULL), 2);
	assert_int_equal(audit("verify", "--key", "abc", NULL), 2);
	assert_int_equal(audit("verify", "--hash", "abc", NULL), 2);
	assert_int_equal(audit("key", "x", NULL), 2);
	assert_int_equal(audit("--help", NULL), 0);
	assert_true(says("usage: duenna audit show"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(show_is_a_table_of_what_was_decided),
		cmocka_unit_test(the_newest_log_is_the_one_written_last),
		cmocka_unit_test(verify_holds_for_a_whole_log_and_its_key),
		cmocka_unit_test(
		    verify_fails_for_a_fault_another_key_and_a_missing_end),
		cmocka_unit_test(verify_tells_runs_apart),
		cmocka_unit_test(replay_decides_every_record_again),
		cmocka_unit_test(
		    replay_takes_no_program_that_is_not_the_one_named),
		cmocka_unit_test(wrong_usage_is_2),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
