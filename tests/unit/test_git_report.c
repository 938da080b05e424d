/* SPDX-License-Identifier: Apache-2.0 */
#include "git/report.h"
#include "git_bed.h"
#include "row.h"
#include "wire/pktline.h"

#define WHY "duenna: branch outside agent/** [git.ref w0-5f]"

static void
read_push(struct push *p, struct slice body)
{
	struct parse_fail fail;
	size_t used;

	push_init(p);
	assert_int_equal(push_take(p, body, &used, &fail), PARSE_DONE);
}

static void
read_file(struct push *p, const char *name)
{
	struct slice body = git_body(name);

	read_push(p, body);
	drop(body);
}

/* The bytes that git was seen to understand, for the forms that it asks for. */
static void
report_has_the_bytes_that_git_shows(void **state)
{
	static const struct {
		const char *push;
		struct slice reasons[2];
		const char *answer; /* in answer/ */
	} rows[] = {
		{ "push/reject-report-v1",
		    { IN("branch not allowed by policy") },
		    "answer/reject-plain" },
		{ "push/reject-no-sideband",
		    { IN("branch not allowed by policy") },
		    "answer/reject-no-sideband" },
		{ "push/reject-multi-ref",
		    { IN("push refused: another ref in it is not allowed"),
			IN("branch not allowed by policy") },
		    "answer/reject-multi-ref" },
	};
	struct buf out;
	struct push p;

	(void)state;
	buf_init(&out, 4096);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct slice all[3] = { rows[i].reasons[0], rows[i].reasons[1],
			rows[i].reasons[1] };
		struct slice want = git_body(rows[i].answer);
		print_message("# %s\n", rows[i].push);
		read_file(&p, rows[i].push);
		buf_clear(&out);
		assert_true(report_refusal(&p, all, &out));
		assert_slice(buf_slice(&out), want);
		push_release(&p);
		drop(want);
	}
	buf_release(&out);
}

static void
report_of_one_ref_has_99_bytes(void **state)
{
	static const char body[] =
	    "008e1731762a484853c04a0bf95166bc6fdb98b96e81 "
	    "72b400bba15ae499bd64c5dbd5ce26db6db1cbb8 refs/heads/other\0 "
	    "report-status-v2 side-band-64k agent=g0000";
	struct slice reason = SLICE(WHY);
	struct buf out;
	struct push p;

	(void)state;
	read_push(&p, slice_of(body, sizeof(body) - 1));
	buf_init(&out, 4096);
	report_text(&p,
	    SLICE("duenna: push refused, nothing was sent to the server.\n"
		  "duenna: allowed in acme/app: refs/heads/agent/**\n"),
	    &out);
	assert_int_equal(out.n, 108);
	assert_slice(slice_first(buf_slice(&out), 17),
	    SLICE("006c\2duenna: push"));
	buf_clear(&out);
	assert_true(report_refusal(&p, &reason, &out));
	assert_slice(buf_slice(&out),
	    SLICE("005f\1"
		  "000eunpack ok\n0048ng refs/heads/other " WHY "\n00000000"));
	buf_release(&out);
	push_release(&p);
}

static void
report_says_nothing_to_who_cannot_hear(void **state)
{
	struct slice reason = SLICE(WHY);
	struct buf out;
	struct push p;

	(void)state;
	buf_init(&out, 4096);
	read_file(&p, "push/no-report-capability");
	assert_false(report_refusal(&p, &reason, &out));
	push_release(&p);

	read_file(&p, "push/reject-no-sideband");
	report_text(&p, SLICE("text"), &out);
	assert_int_equal(out.n, 0);
	push_release(&p);
	buf_release(&out);
}

static void
report_shows_nothing_that_a_terminal_obeys(void **state)
{
	static const char body[] =
	    "00791731762a484853c04a0bf95166bc6fdb98b96e81 "
	    "72b400bba15ae499bd64c5dbd5ce26db6db1cbb8 a\342\200\256 b\0 "
	    "report-status side-band-64k0000";
	struct slice reason = SLICE("a \033[31m\n\302\240b");
	struct buf out;
	struct push p;

	(void)state;
	read_push(&p, slice_of(body, sizeof(body) - 1));
	buf_init(&out, 4096);
	report_text(&p, SLICE("x\033[0m\t\177\200\ny z"), &out);
	assert_slice(buf_slice(&out), SLICE("0011\2x?[0m???\ny z"));
	buf_clear(&out);
	assert_true(report_refusal(&p, &reason, &out));
	assert_slice(buf_slice(&out),
	    SLICE("0031\1"
		  "000eunpack ok\n001ang a????b a ?[31m???b\n00000000"));
	buf_release(&out);
	push_release(&p);
}

/* A list of the largest size, refused. */
static void
report_of_many_refs_is_cut_into_packets(void **state)
{
	static struct slice reasons[1000];
	struct parse_fail fail;
	struct pktline line;
	struct buf body, out, report;
	struct push p;
	size_t used;

	(void)state;
	buf_init(&body, 1 << 20);
	for (unsigned i = 0; i < 1000; i++) {
		size_t n = body.n;
		buf_putf(&body,
		    "00001731762a484853c04a0bf95166bc6fdb98b96e81 "
		    "72b400bba15ae499bd64c5dbd5ce26db6db1cbb8 r%0900u",
		    i);
		if (i == 0)
			buf_put(&body, SLICE("\0report-status side-band-64k"));
		pktline_head(body.n - n - PKTLINE_HEAD, body.p + n);
	}
	buf_put_str(&body, "0000");
	read_push(&p, buf_slice(&body));
	reasons[999] = SLICE(WHY);
	buf_init(&out, 4 << 20);
	buf_init(&report, 4 << 20);
	assert_true(report_refusal(&p, reasons, &out));
	struct slice rest = buf_slice(&out);
	while (pktline_take(rest, &line, &used, &fail) == PARSE_DONE &&
	    line.kind == PKTLINE_DATA) {
		assert_int_equal(line.data.p[0], 1);
		buf_put(&report, slice_from(line.data, 1));
		rest = slice_from(rest, used);
	}
	assert_slice(rest, SLICE("0000"));
	rest = buf_slice(&report);
	size_t n = 0;
	while (pktline_take(rest, &line, &used, &fail) == PARSE_DONE &&
	    line.kind == PKTLINE_DATA) {
		if (n++ != 0)
			assert_slice(slice_first(line.data, 5), SLICE("ng r0"));
		rest = slice_from(rest, used);
	}
	assert_int_equal(n, 1001);
	assert_slice(rest, SLICE("0000"));

	buf_release(&out);
	buf_init(&out, 1000);
	assert_false(report_refusal(&p, reasons, &out));
	buf_release(&out);
	buf_release(&report);
	buf_release(&body);
	push_release(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(report_has_the_bytes_that_git_shows),
		cmocka_unit_test(report_of_one_ref_has_99_bytes),
		cmocka_unit_test(report_says_nothing_to_who_cannot_hear),
		cmocka_unit_test(report_shows_nothing_that_a_terminal_obeys),
		cmocka_unit_test(report_of_many_refs_is_cut_into_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
