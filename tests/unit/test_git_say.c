/* SPDX-License-Identifier: Apache-2.0 */
#include "git/say.h"
#include "policy_bed.h"
#include "row.h"

static const char rules[] =
    "      - name: work\n"
    "        allow: git+https://git.test/acme/app\n"
    "        forge: none\n"
    "        push: {branches: ['agent/**'], tags: ['v*'], max_commands: 1, "
    "keep: ['.github/**', ci.yml]}\n"
    "      - name: lib\n"
    "        allow: git+https://git.test/acme/lib\n"
    "        fetch: true\n"
    "      - name: many\n"
    "        allow: git+https://git.test/acme/many\n"
    "        forge: none\n"
    "        push: {branches: [a-long-name-of-a-branch, another-long-name, "
    "and-a-third-long-name], delete: true, create: false}\n";

static void
load(struct bed *b, const char *more)
{
	char text[2048];

	snprintf(text, sizeof(text),
	    "version: 1\npolicies:\n  p:\n%s    rules:\n%s", more, rules);
	bed_load(b, NULL, text);
	if (b->program == NULL)
		print_error("%s", buf_text(&b->text));
	assert_non_null(b->program);
}

static const struct {
	uint32_t rule;
	enum git_command_kind kind;
	const char *ref, *line;
} lines[] = {
	{ 0, GIT_COMMAND_CREATE, "refs/heads/other",
	    "duenna: not among refs/heads/agent/**, refs/tags/v* "
	    "[git.ref w0-5f]" },
	{ 0, GIT_COMMAND_CREATE, "refs/heads/agent/x", "" },
	{ 0, GIT_COMMAND_DELETE, "refs/heads/agent/x",
	    "duenna: may not be deleted by rule `work` [git.update w0-5f]" },
	{ 0, GIT_COMMAND_UPDATE, "refs/tags/v1",
	    "duenna: a tag may not be moved by rule `work` "
	    "[git.update w0-5f]" },
	{ 2, GIT_COMMAND_CREATE, "refs/heads/x",
	    "duenna: not among the refs of rule `many` [git.ref w0-5f]" },
	{ 2, GIT_COMMAND_CREATE, "refs/heads/another-long-name",
	    "duenna: may not be created by rule `many` [git.update w0-5f]" },
};

static void
say_command_is_one_short_line(void **state)
{
	struct bed b;
	struct buf out;

	(void)state;
	load(&b, "");
	struct say s = { b.program, "w0-5f" };
	buf_init(&out, 4096);
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		struct git_command c = { .kind = lines[i].kind,
			.ref = slice_of_str(lines[i].ref) };
		buf_clear(&out);
		say_command(&s, lines[i].rule, &c, &out);
		assert_string_equal(buf_text(&out), lines[i].line);
		assert_true(out.n < 200);
	}
	buf_clear(&out);
	say_allowed(&s, 0, &out);
	assert_string_equal(buf_text(&out),
	    "duenna: push refused, nothing was sent to the server.\n"
	    "duenna: rule `work` allows refs/heads/agent/**, refs/tags/v*\n");
	buf_clear(&out);
	say_forward(&s, 0, &out);
	say_keep(&s, 0, &out);
	assert_string_equal(buf_text(&out),
	    "duenna: rule `work` lets refs grow and not be rewritten; push to "
	    "a new one, or add commits to what is there\n"
	    "duenna: rule `work` keeps as they are: .github/**, ci.yml\n");
	buf_clear(&out);
	say_fault(&s, REASON_UP_CONNECT, false, &out);
	assert_string_equal(buf_text(&out),
	    "duenna: the origin could not be reached; nothing was pushed "
	    "[up.connect w0-5f]");
	buf_clear(&out);
	say_fault(&s, REASON_UP_RESPONSE, true, &out);
	assert_non_null(strstr(buf_text(&out),
	    "; the result is unknown, run git ls-remote [up.response w0-5f]"));
	buf_release(&out);
	bed_release(&b);
}

static void
say_whole_tells_what_is_too_many(void **state)
{
	struct git_command c[2] = {
		{ GIT_COMMAND_CREATE, SLICE("refs/heads/agent/x"), { 0 },
		    { 0 } },
		{ GIT_COMMAND_CREATE, SLICE("refs/heads/agent/y"), { 0 },
		    { 0 } },
	};
	struct facts_push push = { .commands = c, .n_commands = 2 };
	struct buf out;
	struct bed b;

	(void)state;
	load(&b, "");
	struct say s = { b.program, "w0-5f" };
	struct facts f = bed_request(b.program, "POST",
	    "https://git.test/acme/app/git-receive-pack");
	f.kind = FACTS_PUSH;
	f.push = &push;
	struct verdict v = policy_decide(b.program, &f);
	buf_init(&out, 4096);
	say_whole(&s, &f, &v, &out);
	assert_string_equal(buf_text(&out),
	    "duenna: rule `work` (policy.yaml:5) allows 1 commands in a push, "
	    "not 2 [limit.bytes w0-5f]");
	buf_release(&out);
	bed_release(&b);
}

static void
say_discovery_names_what_is_allowed(void **state)
{
	struct buf out;
	struct bed b;

	(void)state;
	load(&b, "");
	struct say s = { b.program, "w0-5f" };
	struct facts f = bed_request(b.program, "GET",
	    "https://git.test/acme/lib/info/refs?service=git-receive-pack");
	struct verdict v = policy_decide(b.program, &f);
	buf_init(&out, 4096);
	say_discovery(&s, &f, &v, &out);
	assert_string_equal(buf_text(&out),
	    "duenna: rule `lib` (policy.yaml:9) does not allow a push of "
	    "git+https://git.test/acme/lib [git.service w0-5f]\n"
	    "duenna: a push is allowed to git+https://git.test/acme/app\n"
	    "duenna: a push is allowed to git+https://git.test/acme/many\n");
	buf_clear(&out);
	f = bed_request(b.program, "GET",
	    "https://git.test/acme/x/info/refs?service=git-upload-pack");
	v = policy_decide(b.program, &f);
	say_discovery(&s, &f, &v, &out);
	assert_non_null(strstr(buf_text(&out),
	    "[git.repo w0-5f]\nduenna: a "
	    "fetch is allowed to "
	    "git+https://git.test/acme/lib"
	    "\n"));
	buf_release(&out);
	bed_release(&b);
}

/* `refusals: code`: nothing of the rules. */
static void
say_shows_the_code_alone(void **state)
{
	struct git_command c = { .kind = GIT_COMMAND_CREATE,
		.ref = SLICE("refs/heads/x") };
	struct buf out;
	struct bed b;

	(void)state;
	load(&b, "    refusals: code\n");
	struct say s = { b.program, "w0-5f" };
	struct facts f = bed_request(b.program, "GET",
	    "https://git.test/acme/lib/info/refs?service=git-receive-pack");
	struct verdict v = policy_decide(b.program, &f);
	buf_init(&out, 4096);
	say_command(&s, 0, &c, &out);
	assert_string_equal(buf_text(&out), "duenna: refused [git.ref w0-5f]");
	buf_clear(&out);
	say_allowed(&s, 0, &out);
	assert_string_equal(buf_text(&out),
	    "duenna: push refused, nothing was sent to the server.\n");
	buf_clear(&out);
	say_discovery(&s, &f, &v, &out);
	assert_string_equal(buf_text(&out),
	    "duenna: refused [git.service w0-5f]\n");
	buf_clear(&out);
	say_whole(&s, &f, &v, &out);
	assert_string_equal(buf_text(&out),
	    "duenna: refused [git.service w0-5f]");
	buf_release(&out);
	bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(say_command_is_one_short_line),
		cmocka_unit_test(say_whole_tells_what_is_too_many),
		cmocka_unit_test(say_discovery_names_what_is_allowed),
		cmocka_unit_test(say_shows_the_code_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
