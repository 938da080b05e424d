/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "audit/journal.h"
#include "audit/verify.h"

/* A log in memory, its lines apart, and what the check of it says. */
struct log {
	char *lines[64];
	size_t n;
	char *said[32]; /* "LINE SEQ TEXT" */
	size_t n_said;
	struct verify_sum sum;
};

static void
on_problem(uint64_t line, uint64_t seq, const char *text, void *arg)
{
	struct log *log = arg;
	char said[512];

	snprintf(said, sizeof(said), "%d %d %s", (int)line, (int)seq, text);
	assert_true(log->n_said < COUNT_OF(log->said));
	log->said[log->n_said++] = strdup(said);
}

static void
check(struct log *log, const struct verify_want *want)
{
	static const struct verify_want any;
	enum err err = ERR_NONE;
	struct verify *v =
	    verify_new(want == NULL ? &any : want, on_problem, log, &err);

	while (log->n_said != 0)
		free(log->said[--log->n_said]);
	assert_non_null(v);
	for (size_t i = 0; i < log->n; i++)
		verify_put(v, READER_LINE, slice_of_str(log->lines[i]));
	log->sum = verify_end(v);
	assert_int_equal(log->sum.n_problems, log->n_said);
	verify_free(v);
}

static void
assert_says(struct log *log, const char *want)
{
	for (size_t i = 0; i < log->n_said; i++)
		print_message("# %s\n", log->said[i]);
	assert_int_equal(log->n_said, want == NULL ? 0 : 1);
	if (want != NULL)
		assert_string_equal(log->said[0], want);
}

static void
add(struct journal *j, struct event *e)
{
	assert_true(journal_put(j, e, NULL));
	assert_true(journal_flush(j));
}

static void
flow(struct journal *j, enum event_kind kind, uint64_t passed)
{
	struct event e;

	event_init(&e, kind);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_FLOW, "w0-1");
	if (kind == EVENT_FLOW_END)
		event_reason(&e,
		    passed != 0 ? REASON_ALLOW_PASS : REASON_ALLOW);
	if (passed != 0)
		event_number(&e, FIELD_COOKIE_SOCKET, passed);
	add(j, &e);
}

static void
dial(struct journal *j, uint64_t cookie)
{
	struct event e;

	event_init(&e, EVENT_DIAL);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_FLOW, "w0-1");
	event_str(&e, FIELD_VERDICT, "allow");
	event_reason(&e, REASON_ALLOW);
	event_str(&e, FIELD_HOST, "api.test");
	event_number(&e, FIELD_PORT, 443);
	event_number(&e, FIELD_COOKIE_SOCKET, cookie);
	add(j, &e);
}

static void
release(struct journal *j)
{
	struct event e;

	event_init(&e, EVENT_RELEASE);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_FLOW, "w0-1");
	event_str(&e, FIELD_VERDICT, "allow");
	event_reason(&e, REASON_ALLOW);
	event_str(&e, FIELD_CREDENTIAL, "github");
	add(j, &e);
}

static void
request(struct journal *j, enum event_kind kind, uint64_t cookie)
{
	struct event e;

	event_init(&e, kind);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_FLOW, "w0-1");
	event_number(&e, FIELD_EXCHANGE, 1);
	event_str(&e, FIELD_PROGRAM, "sha256:00");
	if (kind == EVENT_QUESTION)
		event_str(&e, FIELD_METHOD, "POST");
	else
		event_str(&e, FIELD_FACTS_KIND, "request");
	event_str(&e, FIELD_HOST, "api.test");
	event_number(&e, FIELD_PORT, 443);
	event_str(&e, FIELD_PATH, "/acme/app.git/git-upload-pack");
	event_str(&e, FIELD_VERDICT, "allow");
	event_reason(&e, REASON_ALLOW);
	event_str(&e, FIELD_CREDENTIAL, "github");
	event_number(&e, FIELD_COOKIE_SOCKET, cookie);
	add(j, &e);
}

static uint8_t machine[SIGN_PUBLIC_SIZE];

/* A log of one request, or, bit by bit of `without`, not all of it. */
enum {
	NO_DIAL = 1,
	NO_RELEASE = 2,
	NO_REQUEST = 4,
	NO_FLOW = 8,
	NO_END = 16,
	BAD_KEY = 32, /* the machine did not sign it */
	PASSED = 64,  /* and not what is without, but one that passed unread */
	ASKED = 128,  /* a question of duenna's own, with a release, ... */
	UNTOLD = 256, /* ... and without its record */
	ASTRAY = 512, /* ... over a connection that nobody dialled */
};

#define RECORDS 10 /* of a whole one */

/* One run more in the log of that name. */
static void
write_run(const char *name, unsigned without)
{
	const char *why;
	enum err err = ERR_NONE;
	struct sign_key *key = sign_key_new(&err);
	int fd = open(name, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	struct journal *j = journal_new(fd, false, &why, &err);
	uint8_t message[SIGN_KEY_MESSAGE_SIZE], signature[SIGN_SIZE];

	assert_non_null(j);
	sign_key_message(journal_key(j), message);
	assert_int_equal(sign_make(key, slice_of(message, sizeof(message)),
			     signature, &err),
	    0);
	memcpy(machine, sign_key_public(key), sizeof(machine));
	if ((without & BAD_KEY) != 0)
		signature[0] ^= 1;
	assert_true(journal_start(j, machine, signature));
	if ((without & NO_FLOW) == 0)
		flow(j, EVENT_FLOW_BEGIN, 0);
	if ((without & NO_DIAL) == 0)
		dial(j, 7);
	if ((without & NO_REQUEST) == 0)
		request(j, EVENT_REQUEST_BEGIN, 7);
	if ((without & NO_RELEASE) == 0)
		release(j);
	if ((without & ASKED) != 0)
		request(j, EVENT_QUESTION, (without & ASTRAY) != 0 ? 8 : 7);
	if ((without & (ASKED | UNTOLD)) != 0)
		release(j);
	if ((without & NO_REQUEST) == 0)
		request(j, EVENT_REQUEST_END, 7);
	assert_true(journal_checkpoint(j));
	if ((without & NO_FLOW) == 0)
		flow(j, EVENT_FLOW_END, (without & PASSED) != 0 ? 7 : 0);
	if ((without & NO_END) == 0) {
		struct event e;
		event_init(&e, EVENT_STOP);
		add(j, &e);
		assert_true(journal_checkpoint(j));
	}
	journal_free(j);
	sign_key_free(key);
}

static struct log
read_log(const char *name)
{
	FILE *file = fopen(name, "re");
	struct log log = { 0 };
	char line[8192];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		assert_true(log.n < COUNT_OF(log.lines));
		line[strcspn(line, "\n")] = '\0';
		log.lines[log.n++] = strdup(line);
	}
	fclose(file);
	return log;
}

static struct log
make(unsigned without)
{
	char name[] = "/tmp/duenna-verify-XXXXXX";
	int fd = mkstemp(name);
	struct log log;

	assert_true(fd >= 0);
	close(fd);
	write_run(name, without);
	log = read_log(name);
	unlink(name);
	return log;
}

static void
drop_line(struct log *log, size_t i)
{
	free(log->lines[i]);
	memmove(&log->lines[i], &log->lines[i + 1],
	    (--log->n - i) * sizeof(log->lines[0]));
}

static void
clear(struct log *log)
{
	while (log->n_said != 0)
		free(log->said[--log->n_said]);
	while (log->n != 0)
		free(log->lines[--log->n]);
}

static void
replace(struct log *log, size_t line, const char *old, const char *new)
{
	char *at = strstr(log->lines[line], old);

	assert_non_null(at);
	assert_int_equal(strlen(old), strlen(new));
	memcpy(at, new, strlen(new));
}

static void
a_whole_log_verifies(void **state UNUSED)
{
	struct log log = make(0);
	struct verify_want want = { .machine = machine };

	check(&log, &want);
	assert_says(&log, NULL);
	assert_true(log.sum.has_ended);
	assert_int_equal(log.n, RECORDS);
	assert_int_equal(log.sum.n_records, RECORDS);
	assert_int_equal(log.sum.covered, log.n - 1);
	char hash[LINE_HASH_HEX + 1];
	memcpy(hash, log.sum.hash, sizeof(hash));
	want.hash = hash;
	check(&log, &want);
	assert_says(&log, NULL);
	clear(&log);
}

static void
an_edit_is_found_in_every_record(void **state UNUSED)
{
	for (size_t i = 0; i < RECORDS; i++) {
		struct log log = make(0);
		char want[32];
		replace(&log, i, "\"time\":\"2", "\"time\":\"3");
		check(&log, NULL);
		snprintf(want, sizeof(want), "%d %d the hash does not fit",
		    (int)i + 1, (int)i + 1);
		assert_true(log.n_said >= 1);
		assert_memory_equal(log.said[0], want, strlen(want));
		clear(&log);
	}
}

static void
a_drop_is_found_at_every_place_but_the_end(void **state UNUSED)
{
	for (size_t i = 0; i + 1 < RECORDS; i++) {
		struct log log = make(0);
		char want[64];
		drop_line(&log, i);
		check(&log, NULL);
		snprintf(want, sizeof(want),
		    "%d %d record %d is missing before it", (int)i + 1,
		    (int)i + 2, (int)i + 1);
		bool found = false;
		for (size_t k = 0; k < log.n_said; k++)
			found = found || strcmp(log.said[k], want) == 0;
		assert_true(found);
		clear(&log);
	}
}

static void
a_reorder_is_found(void **state UNUSED)
{
	struct log log = make(0);
	char *moved = log.lines[3];

	log.lines[3] = log.lines[2];
	log.lines[2] = moved;
	check(&log, NULL);
	assert_true(log.n_said >= 2);
	assert_string_equal(log.said[0], "3 4 record 3 is missing before it");
	assert_string_equal(log.said[1],
	    "4 3 stands behind record 4: moved, or added");
	clear(&log);
}

/* LG-11: only who knows a later hash can see it. */
static void
a_cut_of_whole_records_is_found_by_a_hash_from_elsewhere(void **state UNUSED)
{
	struct log log = make(0);
	struct verify_want want = { 0 };
	char hash[LINE_HASH_HEX + 1];

	check(&log, NULL);
	memcpy(hash, log.sum.hash, sizeof(hash));
	while (log.n > 7)
		drop_line(&log, log.n - 1);
	check(&log, NULL);
	assert_says(&log, NULL);
	assert_false(log.sum.has_ended);
	assert_int_equal(log.sum.covered, 6);
	want.hash = hash;
	check(&log, &want);
	assert_says(&log,
	    "0 0 no record has the wanted hash: records are missing at the "
	    "end, or it is another log");
	clear(&log);
}

static void
a_cut_inside_a_record_is_found(void **state UNUSED)
{
	static const struct verify_want any;
	struct log log = make(NO_END);
	enum err err = ERR_NONE;
	struct verify *v = verify_new(&any, on_problem, &log, &err);

	for (size_t i = 0; i + 1 < log.n; i++)
		verify_put(v, READER_LINE, slice_of_str(log.lines[i]));
	verify_put(v, READER_CUT, SLICE("{\"seq\":"));
	verify_put(v, READER_LONG, SLICE("{\"seq\":"));
	assert_int_equal(verify_end(v).n_problems, 2);
	verify_free(v);
	assert_string_equal(log.said[0], "8 0 the last line is cut");
	assert_string_equal(log.said[1], "9 0 longer than any record");
	clear(&log);
}

/* LG-12: the chain alone can be made anew by anybody. */
static void
a_chain_made_anew_has_no_signature(void **state UNUSED)
{
	struct log log = make(0), other = make(0);
	struct verify_want want = { .machine = machine };

	/* The machine of the second is another than of the first. */
	check(&log, &want);
	assert_says(&log, "1 1 written by another machine's key");
	clear(&log);
	/* A checkpoint with another's signature: */
	char *signature = strstr(other.lines[6], "\"duenna.signature\":\"");
	assert_non_null(signature);
	signature[25] = signature[25] == '0' ? '1' : '0';
	check(&other, NULL);
	assert_int_equal(other.n_said, 2);
	assert_string_equal(other.said[1],
	    "7 7 the checkpoint is not signed by the key of this log");
	clear(&other);
}

/* Whoever has a key of his own can make a log, but no machine's. */
static void
a_key_that_the_machine_did_not_sign_is_told(void **state UNUSED)
{
	struct log log = make(BAD_KEY);
	struct verify_want want = { .machine = machine };

	check(&log, &want);
	assert_says(&log,
	    "1 1 the key of the log is not signed by the machine's key");
	clear(&log);
}

static void
a_checkpoint_after_a_fault_covers_nothing(void **state UNUSED)
{
	struct log log = make(0);

	replace(&log, 1, "\"time\":\"2", "\"time\":\"3");
	check(&log, NULL);
	assert_int_equal(log.sum.covered, 0);
	clear(&log);
}

/* LG-19 */
static void
what_two_roles_say_must_go_together(void **state UNUSED)
{
	static const struct {
		unsigned without;
		const char *want;
	} rows[] = {
		{ 0, NULL },
		{ NO_DIAL,
		    "0 5 a request went out, and the dialer has no record of "
		    "the dial of its connection" },
		{ NO_RELEASE,
		    "0 4 flow w0-1, credential github: more requests went out "
		    "with it than the keeper released" },
		{ NO_REQUEST,
		    "0 4 flow w0-1, credential github: released more often "
		    "than a request for it was announced" },
		{ NO_FLOW, "0 2 flow w0-1: dialled for, but never announced" },
		{ ASKED, NULL },
		{ UNTOLD,
		    "0 4 flow w0-1, credential github: released more often "
		    "than a request for it was announced" },
		{ ASKED | ASTRAY,
		    "0 6 duenna itself asked, and the dialer has no record of "
		    "the dial of its connection" },
		{ PASSED | NO_REQUEST | NO_RELEASE, NULL },
		{ PASSED | NO_REQUEST | NO_RELEASE | NO_DIAL,
		    "0 4 bytes passed unread, and the dialer has no record of "
		    "the dial of their connection" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct log log = make(rows[i].without);
		check(&log, NULL);
		assert_says(&log, rows[i].want);
		clear(&log);
	}
}

static void
an_empty_log_and_noise_are_no_logs(void **state UNUSED)
{
	struct log log = { 0 };

	check(&log, NULL);
	assert_says(&log, "0 0 there is no record");
	log.lines[log.n++] = strdup("hello");
	check(&log, NULL);
	assert_int_equal(log.n_said, 2);
	assert_string_equal(log.said[0],
	    "1 0 no record: sequence number, time and event come "
	    "first");
	clear(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_log_verifies),
		cmocka_unit_test(an_edit_is_found_in_every_record),
		cmocka_unit_test(a_drop_is_found_at_every_place_but_the_end),
		cmocka_unit_test(a_reorder_is_found),
		cmocka_unit_test(
		    a_cut_of_whole_records_is_found_by_a_hash_from_elsewhere),
		cmocka_unit_test(a_cut_inside_a_record_is_found),
		cmocka_unit_test(a_chain_made_anew_has_no_signature),
		cmocka_unit_test(a_key_that_the_machine_did_not_sign_is_told),
		cmocka_unit_test(a_checkpoint_after_a_fault_covers_nothing),
		cmocka_unit_test(what_two_roles_say_must_go_together),
		cmocka_unit_test(an_empty_log_and_noise_are_no_logs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
