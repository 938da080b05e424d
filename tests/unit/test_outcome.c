/* SPDX-License-Identifier: Apache-2.0 */
#include "git/outcome.h"
#include "git_bed.h"
#include "row.h"

#define A "1731762a484853c04a0bf95166bc6fdb98b96e81"
#define B "72b400bba15ae499bd64c5dbd5ce26db6db1cbb8"

static void
read_push(struct push *p, struct slice body)
{
	struct parse_fail fail;
	size_t used;

	push_init(p);
	assert_int_equal(push_take(p, body, &used, &fail), PARSE_DONE);
}

static void
feed(struct outcome *o, const struct push *p, struct slice answer, size_t piece)
{
	assert_int_equal(outcome_init(o, p), 0);
	for (size_t at = 0; at < answer.n; at += piece) {
		struct slice part =
		    exact(slice_first(slice_from(answer, at), piece));
		outcome_take(o, part);
		drop(part);
	}
}

static void
outcome_reads_what_servers_say_at_every_split(void **state)
{
	static const struct {
		const char *push, *answer;
		enum outcome_is is;
		const char *why;
		bool unpacked;
	} rows[] = {
		{ "push/create-branch", "answer/create-branch", OUTCOME_OK, "",
		    true },
		{ "push/multi-ref", "answer/multi-ref", OUTCOME_OK, "", true },
		{ "push/reject-report-v1", "answer/reject-plain", OUTCOME_NG,
		    "branch not allowed by policy", true },
		{ "push/reject-report-v1", "answer/reject-with-message",
		    OUTCOME_NG, "branch not allowed by policy", true },
		{ "push/reject-no-sideband", "answer/reject-no-sideband",
		    OUTCOME_NG, "branch not allowed by policy", true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct slice body = git_body(rows[i].push);
		struct slice answer = git_body(rows[i].answer);
		struct push p;
		print_message("# %s\n", rows[i].answer);
		read_push(&p, body);
		for (size_t piece = answer.n; piece > 0; piece--) {
			struct outcome o;
			struct slice why;
			feed(&o, &p, answer, piece);
			assert_true(o.has_ended && !o.is_odd);
			assert_int_equal(o.unpacked, rows[i].unpacked);
			for (size_t k = 0; k < p.n_commands; k++) {
				assert_int_equal(outcome_of(&o, k, &why),
				    rows[i].is);
				assert_slice(why, slice_of_str(rows[i].why));
			}
			outcome_release(&o);
		}
		push_release(&p);
		drop(answer);
		drop(body);
	}
}

/* Two refs, and what is made of an answer: "?", "ok" or "ng" of each. */
static const struct {
	const char *name;
	struct slice answer;
	const char *one, *two, *why;
	bool odd, ended;
} rows[] = {
	{ "both", IN("000eunpack ok\n0008ok a0008ng b0000"), "ok", "ng", "",
	    false, true },
	{ "v2", IN("000eunpack ok\n0009ok a\n0010option x y z0009ok b\n0000"),
	    "ok", "ok", "", false, true },
	{ "not unpacked", IN("0011unpack broken000cng a why0000"), "ng", "?",
	    "", false, true },
	{ "in another order",
	    IN("000eunpack ok\n0011ng b a reason0009ok a\n0000"), "ok", "ng",
	    "a reason", false, true },
	{ "the first word counts",
	    IN("000eunpack ok\n0008ng b0008ok b0008ok a0000"), "ok", "ng", "",
	    false, true },
	{ "another ref", IN("000eunpack ok\n0008ok c0000"), "?", "?", "", false,
	    true },
	{ "cut", IN("000eunpack ok\n0008ok a"), "ok", "?", "", false, false },
	{ "not begun", IN(""), "?", "?", "", false, false },
	{ "no unpack line", IN("0008ok a0000"), "?", "?", "", true, false },
	{ "HTML", IN("<html>"), "?", "?", "", true, false },
	{ "odd line", IN("000eunpack ok\n0008ok a0008xx b"), "ok", "?", "",
	    true, false },
	{ "a delimiter", IN("000eunpack ok\n0001"), "?", "?", "", true, false },
	{ "escapes", IN("000eunpack ok\n0010ng b \033[0m\302\240z0000"), "?",
	    "ng", "?[0m??z", false, true },
	{ "behind the end", IN("000eunpack ok\n00000008ok a"), "?", "?", "",
	    false, true },
};

static void
outcome_of_what_is_odd_is_unknown(void **state)
{
	static const char *const names[] = { "?", "ok", "ng" };
	struct slice why;
	struct push p;

	(void)state;
	read_push(&p,
	    SLICE("0065" A " " B " a\0report-status0057" A " " B " b0000"));
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct outcome o;
		print_message("# %s\n", rows[i].name);
		feed(&o, &p, rows[i].answer, 3);
		assert_string_equal(names[outcome_of(&o, 0, &why)],
		    rows[i].one);
		assert_string_equal(names[outcome_of(&o, 1, &why)],
		    rows[i].two);
		assert_slice(why, slice_of_str(rows[i].why));
		assert_int_equal(o.is_odd, rows[i].odd);
		assert_int_equal(o.has_ended, rows[i].ended);
		outcome_release(&o);
	}
	push_release(&p);
}

static void
outcome_reads_the_report_out_of_its_band(void **state)
{
	static const struct {
		struct slice answer;
		bool odd, ok;
	} bands[] = {
		/* Cut inside of a line of the report. */
		{ IN("0007\2hi0005\2"
		     "0009\1"
		     "000e"
		     "0010\1"
		     "unpack ok\n0"
		     "0010\1"
		     "008ok a0000"
		     "0000"),
		    false, true },
		{ IN("0013\1"
		     "000eunpack ok\n"
		     "0011\1"
		     "0008ok a0000"
		     "0000"),
		    false, true },
		{ IN("000a\3fatal"), false, false },
		{ IN("000a\4fatal"), true, false },
		{ IN("0004"), true, false },
		{ IN("0008ERR "), true, false },
	};
	struct slice why;
	struct push p;

	(void)state;
	read_push(&p,
	    SLICE("0073" A " " B " a\0report-status side-band-64k0000"));
	for (size_t i = 0; i < COUNT_OF(bands); i++) {
		struct outcome o;
		print_message("# %zu\n", i);
		feed(&o, &p, bands[i].answer, 2);
		assert_int_equal(o.is_odd, bands[i].odd);
		assert_int_equal(outcome_of(&o, 0, &why) == OUTCOME_OK,
		    bands[i].ok);
		outcome_release(&o);
	}
	push_release(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outcome_reads_what_servers_say_at_every_split),
		cmocka_unit_test(outcome_of_what_is_odd_is_unknown),
		cmocka_unit_test(outcome_reads_the_report_out_of_its_band),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
