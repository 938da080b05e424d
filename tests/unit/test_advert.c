/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "git/advert.h"
#include "git_bed.h"
#include "policy_bed.h"
#include "row.h"

#define A "1731762a484853c04a0bf95166bc6fdb98b96e81"
#define B "72b400bba15ae499bd64c5dbd5ce26db6db1cbb8"
#define ZERO "0000000000000000000000000000000000000000"
#define RECEIVE "001f# service=git-receive-pack\n0000"
#define UPLOAD "001e# service=git-upload-pack\n0000"

enum {
	PLAIN,
	ALL,
	HIDING,
	FETCHING
}; /* the rules below */

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - allow: git+https://github.com/a/plain\n"
    "        push: {branches: ['agent/**']}\n"
    "      - allow: git+https://github.com/a/all\n"
    "        push: {branches: ['agent/**'], delete: true, options: [x], "
    "keep: [y]}\n"
    "      - allow: git+https://github.com/a/hiding\n"
    "        hide_other_refs: true\n"
    "        push: {branches: ['agent/**'], tags: [ann]}\n"
    "      - allow: git+https://github.com/a/fetching\n"
    "        fetch: true\n";

static int
setup(void **state)
{
	static struct bed bed;

	bed_load(&bed, NULL, policy);
	if (bed.program == NULL)
		print_error("%s", buf_text(&bed.text));
	*state = &bed;
	return bed.program == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	bed_release(*state);
	return 0;
}

struct want {
	const struct program *p;
	uint32_t rule;
	bool push;
};

/* All of `in`, `piece` bytes at a time, through a filter. */
static enum parse
filter(const struct want *w, struct slice in, size_t piece, struct buf *out,
    struct parse_fail *fail)
{
	enum parse got = PARSE_MORE;
	struct advert a;

	*fail = (struct parse_fail){ .detail = "" };
	advert_init(&a, w->p, w->rule, w->push);
	for (size_t at = 0; got != PARSE_BAD && at < in.n; at += piece) {
		struct slice part =
		    exact(slice_first(slice_from(in, at), piece));
		got = advert_take(&a, part, out, fail);
		drop(part);
	}
	if (got != PARSE_BAD)
		got = advert_end(&a, fail);
	advert_release(&a);
	return got;
}

/* The same out, however it comes; returns it in `out`. */
static void
assert_filtered(const struct want *w, struct slice in, struct buf *out)
{
	struct parse_fail fail;
	struct buf first;

	buf_init(&first, 1 << 20);
	if (filter(w, in, in.n, &first, &fail) != PARSE_DONE)
		fail_msg("%s", fail.detail);
	for (size_t piece = 1; piece < in.n; piece += piece < 200 ? 1 : 97) {
		buf_clear(out);
		assert_int_equal(filter(w, in, piece, out, &fail), PARSE_DONE);
		assert_slice(buf_slice(out), buf_slice(&first));
	}
	buf_release(&first);
}

/* GT-63 */
static void
advert_of_a_push_loses_what_cannot_be_judged(void **state)
{
	static const struct {
		uint32_t rule;
		const char *caps;
	} rows[] = {
		{ PLAIN,
		    "report-status report-status-v2 delete-refs "
		    "side-band-64k quiet atomic ofs-delta object-format=sha1 "
		    "agent=git/2.39.5\n" },
		{ ALL,
		    "report-status report-status-v2 delete-refs "
		    "side-band-64k quiet atomic ofs-delta push-options "
		    "object-format=sha1 agent=git/2.39.5 no-thin\n" },
	};
	const struct program *p = ((struct bed *)*state)->program;
	struct slice in = git_body("advert/reject-plain");
	struct buf out;

	buf_init(&out, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct want w = { p, rows[i].rule, true };
		assert_filtered(&w, in, &out);
		size_t caps = 35 + 4 + 40 + 1 + 22 + 1;
		size_t n = strlen(rows[i].caps);
		assert_slice(slice_first(slice_from(buf_slice(&out), caps), n),
		    slice_of_str(rows[i].caps));
		/* All refs as they were: 0x103 is the length of their first. */
		assert_slice(slice_from(buf_slice(&out), caps + n),
		    slice_from(in, 35 + 0x103));
	}
	buf_release(&out);
	drop(in);
}

static void
advert_hides_names_and_keeps_tips(void **state)
{
	static const char in[] =
	    RECEIVE "004f" A " refs/heads/main\0quiet push-cert=x\n"
		    "0040" B " refs/heads/agent/x\n"
		    "003b" A " refs/tags/ann\n"
		    "003c" B " refs/tags/anno\n"
		    "0033" A " .have\n"
		    "0035shallow " B "\n"
		    "0000";
	static const char out_want[] = RECEIVE "0039" A " .have\0quiet\n"
					       "0040" B " refs/heads/agent/x\n"
					       "003b" A " refs/tags/ann\n"
					       "0033" B " .have\n"
					       "0033" A " .have\n"
					       "0035shallow " B "\n"
					       "0000";
	const struct program *p = ((struct bed *)*state)->program;
	struct want w = { p, HIDING, true };
	struct buf out;

	buf_init(&out, 1 << 20);
	assert_filtered(&w, slice_of(in, sizeof(in) - 1), &out);
	assert_slice(buf_slice(&out), slice_of(out_want, sizeof(out_want) - 1));
	buf_release(&out);
}

static void
advert_of_an_empty_repository_stays_one(void **state)
{
	const struct program *p = ((struct bed *)*state)->program;
	struct want w = { p, HIDING, true };
	struct slice in = git_body("advert/create");
	struct buf out;

	buf_init(&out, 1 << 20);
	assert_filtered(&w, in, &out);
	assert_non_null(
	    memmem(out.p, out.n, ZERO " capabilities^{}\0report", 63));
	drop(in);
	in = git_body("advert/sha256-update");
	assert_filtered(&w, in, &out);
	assert_non_null(memmem(out.p, out.n, "object-format=sha256", 20));
	drop(in);
	/* An old server has nothing to say. */
	buf_clear(&out);
	w.push = false;
	assert_filtered(&w, SLICE(UPLOAD "0000"), &out);
	assert_slice(buf_slice(&out), SLICE(UPLOAD "0000"));
	buf_release(&out);
}

/* GT-19, GT-87 */
static void
advert_of_a_fetch_loses_urls_and_tokens(void **state)
{
	static const struct {
		struct slice in, out;
	} rows[] = {
		{ IN("000eversion 2\n0015agent=git/2.39.5\n0013ls-refs=unborn\n"
		     "0031fetch=shallow packfile-uris filter new-thing\n"
		     "000fbundle-uri\n0012server-option\n"
		     "0028promisor-remote=name=a,token=secret\n"
		     "0011session-id=x\n0010object-info\n0008new\n0000"),
		    IN("000eversion 2\n0015agent=git/2.39.5\n"
		       "0013ls-refs=unborn\n0019fetch=shallow filter\n"
		       "0012server-option\n0010object-info\n0000") },
		{ IN(UPLOAD "000eversion 2\n0018fetch=packfile-uris\n0000"),
		    IN(UPLOAD "000eversion 2\n000afetch\n0000") },
		{ IN(UPLOAD "000eversion 1\n0055" A
			    " HEAD\0multi_ack bundle-uri symref=HEAD:x"
			    "\n003d" A " refs/heads/main\n0000"),
		    IN(UPLOAD "000eversion 1\n004a" A
			      " HEAD\0multi_ack symref=HEAD:x\n"
			      "003d" A " refs/heads/main\n0000") },
	};
	const struct program *p = ((struct bed *)*state)->program;
	struct want w = { p, FETCHING, false };
	struct buf out;

	buf_init(&out, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_filtered(&w, rows[i].in, &out);
		assert_slice(buf_slice(&out), rows[i].out);
	}
	buf_release(&out);
}

/* What git serves today goes on as it is. */
static void
advert_of_git_itself_is_not_changed(void **state)
{
	static const char *const names[] = { "advert/ls-remote-v2",
		"advert/clone-v0" };
	const struct program *p = ((struct bed *)*state)->program;
	struct want w = { p, FETCHING, false };
	struct buf out;

	buf_init(&out, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct slice in = git_body(names[i]);
		assert_filtered(&w, in, &out);
		assert_slice(buf_slice(&out), in);
		drop(in);
	}
	buf_release(&out);
}

static void
advert_error_is_text_for_people(void **state)
{
	const struct program *p = ((struct bed *)*state)->program;
	struct want w = { p, PLAIN, true };
	struct parse_fail fail;
	struct buf out;

	buf_init(&out, 1 << 20);
	struct slice in = git_body("advert/reject-info-refs-err-packet");
	assert_filtered(&w, in, &out);
	drop(in);
	in = SLICE(RECEIVE "0012ERR a\033[31m\302\240b\n");
	buf_clear(&out);
	assert_int_equal(filter(&w, in, 3, &out, &fail), PARSE_DONE);
	assert_slice(buf_slice(&out), SLICE(RECEIVE "0011ERR a?[31m??b"));
	buf_release(&out);
}

static const struct {
	const char *name;
	bool push;
	struct slice in;
	const char *detail;
} bad[] = {
	{ "another service", true, IN(UPLOAD "0000"),
	    "another service than was asked for" },
	{ "another service for a fetch", false, IN(RECEIVE "0000"),
	    "another service than was asked for" },
	{ "no service", false, IN("003d" A " refs/heads/main\n"),
	    "another service than was asked for" },
	{ "HTML", true, IN("<html>"), "length is not hex" },
	{ "a push has no version 2", true, IN(RECEIVE "000eversion 2\n0000"),
	    "version that is not known" },
	{ "nor without a service", true, IN("000eversion 2\n0000"),
	    "another service than was asked for" },
	{ "version 3", false, IN(UPLOAD "000eversion 3\n0000"),
	    "version that is not known" },
	{ "version 1 twice", true, IN(RECEIVE "000eversion 1\n000eversion 1\n"),
	    "version that is not known" },
	{ "a flush first", true, IN("0000"), "flush out of place" },
	{ "no flush behind the service", true,
	    IN("001f# service=git-receive-pack\n003d" A " refs/heads/main\n"),
	    "line out of place" },
	{ "a delimiter", true, IN(RECEIVE "0001"),
	    "packet that no advertisement has" },
	{ "the first without capabilities", true,
	    IN(RECEIVE "003d" A " refs/heads/main\n"),
	    "capabilities in another line than the first" },
	{ "capabilities later", true,
	    IN(RECEIVE "0043" A " refs/heads/main\0quiet\n0043" A
		       " refs/heads/main\0quiet\n"),
	    "capabilities in another line than the first" },
	{ "no id", true, IN(RECEIVE "0016refs/heads/main\0x\n"),
	    "ref without an id" },
	{ "another length of ids", true,
	    IN(RECEIVE "0043" A " refs/heads/main\0quiet\n0055" A
		       "0123456789abcdef01234567 refs/heads/main\n"),
	    "ref without an id" },
	{ "no name", true, IN(RECEIVE "0030" A " \0x\n"), "ref without an id" },
	{ "ESC in a name", true, IN(RECEIVE "0032" A " a\033\0x\n"),
	    "control byte in a ref or a capability" },
	{ "LF in a capability", true, IN(RECEIVE "0033" A " a\0x\ny\n"),
	    "control byte in a ref or a capability" },
	{ "two NULs", true, IN(RECEIVE "0033" A " a\0x\0y\n"),
	    "control byte in a ref or a capability" },
	{ "shallow and more", true,
	    IN(RECEIVE "0043" A " refs/heads/main\0quiet\n0037shallow " A
		       " x\n"),
	    "shallow line that is none" },
	{ "a ref behind shallow", true,
	    IN(RECEIVE "0043" A " refs/heads/main\0quiet\n0035shallow " A
		       "\n003d" A " refs/heads/main\n"),
	    "line out of place" },
	{ "ESC in version 2", false, IN("000eversion 2\n000bagent\033\n"),
	    "control byte in a capability" },
	{ "bytes behind", false, IN("000eversion 2\n00000000"),
	    "bytes behind the advertisement" },
	{ "cut", false, IN("000eversion 2\n"), "advertisement that is cut" },
	{ "cut in a line", true, IN(RECEIVE "0043"),
	    "advertisement that is cut" },
	{ "cut in an error", true, IN(RECEIVE "000aERR ab0"),
	    "advertisement that is cut" },
};

static void
advert_refuses_what_no_server_says(void **state)
{
	const struct program *p = ((struct bed *)*state)->program;
	struct parse_fail fail;
	struct buf out;

	buf_init(&out, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct want w = { p, bad[i].push ? PLAIN : FETCHING,
			bad[i].push };
		print_message("# %s\n", bad[i].name);
		for (size_t piece = bad[i].in.n; piece > 0; piece--) {
			buf_clear(&out);
			assert_int_equal(filter(&w, bad[i].in, piece, &out,
					     &fail),
			    PARSE_BAD);
			assert_string_equal(fail.detail, bad[i].detail);
			assert_int_equal(fail.reason, REASON_UP_RESPONSE);
		}
	}
	buf_release(&out);
}

/* Many refs through a small room, and no more than may come. */
static void
advert_has_a_ceiling(void **state)
{
	static const char head[] = RECEIVE "0043" A " refs/heads/main\0quiet\n";
	const struct program *p = ((struct bed *)*state)->program;
	struct parse_fail fail = { .detail = "" };
	enum parse got = PARSE_MORE;
	struct buf lines, out;
	struct advert a;

	buf_init(&lines, 1 << 20);
	for (size_t i = 0; i < 10000; i++)
		buf_put_str(&lines, "003d" A " refs/heads/main\n");
	buf_init(&out, lines.n + 4096);
	advert_init(&a, p, PLAIN, true);
	got = advert_take(&a, slice_of(head, sizeof(head) - 1), &out, &fail);
	/* As if most of it had come already. */
	a.n = LIMIT_ADVERT_SIZE - 3 * lines.n;
	while (got == PARSE_MORE) {
		assert_true(a.n <= LIMIT_ADVERT_SIZE);
		buf_clear(&out);
		got = advert_take(&a, buf_slice(&lines), &out, &fail);
	}
	assert_int_equal(got, PARSE_BAD);
	assert_int_equal(fail.reason, REASON_LIMIT_BYTES);
	assert_string_equal(fail.detail, "advertisement over the limit");
	advert_release(&a);

	advert_init(&a, p, PLAIN, true);
	buf_release(&out);
	buf_init(&out, 50);
	assert_int_equal(advert_take(&a, slice_of(head, sizeof(head) - 1), &out,
			     &fail),
	    PARSE_BAD);
	assert_int_equal(fail.reason, REASON_INTERNAL);
	advert_release(&a);
	buf_release(&out);
	buf_release(&lines);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(advert_of_a_push_loses_what_cannot_be_judged),
		cmocka_unit_test(advert_hides_names_and_keeps_tips),
		cmocka_unit_test(advert_of_an_empty_repository_stays_one),
		cmocka_unit_test(advert_of_a_fetch_loses_urls_and_tokens),
		cmocka_unit_test(advert_of_git_itself_is_not_changed),
		cmocka_unit_test(advert_error_is_text_for_people),
		cmocka_unit_test(advert_refuses_what_no_server_says),
		cmocka_unit_test(advert_has_a_ceiling),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
