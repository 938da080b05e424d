/* SPDX-License-Identifier: Apache-2.0 */
/* Pushes that are good: what is read of them, and what goes on. */
#include "git/push.h"
#include "git_bed.h"
#include "row.h"

#define ZERO "0000000000000000000000000000000000000000"
#define MAIN "72b400bba15ae499bd64c5dbd5ce26db6db1cbb8"
#define OLD "1731762a484853c04a0bf95166bc6fdb98b96e81"

/* Read `body` in pieces of `piece` bytes; returns what is behind the list. */
static size_t
read_in(struct push *p, struct slice body, size_t piece)
{
	enum parse got = PARSE_MORE;
	size_t at = 0;

	push_init(p);
	while (got == PARSE_MORE && at < body.n) {
		struct slice part =
		    exact(slice_first(slice_from(body, at), piece));
		struct parse_fail fail = { .detail = "" };
		size_t used;
		got = push_take(p, part, &used, &fail);
		if (got == PARSE_BAD)
			fail_msg("%s at %zu", fail.detail, fail.at);
		assert_true(used <= part.n);
		assert_true(got == PARSE_DONE || used == part.n);
		at += used;
		drop(part);
	}
	assert_int_equal(got, PARSE_DONE);
	return at;
}

static const struct {
	const char *name; /* in push/ */
	size_t n;
	bool wants_pack;
	const char *first; /* kind and ref of the first and the last command */
	const char *last;
	const char *written; /* the first line as it goes on, or NULL */
} good[] = {
	{ "update", 1, true, "update refs/heads/main", "update refs/heads/main",
	    "00af" OLD " " MAIN " refs/heads/main\0 report-status-v2 "
	    "side-band-64k quiet object-format=sha1 agent=git/2.39.5" },
	{ "create-branch", 1, true, "create refs/heads/agent/one",
	    "create refs/heads/agent/one", NULL },
	{ "create", 1, true, "create refs/heads/main", "create refs/heads/main",
	    NULL },
	{ "delete", 1, false, "delete refs/heads/agent/two",
	    "delete refs/heads/agent/two", NULL },
	{ "empty-pack-new-name", 1, true, "create refs/heads/agent/five",
	    "create refs/heads/agent/five", NULL },
	{ "multi-ref", 3, true, "delete refs/tags/light",
	    "create refs/heads/agent/three", NULL },
	{ "push-options", 1, true, "update refs/heads/agent/one",
	    "update refs/heads/agent/one", NULL },
	{ "sha256-create", 1, true, "create refs/heads/main",
	    "create refs/heads/main", NULL },
	{ "sha256-update", 1, true, "update refs/heads/main",
	    "update refs/heads/main", NULL },
	{ "shallow-push", 1, true, "update refs/heads/agent/one",
	    "update refs/heads/agent/one", NULL },
	{ "tags", 2, true, "create refs/tags/light", "create refs/tags/ann",
	    NULL },
	{ "force", 1, true, "update refs/heads/agent/one",
	    "update refs/heads/agent/one", NULL },
};

static void
assert_command(const struct push *p, size_t i, const char *want)
{
	static const char *const kinds[GIT_COMMAND_KINDS] = { "create",
		"update", "delete" };
	struct git_command c = push_command(p, i);
	char got[128];

	snprintf(got, sizeof(got), "%s %.*s", kinds[c.kind], SLICE_ARG(c.ref));
	assert_string_equal(got, want);
}

/* What was written is read again, and is the same. */
static void
assert_written(const struct push *p, struct buf *out)
{
	struct buf again;
	struct push q;

	buf_clear(out);
	assert_true(push_write(p, out));
	assert_int_equal(read_in(&q, buf_slice(out), SIZE_MAX), out->n);
	assert_int_equal(q.n_commands, p->n_commands);
	assert_int_equal(q.n_options, p->n_options);
	assert_int_equal(q.caps, p->caps);
	assert_int_equal(q.has_shallow, p->has_shallow);
	for (size_t i = 0; i < p->n_commands; i++) {
		struct git_command a = push_command(p, i),
				   b = push_command(&q, i);
		assert_int_equal(a.kind, b.kind);
		assert_slice(a.ref, b.ref);
		assert_slice(a.old_id, b.old_id);
		assert_slice(a.new_id, b.new_id);
	}
	buf_init(&again, 1 << 20);
	assert_true(push_write(&q, &again));
	assert_slice(buf_slice(&again), buf_slice(out));
	buf_release(&again);
	push_release(&q);
}

static void
push_reads_what_git_sends_at_every_split(void **state)
{
	struct buf out;
	struct push p;

	(void)state;
	buf_init(&out, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		char path[64];
		print_message("# %s\n", good[i].name);
		snprintf(path, sizeof(path), "push/%s", good[i].name);
		struct slice body = git_body(path);
		for (size_t piece = body.n; piece > 0; piece--) {
			size_t n = read_in(&p, body, piece);
			struct slice rest = slice_from(body, n);
			assert_int_equal(p.n_commands, good[i].n);
			assert_int_equal(p.wants_pack, good[i].wants_pack);
			assert_int_equal(slice_has_prefix(rest, SLICE("PACK")),
			    good[i].wants_pack);
			assert_command(&p, 0, good[i].first);
			assert_command(&p, good[i].n - 1, good[i].last);
			assert_true(push_can_report(&p));
			assert_false(push_is_probe(&p));
			assert_written(&p, &out);
			push_release(&p);
		}
		if (good[i].written != NULL)
			assert_slice(slice_first(buf_slice(&out), 0xaf),
			    slice_of(good[i].written, 0xaf));
		drop(body);
	}
	buf_release(&out);
}

static void
push_ends_where_no_pack_is_wanted(void **state)
{
	struct parse_fail fail = { .detail = "" };
	struct push p;

	(void)state;
	struct slice body = git_body("push/delete");
	assert_int_equal(read_in(&p, body, 7), body.n);
	assert_int_equal(push_end(&p, &fail), PARSE_DONE);
	push_release(&p);
	drop(body);

	body = git_body("push/update");
	read_in(&p, body, SIZE_MAX);
	assert_int_equal(push_end(&p, &fail), PARSE_BAD);
	assert_string_equal(fail.detail, "no pack");
	push_release(&p);
	drop(body);
}

static void
push_knows_a_probe_by_its_end(void **state)
{
	struct parse_fail fail = { .detail = "" };
	struct push p;
	size_t used;

	(void)state;
	push_init(&p);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(push_take(&p, SLICE("0"), &used, &fail),
		    PARSE_MORE);
	assert_int_equal(push_take(&p, SLICE(""), &used, &fail), PARSE_MORE);
	assert_true(push_is_probe(&p));
	assert_int_equal(push_end(&p, &fail), PARSE_DONE);
	assert_int_equal(push_take(&p, SLICE("0"), &used, &fail), PARSE_BAD);
	assert_string_equal(fail.detail, "bytes behind a probe");
	assert_int_equal(push_take(&p, SLICE("0"), &used, &fail), PARSE_BAD);
	assert_string_equal(fail.detail, "after a fault");
	push_release(&p);
}

static void
push_keeps_options_in_their_order(void **state)
{
	struct push p;

	(void)state;
	struct slice body = git_body("push/push-options");
	read_in(&p, body, SIZE_MAX);
	assert_int_equal(p.n_options, 2);
	assert_slice(push_option(&p, 0), SLICE("ci.skip"));
	assert_true((p.caps & PUSH_OPTIONS) != 0);
	push_release(&p);
	drop(body);
}

static void
push_shallow_lines_go_first(void **state)
{
	struct buf out;
	struct push p;

	(void)state;
	struct slice body = git_body("push/shallow-push");
	read_in(&p, body, SIZE_MAX);
	buf_init(&out, 4096);
	assert_true(push_write(&p, &out));
	/* Without the LF that git sends. */
	assert_slice(slice_first(buf_slice(&out), 0x34),
	    SLICE("0034shallow ee1ae6fdab8a06c93f4cd6830cbc5071dcc50a2e"));
	buf_release(&out);
	push_release(&p);
	drop(body);
}

static void
push_writes_ids_in_lower_case_and_chomps_one_lf(void **state)
{
	struct buf out;
	struct push p;

	(void)state;
	struct slice body = git_body("hostile/upper-case-hex");
	read_in(&p, body, SIZE_MAX);
	buf_init(&out, 4096);
	assert_true(push_write(&p, &out));
	for (size_t i = 0; i < 85; i++)
		assert_false(out.p[i] >= 'A' && out.p[i] <= 'F');
	push_release(&p);
	drop(body);

	body = git_body("hostile/one-lf-after-ref");
	read_in(&p, body, SIZE_MAX);
	for (size_t i = 0; i < p.n_commands; i++) {
		struct slice ref = push_command(&p, i).ref;
		assert_int_not_equal(ref.p[ref.n - 1], '\n');
	}
	push_release(&p);
	drop(body);
	buf_release(&out);
}

static void
push_drops_capabilities_that_it_does_not_know(void **state)
{
	struct buf out;
	struct push p;

	(void)state;
	struct slice body = git_body("hostile/unknown-capability");
	read_in(&p, body, SIZE_MAX);
	buf_init(&out, 4096);
	assert_true(push_write(&p, &out));
	assert_null(memmem(out.p, out.n, "bogus-cap", 9));
	assert_true(p.caps != 0);
	push_release(&p);
	drop(body);
	buf_release(&out);
}

static void
push_says_when_nothing_can_be_reported(void **state)
{
	static const char *const names[] = { "push/no-report-capability",
		"hostile/no-capabilities" };
	struct push p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct slice body = git_body(names[i]);
		read_in(&p, body, SIZE_MAX);
		assert_false(push_can_report(&p));
		push_release(&p);
		drop(body);
	}
}

static void
push_is_not_written_before_it_is_whole(void **state)
{
	struct parse_fail fail;
	struct buf out;
	struct push p;
	size_t used;

	(void)state;
	struct slice body = git_body("push/update");
	push_init(&p);
	buf_init(&out, 4096);
	assert_int_equal(push_take(&p, slice_first(body, 0xaf), &used, &fail),
	    PARSE_MORE);
	assert_false(push_write(&p, &out));
	assert_int_equal(push_take(&p, SLICE("0000"), &used, &fail),
	    PARSE_DONE);
	buf_release(&out);
	buf_init(&out, 100);
	assert_false(push_write(&p, &out));
	assert_int_equal(push_take(&p, SLICE("PACK"), &used, &fail),
	    PARSE_DONE);
	assert_int_equal(used, 0);
	buf_release(&out);
	push_release(&p);
	drop(body);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(push_reads_what_git_sends_at_every_split),
		cmocka_unit_test(push_ends_where_no_pack_is_wanted),
		cmocka_unit_test(push_knows_a_probe_by_its_end),
		cmocka_unit_test(push_keeps_options_in_their_order),
		cmocka_unit_test(push_shallow_lines_go_first),
		cmocka_unit_test(
		    push_writes_ids_in_lower_case_and_chomps_one_lf),
		cmocka_unit_test(push_drops_capabilities_that_it_does_not_know),
		cmocka_unit_test(push_says_when_nothing_can_be_reported),
		cmocka_unit_test(push_is_not_written_before_it_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
