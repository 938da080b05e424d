/* SPDX-License-Identifier: Apache-2.0 */
/* Which records are shown, which are followed, how they are grouped. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit_bed.h"
#include "base/clock.h"

static const char policy[] = "version: 1\n"
			     "policies:\n"
			     "  agent:\n"
			     "    rules:\n"
			     "      - name: hello\n"
			     "        allow: https://api.test/hello/**\n";

#define HOUR_US UINT64_C(3600000000)
#define NOON_US UINT64_C(1796040000000000) /* 2026-11-30T12:00:00Z */

static char path[512];

/* An hour between each two requests. */
static void
write_log(void)
{
	struct journal *j;
	struct event e;
	char hash[LINE_HASH_HEX + 1];

	clock_set(1, NOON_US);
	j = log_begin(path);
	log_flow(j, EVENT_FLOW_BEGIN);
	log_flow(j, EVENT_DIAL);
	log_request(j, "GET", "https://api.test/hello/you");
	clock_set(1, NOON_US + HOUR_US);
	log_request(j, "DELETE", "https://api.test/hello/you");
	log_question(j, "evil.test", 1);
	log_question(j, "evil.test", 28);
	log_request(j, "GET", "https://evil.test/a");
	log_request(j, "POST", "https://evil.test/b");
	clock_set(1, NOON_US + 2 * HOUR_US);
	log_question(j, "only.asked.test", 1);
	log_question(j, "only.asked.test", 28);
	log_flow(j, EVENT_FLOW_END);
	/* The client left. */
	event_init(&e, EVENT_FLOW_END);
	event_str(&e, FIELD_SANDBOX, "build-2");
	event_str(&e, FIELD_FLOW, "w0-2");
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_CLIENT_ABORT);
	log_event(j, &e);
	log_end(j, true, hash);
	clock_set(0, 0);
}

static int
set_up(void **state UNUSED)
{
	audit_bed_init(policy);
	snprintf(path, sizeof(path), "%s/duenna/log/2026-a.jsonl", home);
	write_log();
	return 0;
}

static int
tear_down(void **state UNUSED)
{
	audit_bed_release();
	return 0;
}

static void
filters_say_which_records_are_shown(void **state UNUSED)
{
	static const struct {
		const char *args[7];
		size_t rows;
	} cases[] = {
		{ { "--denied" }, 8 },
		{ { "--verdict", "deny" }, 8 },
		{ { "--verdict", "allow" }, 2 },
		{ { "--event", "dns" }, 4 },
		{ { "--event", "dns", "--event", "start" }, 5 },
		{ { "--event", "dial" }, 1 },
		{ { "--reason", "dns.denied" }, 4 },
		{ { "--reason", "dns.denied", "--reason",
		      "http.method_denied" },
		    5 },
		{ { "--rule", "hello" }, 1 },
		{ { "--rule", "nobody" }, 0 },
		{ { "--host", "evil.test" }, 4 },
		{ { "--host", "EVIL.test" }, 4 },
		{ { "--host", "*.asked.test" }, 2 },
		{ { "--host", "*.test", "--event", "dns" }, 4 },
		{ { "--sandbox", "build-2" }, 1 },
		{ { "--flow", "w0-1", "--denied" }, 3 },
		{ { "--since", "2026-11-30T13:30Z", "--denied" }, 3 },
		{ { "--since", "2026-11-30T13:00:00Z", "--until",
		      "2026-11-30T14:00:00.000000Z" },
		    5 },
		{ { "--until", "2026-11-30" }, 0 },
		{ { "--since", "30m", "--denied" }, 3 },
		{ { "--since", "999999d", "--denied" }, 8 },
		{ { "--denied", "--limit", "2" }, 2 },
		{ { "--host", "evil.test", "--event", "request.end", "--reason",
		      "tls.sni_denied" },
		    2 },
	};

	clock_set(1, NOON_US + 2 * HOUR_US + HOUR_US / 4);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *const *a = cases[i].args;
		print_message("# %s %s\n", a[0], a[1] == NULL ? "" : a[1]);
		assert_int_equal(audit("show", "--no-follow", "--json", a[0],
				     a[1], a[2], a[3], a[4], a[5], NULL),
		    cases[i].rows == 0 ? 1 : 0);
		assert_int_equal(count_lines(), cases[i].rows);
	}
	clock_set(0, 0);
}

/* What a status of 200 or a count alone would say wrongly. */
static void
a_row_says_what_a_gap_and_another_status_are(void **state UNUSED)
{
	char hash[LINE_HASH_HEX + 1], file[256];
	struct event e;

	snprintf(file, sizeof(file), "%s/duenna/log/2025-b.jsonl", home);
	struct journal *j = log_begin(file);
	event_init(&e, EVENT_GAP);
	event_number(&e, FIELD_COUNTED, 4);
	log_event(j, &e);
	event_init(&e, EVENT_FLOW_END);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_HTTP_PATH_DENIED);
	event_number(&e, FIELD_STATUS, 200);
	event_number(&e, FIELD_GRPC_STATUS, 7);
	log_event(j, &e);
	event_init(&e, EVENT_REQUEST_END);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_GIT_REF);
	event_str(&e, FIELD_HOST, "git.test");
	event_str(&e, FIELD_PATH, "/a/b/git-receive-pack");
	event_number(&e, FIELD_STATUS, 200);
	log_event(j, &e);
	log_end(j, true, hash);
	assert_int_equal(audit("show", "--no-follow", "--all", file, NULL), 0);
	assert_true(says("git-receive-pack -> refused, by a report"));
	assert_true(says("gap, records missing: 4"));
	assert_false(says("gap x4"));
	assert_true(says("flow.end -> gRPC 7"));
	assert_false(says("-> 200"));
	unlink(file);
}

static void
a_value_that_is_none_is_2_with_the_closed_list(void **state UNUSED)
{
	static const char *const cases[][3] = {
		{ "--event", "request.ends", "did you mean `request.end`?" },
		{ "--event", "request.ends", "checkpoint" },
		{ "--reason", "http.method", "dns.denied" },
		{ "--reason", "dns.denid", "did you mean `dns.denied`?" },
		{ "--reason", "\x1b[2J", "\\x1b[2J" },
		{ "--verdict", "deni", "did you mean `deny`?" },
		{ "--since", "yesterday", "2026-11-30T09:08:07Z" },
		{ "--since", "2026-11-30T09:08:07", "in UTC" },
		{ "--since", "2026-13-30", "in UTC" },
		{ "--until", "10", "15m" },
		{ "--until", "10w", "15m" },
		{ "--until", "99999999999999999999s", "15m" },
		{ "--limit", "0", "above 0" },
		{ "--limit", "3x", "above 0" },
	};
	char text[4096], file[256];
	int kept = dup(STDERR_FILENO);

	snprintf(file, sizeof(file), "%s/err", home);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		int fd =
		    open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		fflush(stderr);
		dup2(fd, STDERR_FILENO);
		int status = audit("show", cases[i][0], cases[i][1], NULL);
		fflush(stderr);
		dup2(kept, STDERR_FILENO);
		ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
		close(fd);
		text[n < 0 ? 0 : n] = '\0';
		print_message("# %.*s\n", (int)strcspn(text, "\n"), text);
		assert_int_equal(status, 2);
		assert_non_null(strstr(text, cases[i][2]));
	}
	close(kept);
	/* Where they mean nothing they are not taken. */
	assert_int_equal(audit("verify", "--denied", NULL), 2);
	assert_int_equal(audit("report", "--limit", "3", NULL), 2);
}

static void
tail_has_the_last_rows(void **state UNUSED)
{
	assert_int_equal(audit("tail", "--no-follow", "-n", "2", "--all", NULL),
	    0);
	assert_int_equal(count_lines(), 2);
	assert_true(says("stop"));
	assert_true(says("checkpoint"));
	/* What is not shown does not count. */
	assert_int_equal(audit("tail", "--no-follow", "-n", "2", NULL), 0);
	assert_int_equal(count_lines(), 2);
	assert_false(says("checkpoint"));
	assert_int_equal(audit("tail", "-n", "x", NULL), 2);
	assert_int_equal(audit("tail", "--no-follow", "-n", "0", NULL), 0);
	assert_int_equal(count_lines(), 0);
	assert_int_equal(audit("tail", "--no-follow", "-n", "99", "--json",
			     path, NULL),
	    0);
	assert_int_equal(count_lines(), 15);
	assert_int_equal(audit("tail", "--no-follow", "--host", "evil.test",
			     NULL),
	    0);
	assert_int_equal(count_lines(), 4);
	assert_int_equal(audit("tail", "/nowhere", NULL), 1);
}

/*
 * Without FILE what other runs write is seen too, from its first record on: a
 * row that is there, then three of logs that were not.
 */
static void
tail_follows_runs_that_begin_later(void **state UNUSED)
{
	char name[512], hash[LINE_HASH_HEX + 1];
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		status = audit("tail", "-n", "1", "--limit", "4", "--event",
		    "request.end", NULL);
		_exit(status == 0 ? (int)count_lines() : 100);
	}
	for (int i = 0; waitpid(pid, &status, WNOHANG) == 0; i++) {
		snprintf(name, sizeof(name), "%s/duenna/log/later-%d.jsonl",
		    home, i);
		struct journal *j = log_begin(name);
		log_request(j, "GET", "https://evil.test/late");
		log_end(j, true, hash);
		usleep(20000);
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 4);
}

/* SIGINT is how it ends: status 0. */
static void
tail_ends_with_a_signal(void **state UNUSED)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(audit("tail", path, NULL));
	while (waitpid(pid, &status, WNOHANG) == 0) {
		/* Before its handler stands it would only be killed. */
		char line[64] = "", file[64];
		unsigned long long caught = 0;
		snprintf(file, sizeof(file), "/proc/%d/status", (int)pid);
		FILE *f = fopen(file, "re");
		while (f != NULL && fgets(line, sizeof(line), f) != NULL)
			if (strncmp(line, "SigCgt:", 7) == 0)
				caught = strtoull(line + 7, NULL, 16);
		if (f != NULL)
			fclose(f);
		if ((caught & 1U << (SIGINT - 1)) != 0)
			kill(pid, SIGINT);
		usleep(10000);
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A name without a rule is one thing, however often it was met. */
static void
report_counts_a_name_once(void **state UNUSED)
{
	assert_int_equal(audit("report", path, NULL), 0);
	assert_true(says("blocked: 4, alarms: 0\n"));
	assert_true(says("2x tls.sni_denied     https://evil.test\n"));
	assert_true(says("1x dns.denied         only.asked.test\n"));
	assert_true(says("1x http.method_denied DELETE https://api.test/"));
	assert_int_equal(count_lines(), 4);
	assert_false(says("client.abort"));
	assert_int_equal(audit("report", "--json", path, NULL), 0);
	assert_true(says("{\"blocked\":4,\"alarms\":0,"));
}

/* Above the budget the first one's path stands for all of them. */
static void
what_was_counted_together_is_not_told_as_one_url(void **state UNUSED)
{
	struct facts f =
	    bed_request(bed.program, "PUT", "https://api.test/hello/first");
	struct verdict v = policy_decide(bed.program, &f);
	struct facts_text text;
	struct event e;
	char name[512], hash[LINE_HASH_HEX + 1];

	snprintf(name, sizeof(name), "%s/many.jsonl", home);
	struct journal *j = log_begin(name);
	event_init(&e, EVENT_REQUEST_END);
	event_str(&e, FIELD_SANDBOX, "build-1");
	event_str(&e, FIELD_FLOW, "w0-1");
	event_number(&e, FIELD_EXCHANGE, 1);
	event_str(&e, FIELD_PROGRAM, digest);
	event_number(&e, FIELD_COUNTED, 5000);
	facts_to_event(bed.program, &f, &v, &text, &e);
	log_event(j, &e);
	log_end(j, true, hash);
	assert_int_equal(audit("report", name, NULL), 0);
	assert_true(says("5000x http.method_denied PUT https://api.test/…\n"));
	assert_int_equal(audit("show", name, NULL), 0);
	assert_true(says("/hello/first x5000, this one the first"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_say_which_records_are_shown),
		cmocka_unit_test(a_row_says_what_a_gap_and_another_status_are),
		cmocka_unit_test(
		    a_value_that_is_none_is_2_with_the_closed_list),
		cmocka_unit_test(tail_has_the_last_rows),
		cmocka_unit_test(report_counts_a_name_once),
		cmocka_unit_test(
		    what_was_counted_together_is_not_told_as_one_url),
		cmocka_unit_test(tail_ends_with_a_signal),
		cmocka_unit_test(tail_follows_runs_that_begin_later),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
