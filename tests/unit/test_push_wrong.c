/* SPDX-License-Identifier: Apache-2.0 */
/* Command lists that no grammar of ours has, and the limits of the good ones. */
#include "base/limits.h"
#include "git/push.h"
#include "git_bed.h"
#include "row.h"

#define A "1731762a484853c04a0bf95166bc6fdb98b96e81"
#define B "72b400bba15ae499bd64c5dbd5ce26db6db1cbb8"
#define LONG A "0123456789abcdef01234567"
#define CMD A " " B " refs/heads/x" /* 94 bytes */
#define CAPS "\0 report-status"	    /* 15 */

/* The answer to a whole body in pieces, and where it was found. */
static enum parse
answer(struct slice body, size_t piece, struct parse_fail *fail)
{
	enum parse got = PARSE_MORE;
	struct push p;
	size_t used;

	*fail = (struct parse_fail){ .detail = "" };
	push_init(&p);
	for (size_t at = 0; got == PARSE_MORE && at < body.n; at += piece) {
		struct slice part =
		    exact(slice_first(slice_from(body, at), piece));
		got = push_take(&p, part, &used, fail);
		drop(part);
	}
	if (got == PARSE_MORE)
		got = push_end(&p, fail);
	push_release(&p);
	return got;
}

static const struct {
	const char *name; /* of hostile/, or of what `in` is */
	struct slice in;  /* if it is no file */
	const char *detail;
	size_t at;
} bad[] = {
	{ "end-by-delim-0001", .detail = "packet that ends no list",
	    .at = 140 },
	{ "eof-before-flush", .detail = "ends before its flush", .at = 144 },
	{ "length-0003", .detail = "reserved length", .at = 140 },
	{ "duplicate-ref", .detail = "a ref twice", .at = 226 },
	{ "nul-in-second-command", .detail = "NUL in a later command",
	    .at = 242 },
	{ "caps-on-second-command", .detail = "NUL in a later command",
	    .at = 199 },
	{ "two-lf-after-ref", .detail = "control byte in a ref", .at = 238 },
	{ "shallow-after-command", .detail = "shallow line behind a command",
	    .at = 140 },
	{ "err-packet", .detail = "id of a wrong length", .at = 4 },
	{ "ref-empty", .detail = "empty ref", .at = 86 },
	{ "ref-esc", .detail = "control byte in a ref", .at = 98 },
	{ "cert-not-advertised", .detail = "push certificate", .at = 0 },
	{ "cert-no-signature", .detail = "push certificate", .at = 0 },
	{ "cert-split-mid-line", .detail = "push certificate", .at = 0 },
	{ "cert-plain-before", .detail = "push certificate", .at = 141 },
	{ "../push/signed-push-cert", .detail = "push certificate", .at = 0 },
	{ "../push/jgit-push-gzip", .detail = "length is not hex", .at = 0 },
	{ "response end", IN("0002"), "packet that ends no list", 0 },
	{ "empty line", IN("0004"), "id of a wrong length", 4 },
	{ "no command", IN("0034shallow " A "0000"), "no command", 52 },
	{ "half a shallow id", IN("0012shallow 172176"), "id of a wrong length",
	    12 },
	{ "shallow with capabilities", IN("0043shallow " A CAPS),
	    "bytes behind a shallow id", 52 },
	{ "shallow of another length",
	    IN("004cshallow " LONG "0071" CMD CAPS "0000"),
	    "ids of two lengths", 80 },
	{ "GT-53 39 digits", IN("002c731762a484853c04a0bf95166bc6fdb98b96e81 "),
	    "id of a wrong length", 4 },
	{ "GT-53 41 digits",
	    IN("002e11731762a484853c04a0bf95166bc6fdb98b96e81 "),
	    "id of a wrong length", 4 },
	{ "a tab behind an id", IN("0061" A "\t" B " refs/heads/x"),
	    "no blank behind an id", 44 },
	{ "no ref at all", IN("0055" A " " B), "no blank behind an id", 85 },
	{ "a digit of no hex",
	    IN("0061g731762a484853c04a0bf95166bc6fdb98b96e81"
	       " " B " refs/heads/x"),
	    "id of a wrong length", 4 },
	{ "two NULs", IN("0064" CMD "\0\0a"), "byte that no capability has",
	    99 },
	{ "GT-62 CR in an agent", IN("006b" CMD "\0agent=a\r"),
	    "byte that no capability has", 106 },
	{ "GT-62 LF in an agent", IN("006c" CMD "\0agent=a\nb"),
	    "byte that no capability has", 106 },
	{ "a capability twice", IN("006e" CMD "\0quiet quiet"),
	    "a capability twice", 105 },
	{ "another format", IN("0077" CMD "\0object-format=sha256"),
	    "object format that does not fit the ids", 99 },
	{ "long ids without a format",
	    IN("00a0" LONG " " LONG " refs/heads/x" CAPS),
	    "long ids without an object format", 147 },
	{ "long ids of sha1",
	    IN("00a5" LONG " " LONG " refs/heads/x\0object-format=sha1"),
	    "object format that does not fit the ids", 147 },
	{ "an empty option", IN("006f" CMD "\0push-options00000005\n"),
	    "empty push option", 119 },
	{ "NUL in an option", IN("006f" CMD "\0push-options00000006a\0"),
	    "control byte in a push option", 120 },
	{ "a delimiter behind options", IN("006f" CMD "\0push-options00000001"),
	    "packet that ends no list", 115 },
	{ "the end before the options", IN("006f" CMD "\0push-options0000"),
	    "ends before its flush", 115 },
	{ "GT-13 a probe and more", IN("00000000"), "bytes behind a probe", 4 },
	{ "GT-79 the middle of a pack", IN("x\x9c\3\0\0\0\0\1"),
	    "length is not hex", 0 },
};

static void
push_refuses_each_fault_at_every_split(void **state)
{
	struct parse_fail fail;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		char path[64];
		print_message("# %s\n", bad[i].name);
		snprintf(path, sizeof(path), "hostile/%s", bad[i].name);
		struct slice body =
		    bad[i].in.n != 0 ? exact(bad[i].in) : git_body(path);
		for (size_t piece = body.n; piece > 0; piece--) {
			assert_int_equal(answer(body, piece, &fail), PARSE_BAD);
			assert_string_equal(fail.detail, bad[i].detail);
			assert_int_equal(fail.reason, REASON_GIT_MALFORMED);
			assert_int_equal(fail.at, bad[i].at);
		}
		drop(body);
	}
}

static void
push_prefix_of_what_is_good_is_more(void **state)
{
	struct parse_fail fail;
	struct push p;
	size_t used;

	(void)state;
	struct slice body = git_body("push/multi-ref");
	for (size_t n = 0; n < 0xaf + 0x6a * 2; n++) {
		push_init(&p);
		assert_int_equal(push_take(&p, slice_first(body, n), &used,
				     &fail),
		    PARSE_MORE);
		assert_int_equal(push_end(&p, &fail), PARSE_BAD);
		push_release(&p);
	}
	drop(body);
}

/* A list of exactly `n` bytes, most of it shallow lines. */
static struct slice
list_of(size_t n)
{
	static const char shallow[] = "0034shallow " A;
	static const char head[] = CMD "\0 report-status ";
	uint8_t *p = malloc(n);
	char digits[8];
	size_t at = 0;

	assert_non_null(p);
	while (n - at > 65520 + 4) {
		memcpy(p + at, shallow, 52);
		at += 52;
	}
	size_t line = n - at - 4;
	snprintf(digits, sizeof(digits), "%04zx", line);
	memcpy(p + at, digits, 4);
	memset(p + at + 4, 'z', line - 4);
	memcpy(p + at + 4, head, sizeof(head) - 1);
	memcpy(p + n - 4, "0000", 4);
	return slice_of(p, n);
}

static void
push_list_has_an_exact_limit(void **state)
{
	struct parse_fail fail;

	(void)state;
	for (size_t n = LIMIT_PUSH_LIST_SIZE - 1; n < LIMIT_PUSH_LIST_SIZE + 3;
	     n++) {
		struct slice body = list_of(n);
		enum parse got = answer(body, 16384, &fail);
		if (n <= LIMIT_PUSH_LIST_SIZE) {
			assert_int_equal(got, PARSE_DONE);
		} else {
			assert_int_equal(got, PARSE_BAD);
			assert_int_equal(fail.reason, REASON_LIMIT_BYTES);
			assert_string_equal(fail.detail,
			    "command list over the limit");
		}
		drop(body);
	}
}

static void
push_takes_a_line_of_the_largest_size(void **state)
{
	struct slice body = list_of(65520 + 4);
	struct parse_fail fail;

	(void)state;
	assert_slice(slice_first(body, 4), SLICE("fff0"));
	assert_int_equal(answer(body, 4096, &fail), PARSE_DONE);
	drop(body);
}

/* `n` commands of different refs, or options if `options`. */
static enum parse
many(size_t n, bool options, struct parse_fail *fail)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	if (options) {
		buf_put(&b, SLICE("006f" CMD "\0push-options0000"));
		for (size_t i = 0; i < n; i++)
			buf_put_str(&b, "0005o");
	}
	for (size_t i = 0; !options && i < n; i++) {
		buf_putf(&b, i == 0 ? "0067%s%04zu%c" : "0066%s%04zu", CMD, i,
		    0);
	}
	buf_put_str(&b, "0000");
	enum parse got = answer(buf_slice(&b), b.n, fail);
	buf_release(&b);
	return got;
}

static void
push_counts_commands_and_options(void **state)
{
	struct parse_fail fail;

	(void)state;
	assert_int_equal(many(LIMIT_PUSH_COMMANDS_MOST, false, &fail),
	    PARSE_DONE);
	assert_int_equal(many(LIMIT_PUSH_COMMANDS_MOST + 1, false, &fail),
	    PARSE_BAD);
	assert_int_equal(fail.reason, REASON_LIMIT_BYTES);
	assert_string_equal(fail.detail, "too many commands");
	assert_int_equal(many(LIMIT_PUSH_OPTIONS, true, &fail), PARSE_DONE);
	assert_int_equal(many(LIMIT_PUSH_OPTIONS + 1, true, &fail), PARSE_BAD);
	assert_int_equal(fail.reason, REASON_LIMIT_BYTES);
	assert_string_equal(fail.detail, "too many push options");
}

/* What the grammar takes, policy judges; nothing here ends by itself. */
static void
each_hostile(const char *name, struct slice body)
{
	enum parse whole, parts;
	struct parse_fail a, b;

	whole = answer(body, body.n, &a);
	for (size_t piece = 1; piece < 40; piece++) {
		parts = answer(body, piece, &b);
		if (parts != whole || strcmp(a.detail, b.detail) != 0)
			fail_msg("%s differs in pieces of %zu", name, piece);
	}
}

static void
push_answers_the_same_however_it_comes(void **state)
{
	(void)state;
	git_bodies("hostile", each_hostile);
	git_bodies("push", each_hostile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(push_refuses_each_fault_at_every_split),
		cmocka_unit_test(push_prefix_of_what_is_good_is_more),
		cmocka_unit_test(push_list_has_an_exact_limit),
		cmocka_unit_test(push_takes_a_line_of_the_largest_size),
		cmocka_unit_test(push_counts_commands_and_options),
		cmocka_unit_test(push_answers_the_same_however_it_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
