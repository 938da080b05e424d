/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_bed.h"

#include "git/question.h"
#include "wire/pktline.h"

static const struct question_caps all = { .id_size = OID_SHA1,
	.has_format = true,
	.has_fetch = true,
	.has_shallow = true,
	.has_filter = true,
	.has_ls_refs = true };
static const struct oid one = { .n = OID_SHA1, .b = { 0x11 } };
static const struct oid two = { .n = OID_SHA1, .b = { 0x22 } };
static const struct beyond have = {
	.ids = { { .n = OID_SHA1, .b = { 0x22 } } },
	.n = 1,
};

#define ONE "1100000000000000000000000000000000000000"
#define TWO "2200000000000000000000000000000000000000"

/* clang-format off */
static const struct {
	const char *name, *in;
	enum parse want;
	bool format, fetch, shallow, filter, ls_refs;
	const char *detail;
	size_t at;
} offers[] = {
	{ "git", "000eversion 2\n0015agent=git/2.39.5\n0013ls-refs=unborn\n"
	    "0027fetch=shallow wait-for-done filter\n0012server-option\n"
	    "0017object-format=sha1\n0000", PARSE_DONE, true, true, true, true,
	    true, "", 0 },
	{ "with a service line", "001e# service=git-upload-pack\n0000"
	    "000eversion 2\n000afetch\n0000", PARSE_DONE, false, true, false,
	    false, false, "", 0 },
	{ "words are whole", "000dversion 2001ffetch=shallows filters sha\n0000",
	    PARSE_DONE, false, true, false, false, false, "", 0 },
	{ "names are whole", "000dversion 2000cfetching0000", PARSE_DONE, false,
	    false, false, false, false, "", 0 },
	{ "not yet", "000eversion 2\n0013ls-refs=unborn\n", PARSE_MORE, false,
	    false, false, false, true, "", 0 },
	{ "half a line", "000eversion 2\n0013ls-r", PARSE_MORE, false, false,
	    false, false, false, "", 0 },
	{ "version 1", "000eversion 1\n", PARSE_BAD, false, false, false, false,
	    false, "no protocol version 2", 0 },
	{ "version 0", "001e# service=git-upload-pack\n0000"
	    "0032" ONE " HEAD\n0000", PARSE_BAD, false, false, false, false,
	    false, "no protocol version 2", 34 },
	{ "no flush", "001e# service=git-upload-pack\n000eversion 2\n",
	    PARSE_BAD, false, false, false, false, false, "no flush", 0 },
	{ "delimiter", "000eversion 2\n0001", PARSE_BAD, false, false, false,
	    false, false, "no capability", 14 },
	{ "not a line", "000eversion 2\nzz", PARSE_BAD, false, false, false,
	    false, false, "length is not hex", 14 },
	{ "another format", "000eversion 2\n0016object-format=md5\n",
	    PARSE_BAD, true, false, false, false, false,
	    "unknown object format", 14 },
};
/* clang-format on */

static void
question_reads_each_offer(void **state UNUSED)
{
	for (size_t i = 0; i < COUNT_OF(offers); i++) {
		struct parse_fail fail = { .detail = "" };
		struct question_caps caps;

		print_message("# %s\n", offers[i].name);
		assert_int_equal(question_caps_take(slice_of_str(offers[i].in),
				     &caps, &fail),
		    offers[i].want);
		assert_string_equal(fail.detail, offers[i].detail);
		assert_int_equal(fail.at, offers[i].at);
		if (offers[i].want != PARSE_DONE)
			continue;
		assert_int_equal(caps.has_format, offers[i].format);
		assert_int_equal(caps.has_fetch, offers[i].fetch);
		assert_int_equal(caps.has_shallow, offers[i].shallow);
		assert_int_equal(caps.has_filter, offers[i].filter);
		assert_int_equal(caps.has_ls_refs, offers[i].ls_refs);
	}
}

static void
question_is_written_exactly(void **state UNUSED)
{
	struct beyond beyond = { .ids = { one, two }, .n = 2 };
	struct question_caps caps = all;
	struct buf out;

	buf_init(&out, 4096);
	assert_true(question_put(&caps, &beyond, &have, &out));
	assert_true(slice_eq_str(buf_slice(&out),
	    "0012command=fetch\n0017object-format=sha1\n0001"
	    "0010no-progress\n000eofs-delta\n"
	    "0032want " ONE "\n0032want " TWO "\n0032have " TWO
	    "\n0012filter tree:0\n0009done\n0000"));
	buf_clear(&out);
	beyond.n = 1;
	beyond.depth = 12;
	caps.has_format = false;
	assert_true(question_put(&caps, &beyond, NULL, &out));
	assert_true(slice_eq_str(buf_slice(&out),
	    "0012command=fetch\n0001"
	    "0010no-progress\n000eofs-delta\n0032want " ONE
	    "\n000ddeepen 1\n0013filter tree:12\n0009done\n0000"));
	buf_clear(&out);
	assert_true(question_put_head(&all, &out));
	assert_true(slice_eq_str(buf_slice(&out),
	    "0014command=ls-refs\n0017object-format=sha1\n0001"
	    "0014ref-prefix HEAD\n0000"));
	buf_release(&out);
}

static void
question_is_not_asked_for_nothing(void **state UNUSED)
{
	struct beyond beyond = { .ids = { one }, .n = 1 };
	struct question_caps caps = all;
	struct buf out;

	buf_init(&out, 4096);
	caps.has_shallow = false;
	assert_false(question_put(&caps, &beyond, NULL, &out));
	assert_true(question_put(&caps, &beyond, &have, &out));
	caps.has_fetch = caps.has_ls_refs = false;
	assert_false(question_put(&caps, &beyond, &have, &out));
	assert_false(question_put_head(&caps, &out));
	beyond.is_cut = true;
	assert_false(question_put(&all, &beyond, &have, &out));
	beyond.is_cut = false;
	beyond.n = 0;
	assert_false(question_put(&all, &beyond, &have, &out));
	buf_release(&out);
}

static void
question_knows_the_upstreams_head(void **state UNUSED)
{
	struct parse_fail fail = { .detail = "" };
	struct oid head;

	assert_int_equal(question_head_take(SLICE("0032" TWO " HEADS\n0032" ONE
						  " HEAD\n0000"),
			     OID_SHA1, &head, &fail),
	    PARSE_BAD);
	assert_int_equal(question_head_take(SLICE("0033" TWO " HEADS\n0032" ONE
						  " HEAD\n0000"),
			     OID_SHA1, &head, &fail),
	    PARSE_DONE);
	assert_true(oid_eq(&head, &one));
	assert_int_equal(question_head_take(SLICE("0000"), OID_SHA1, &head,
			     &fail),
	    PARSE_DONE);
	assert_int_equal(head.n, 0);
	assert_int_equal(question_head_take(SLICE("0032" ONE), OID_SHA1, &head,
			     &fail),
	    PARSE_MORE);
	assert_int_equal(question_head_take(SLICE("000cERR gone"), OID_SHA1,
			     &head, &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail, "no ref");
}

static void
put_line(struct buf *out, uint8_t band, struct slice s)
{
	uint8_t head[PKTLINE_HEAD];

	pktline_head(s.n + (band != 0), head);
	buf_put(out, slice_of(head, sizeof(head)));
	if (band != 0)
		buf_put_byte(out, band);
	buf_put(out, s);
}

/* An answer with a pack of one commit, in lines of `step` bytes. */
static struct oid
put_answer(struct buf *out, size_t step)
{
	struct bed b;

	buf_init(out, 1 << 20);
	bed_init(&b, OID_SHA1);
	struct oid id =
	    bed_put(&b, OBJECT_COMMIT, bed_commit(&one, &two, 1, "\nm"));
	struct slice pack = bed_end(&b);
	put_line(out, 0, SLICE("shallow-info\n"));
	put_line(out, 0, SLICE("shallow " ONE));
	buf_put(out, SLICE("0001"));
	put_line(out, 0, SLICE("packfile\n"));
	put_line(out, 2, SLICE("counting\n"));
	for (; pack.n != 0; pack = slice_from(pack, step))
		put_line(out, 1, slice_first(pack, step));
	put_line(out, 1, (struct slice){ 0 });
	buf_put(out, SLICE("0000"));
	bed_release(&b);
	return id;
}

static void
answer_is_the_same_at_every_split(void **state UNUSED)
{
	struct pack_cfg cfg = { .id_size = OID_SHA1 };
	struct buf text;
	struct oid id = put_answer(&text, 33);

	for (size_t n = 0; n < text.n; n++) {
		struct parse_fail fail;
		enum err err;
		struct pack *p = pack_new(&cfg, &err);
		struct answer a;
		size_t used, more;

		assert_non_null(p);
		answer_init(&a, p);
		assert_int_equal(answer_take(&a,
				     slice_first(buf_slice(&text), n), &used,
				     &fail),
		    PARSE_MORE);
		assert_int_equal(answer_take(&a,
				     slice_from(buf_slice(&text), used), &more,
				     &fail),
		    PARSE_DONE);
		assert_int_equal(used + more, text.n);
		assert_non_null(pack_find(p, &id));
		assert_int_equal(answer_take(&a, SLICE("0000"), &used, &fail),
		    PARSE_BAD);
		assert_string_equal(fail.detail, "bytes behind the answer");
		pack_free(p);
	}
	buf_release(&text);
}

/* clang-format off */
static const struct {
	const char *name, *in, *detail;
} wrong[] = {
	{ "error", "0026ERR upload-pack: not our ref 1234\n",
	    "the upstream refused the question" },
	{ "section", "0014acknowledgments\n", "unknown section" },
	{ "no section", "0000", "no section" },
	{ "not a line", "zzzz", "length is not hex" },
	{ "flush in a section", "0011shallow-info\n0000", "no section" },
	{ "no band", "000dpackfile\n0004", "unknown band" },
	{ "band 4", "000dpackfile\n0006\4x", "unknown band" },
	{ "band 3", "000dpackfile\n0006\3x", "the upstream ended the answer" },
	{ "no pack", "000dpackfile\n0006\1x", "no pack of version 2" },
	{ "cut", "000dpackfile\n0009\1PACK0000", "pack of the answer is cut" },
	{ "delimiter", "000dpackfile\n0001", "pack of the answer is cut" },
};
/* clang-format on */

static void
answer_refuses_each_case(void **state UNUSED)
{
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct pack_cfg cfg = { .id_size = OID_SHA1 };
		struct parse_fail fail = { .detail = "" };
		enum err err;
		struct pack *p = pack_new(&cfg, &err);
		struct answer a;
		size_t used;

		print_message("# %s\n", wrong[i].name);
		assert_non_null(p);
		answer_init(&a, p);
		assert_int_equal(answer_take(&a, slice_of_str(wrong[i].in),
				     &used, &fail),
		    PARSE_BAD);
		assert_string_equal(fail.detail, wrong[i].detail);
		pack_free(p);
	}
}

/* Progress without an end is not read without an end. */
static void
answer_has_a_ceiling(void **state UNUSED)
{
	struct pack_cfg cfg = { .id_size = OID_SHA1 };
	static uint8_t progress[60000];
	struct parse_fail fail = { 0 };
	enum err err;
	struct pack *p = pack_new(&cfg, &err);
	enum parse got = PARSE_MORE;
	struct answer a;
	struct buf line;
	size_t used, n = 0;

	assert_non_null(p);
	answer_init(&a, p);
	assert_int_equal(answer_take(&a, SLICE("000dpackfile\n"), &used, &fail),
	    PARSE_MORE);
	buf_init(&line, PKTLINE_MAX);
	put_line(&line, 2, slice_of(progress, sizeof(progress)));
	while (got == PARSE_MORE && n++ < 1000)
		got = answer_take(&a, buf_slice(&line), &used, &fail);
	assert_int_equal(got, PARSE_BAD);
	assert_int_equal(fail.reason, REASON_LIMIT_BYTES);
	assert_int_equal(n, LIMIT_QUESTION_SIZE / line.n + 1);
	buf_release(&line);
	pack_free(p);
}

/* A line that makes more than one step's work is done in steps. */
static void
answer_is_read_in_steps(void **state UNUSED)
{
	struct pack_cfg cfg = { .id_size = OID_SHA1 };
	size_t n = 8 * LIMIT_PACK_STEP_SIZE, used, calls = 0;
	uint8_t *nothing = calloc(1, n);
	struct parse_fail fail;
	enum err err;
	struct pack *p = pack_new(&cfg, &err);
	enum parse got;
	struct answer a;
	struct buf text;
	struct bed b;

	assert_non_null(nothing);
	assert_non_null(p);
	bed_init(&b, OID_SHA1);
	bed_put(&b, OBJECT_BLOB, slice_of(nothing, n));
	buf_init(&text, 1 << 20);
	put_line(&text, 0, SLICE("packfile\n"));
	put_line(&text, 1, bed_end(&b));
	buf_put(&text, SLICE("0000"));
	answer_init(&a, p);
	struct slice in = buf_slice(&text);
	do {
		got = answer_take(&a, in, &used, &fail);
		in = slice_from(in, used);
		calls++;
	} while (got == PARSE_MORE && a.done != 0);
	assert_int_equal(got, PARSE_DONE);
	assert_true(calls >= 8);
	buf_release(&text);
	bed_release(&b);
	pack_free(p);
	free(nothing);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(question_reads_each_offer),
		cmocka_unit_test(question_is_written_exactly),
		cmocka_unit_test(question_is_not_asked_for_nothing),
		cmocka_unit_test(question_knows_the_upstreams_head),
		cmocka_unit_test(answer_is_the_same_at_every_split),
		cmocka_unit_test(answer_refuses_each_case),
		cmocka_unit_test(answer_has_a_ceiling),
		cmocka_unit_test(answer_is_read_in_steps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
