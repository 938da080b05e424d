/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <sys/stat.h>

#include <fcntl.h>
#include <getopt.h>
#include <unistd.h>

#include "audit/facts_event.h"
#include "audit/journal.h"
#include "cmd/cmd.h"
#include "crypto/digest.h"
#include "policy_bed.h"

static const char policy[] = "version: 1\n"
			     "policies:\n"
			     "  agent:\n"
			     "    rules:\n"
			     "      - name: hello\n"
			     "        allow: https://api.test/hello/**\n";

static struct bed bed;
static char home[] = "/tmp/duenna-audit-XXXXXX";
static char log_path[512], digest[DIGEST_NAME_SIZE];
static char key_text[2 * SIGN_PUBLIC_SIZE + 1], hash[LINE_HASH_HEX + 1];

static void
write_file(const char *path, struct slice bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_true(write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n);
	close(fd);
}

static void
make_folder(const char *name, char path[256])
{
	snprintf(path, 256, "%s/%s", home, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void
put(struct journal *j, const char *method, const char *url)
{
	static struct facts_text text;
	struct facts f = bed_request(bed.program, method, url);
	struct verdict v = policy_decide(bed.program, &f);
	struct event e;

	event_init(&e, EVENT_REQUEST_END);
	event_str(&e, FIELD_SANDBOX, "build-1");
	event_str(&e, FIELD_PROGRAM, digest);
	event_str(&e, FIELD_FLOW, "w0-1");
	event_number(&e, FIELD_EXCHANGE, 1);
	facts_to_event(bed.program, &f, &v, &text, &e);
	if (v.allow)
		event_number(&e, FIELD_COOKIE_SOCKET, 7);
	assert_true(journal_put(j, &e, NULL));
}

static void
put_flow(struct journal *j, enum event_kind kind)
{
	struct event e;

	event_init(&e, kind);
	event_str(&e, FIELD_SANDBOX, "build-1");
	event_str(&e, FIELD_FLOW, "w0-1");
	if (kind == EVENT_FLOW_END)
		event_reason(&e, REASON_ALLOW);
	if (kind == EVENT_DIAL) {
		event_str(&e, FIELD_VERDICT, "allow");
		event_reason(&e, REASON_ALLOW);
		event_str(&e, FIELD_HOST, "api.test");
		event_number(&e, FIELD_PORT, 443);
		event_number(&e, FIELD_COOKIE_SOCKET, 7);
	}
	assert_true(journal_put(j, &e, NULL));
}

static void
write_log(const char *path, const struct sign_key *machine, bool ends)
{
	uint8_t message[SIGN_KEY_MESSAGE_SIZE], signature[SIGN_SIZE];
	const char *why = NULL;
	enum err err = ERR_NONE;
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct journal *j = journal_new(fd, false, &why, &err);
	struct event e;

	assert_non_null(j);
	sign_key_message(journal_key(j), message);
	assert_int_equal(sign_make(machine, slice_of(message, sizeof(message)),
			     signature, &err),
	    0);
	assert_true(journal_start(j, sign_key_public(machine), signature));
	put_flow(j, EVENT_FLOW_BEGIN);
	put_flow(j, EVENT_DIAL);
	put(j, "GET", "https://api.test/hello/you");
	put(j, "DELETE", "https://api.test/hello/you");
	put(j, "GET", "https://evil.test/\x1b[2Jx");
	put_flow(j, EVENT_FLOW_END);
	event_init(&e, EVENT_STOP);
	assert_true(!ends || journal_put(j, &e, NULL));
	assert_true(journal_checkpoint(j));
	memcpy(hash, journal_sum(j).hash, sizeof(hash));
	journal_free(j);
}

static int
set_up(void **state UNUSED)
{
	char path[512], folder[256];
	enum err err = ERR_NONE;
	struct sign_key *machine = sign_key_new(&err);
	struct secret secret = { 0 };

	bed_load(&bed, NULL, policy);
	assert_non_null(bed.program);
	assert_non_null(mkdtemp(home));
	assert_int_equal(setenv("XDG_STATE_HOME", home, 1), 0);
	make_folder("duenna", folder);
	make_folder("duenna/log", folder);
	snprintf(log_path, sizeof(log_path),
	    "%s/2026-11-30T090807Z-build-1.jsonl", folder);
	make_folder("duenna/programs", folder);
	digest_name(program_image(bed.program), digest);
	snprintf(path, sizeof(path), "%s/sha256-%s", folder, digest + 7);
	write_file(path, program_image(bed.program));
	assert_int_equal(sign_key_secret(machine, &secret, &err), 0);
	snprintf(path, sizeof(path), "%s/duenna/audit.key", home);
	write_file(path, secret_slice(&secret));
	secret_release(&secret);
	digest_hex(sign_key_public(machine), SIGN_PUBLIC_SIZE, key_text);
	snprintf(path, sizeof(path), "%s/open.jsonl", home);
	write_log(path, machine, false);
	write_log(log_path, machine, true);
	sign_key_free(machine);
	return 0;
}

static int
tear_down(void **state UNUSED)
{
	char command[256];

	bed_release(&bed);
	snprintf(command, sizeof(command), "rm -r '%s'", home);
	return system(command);
}

static char out[65536]; /* what the last command printed */

/* Run `duenna audit ARG...`; the list ends with NULL. */
static int
audit(const char *arg, ...)
{
	char *argv[16], path[256];
	char name[] = "audit";
	int argc = 0, kept = dup(STDOUT_FILENO);
	va_list ap;

	argv[argc++] = name;
	va_start(ap, arg);
	for (; arg != NULL; arg = va_arg(ap, const char *))
		argv[argc++] = strdup(arg);
	va_end(ap);
	argv[argc] = NULL;
	snprintf(path, sizeof(path), "%s/out", home);
	fflush(stdout);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	dup2(fd, STDOUT_FILENO);
	optind = 0;
	int status = audit_main(argc, argv);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	ssize_t n = pread(fd, out, sizeof(out) - 1, 0);
	assert_true(n >= 0);
	out[n] = '\0';
	close(fd);
	while (argc > 1)
		free(argv[--argc]);
	return status;
}

static bool
says(const char *text)
{
	return strstr(out, text) != NULL;
}

static size_t
count_lines(void)
{
	size_t n = 0;

	for (const char *p = out; *p != '\0'; p++)
		n += *p == '\n' ? 1 : 0;
	return n;
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
	assert_int_equal(audit("show", "--sandbox", "other", NULL), 0);
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
tail_has_the_last_lines(void **state UNUSED)
{
	assert_int_equal(audit("tail", "-n", "2", "--all", NULL), 0);
	assert_int_equal(count_lines(), 2);
	assert_true(says("stop"));
	assert_true(says("checkpoint"));
	/* What is not shown does not count. */
	assert_int_equal(audit("tail", "-n", "2", NULL), 0);
	assert_int_equal(count_lines(), 2);
	assert_false(says("checkpoint"));
	assert_int_equal(audit("tail", "-n", "x", NULL), 2);
	assert_int_equal(audit("tail", "-n", "0", NULL), 0);
	assert_int_equal(count_lines(), 0);
	assert_int_equal(audit("tail", "-n", "99", "--json", NULL), 0);
	assert_int_equal(count_lines(), 9);
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
		cmocka_unit_test(tail_has_the_last_lines),
		cmocka_unit_test(verify_holds_for_a_whole_log_and_its_key),
		cmocka_unit_test(
		    verify_fails_for_a_fault_another_key_and_a_missing_end),
		cmocka_unit_test(replay_decides_every_record_again),
		cmocka_unit_test(
		    replay_takes_no_program_that_is_not_the_one_named),
		cmocka_unit_test(wrong_usage_is_2),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
