/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening what a policy includes, on the word of a policy that may be a
 * stranger's: files in or below its own folder, and nothing else (CF-23).
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "proxyd/policy_file.h"

static char base[] = "/tmp/test-policy-file-XXXXXX";

static const char *
at(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", base, name);
	return path;
}

static void
put(const char *name, mode_t mode)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, name, strlen(name)), strlen(name));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int
setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(base));
	assert_int_equal(mkdir(at("p"), 0755), 0);
	assert_int_equal(mkdir(at("p/sub"), 0755), 0);
	assert_int_equal(mkdir(at("p/open"), 0700), 0);
	assert_int_equal(chmod(at("p/open"), 0777), 0);
	put("secret", 0600);
	put("p/policy.yaml", 0644);
	put("p/b.yaml", 0644);
	put("p/sub/c.yaml", 0644);
	put("p/sub/d.yaml", 0644);
	put("p/open/e.yaml", 0644);
	put("p/any.yaml", 0666);
	assert_int_equal(symlink("../secret", at("p/link.yaml")), 0);
	assert_int_equal(symlink("sub", at("p/linked")), 0);
	assert_int_equal(mkfifo(at("p/pipe.yaml"), 0600), 0);
	return 0;
}

static int
teardown(void **state)
{
	char command[4096];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

/* Opened, it says its own name; else why not. */
static void
expect(struct policy_files *f, uint32_t from, const char *path,
    const char *want, uint32_t number)
{
	const char *why = "";
	char text[64] = "";
	uint32_t got = 999;
	int fd = policy_file_include(f, from, slice_of_str(path), &got, &why);

	print_message("# %s: %s\n", path, fd < 0 ? why : "opened");
	assert_int_equal(fd >= 0, number != 0);
	if (fd < 0) {
		assert_non_null(strstr(why, want));
		return;
	}
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, want);
	assert_int_equal(got, number);
	close(fd);
}

static void
policy_file_includes_what_lies_in_or_below_its_folder(void **state)
{
	struct policy_files f = { .n = 0 };
	const char *why = "";
	uint32_t number = 999;

	(void)state;
	int fd = policy_file_open(&f, at("p/policy.yaml"), &why);
	assert_true(fd >= 0);
	close(fd);
	expect(&f, 0, "b.yaml", "p/b.yaml", 1);
	expect(&f, 0, "sub/c.yaml", "p/sub/c.yaml", 2);
	expect(&f, 0, "./sub/c.yaml", "p/sub/c.yaml", 2);
	expect(&f, 2, "d.yaml", "p/sub/d.yaml", 3);
	/* The policy itself, by its own number: the loader sees the circle. */
	fd = policy_file_include(&f, 0, SLICE("policy.yaml"), &number, &why);
	assert_true(fd >= 0);
	assert_int_equal(number, 0);
	close(fd);
	policy_files_release(&f);
}

static const struct {
	const char *path, *why;
} wrong[] = {
	{ "", "no path" },
	{ ".", "not a regular file" },
	{ "sub", "not a regular file" },
	{ "sub/", "no path" },
	{ "sub//c.yaml", "no path" },
	{ "sub/./c.yaml", "no path" },
	{ "nothing.yaml", "No such file" },
	{ "nothing/b.yaml", "No such file" },
	{ "b.yaml/c.yaml", "Not a directory" },
	{ "/etc/passwd", "is absolute" },
	{ "../secret", "`..`" },
	{ "sub/../../secret", "`..`" },
	{ "sub/../b.yaml", "`..`" },
	{ "link.yaml", "is a symbolic link" },
	{ "linked/c.yaml", "is a symbolic link" },
	{ "pipe.yaml", "not a regular file" },
	{ "open/e.yaml", "lies in a folder that others write" },
	{ "any.yaml", "others may write it" },
};

static void
policy_file_opens_nothing_else(void **state)
{
	struct policy_files f = { .n = 0 };
	const char *why = "";
	uint32_t number;
	char large[8192];

	(void)state;
	int fd = policy_file_open(&f, at("p/policy.yaml"), &why);
	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		expect(&f, 0, wrong[i].path, wrong[i].why, 0);
	/* A NUL would end the path before what was looked at. */
	assert_int_equal(policy_file_include(&f, 0,
			     slice_of("b.yaml\0/../x", 12), &number, &why),
	    -1);
	memset(large, 'a', sizeof(large));
	assert_int_equal(policy_file_include(&f, 0,
			     slice_of(large, sizeof(large)), &number, &why),
	    -1);
	/* A number that no file has. */
	expect(&f, 1, "b.yaml", "no folder", 0);
	assert_int_equal(f.n, 1);
	policy_files_release(&f);
}

static void
policy_file_of_a_pipe_includes_nothing(void **state)
{
	struct policy_files f = { .n = 0 };
	const char *why = "";

	(void)state;
	int fd = policy_file_open(&f, at("p/pipe.yaml"), &why);
	assert_true(fd >= 0);
	close(fd);
	expect(&f, 0, "b.yaml", "no folder", 0);
	assert_false(policy_file_is_trusted(&f));
	policy_files_release(&f);
	assert_int_equal(policy_file_open(&f, at("p/nothing"), &why), -1);
	policy_files_release(&f);
}

/*
 * What a path means is looked up behind the opening, and may be another file by
 * then: here by the kernel's name for a file that was removed, which somebody
 * else's file has.
 */
static void
policy_file_that_was_replaced_is_refused(void **state)
{
	struct policy_files f = { .n = 0 };
	const char *why = "";
	char link[64];

	(void)state;
	put("p/gone.yaml", 0644);
	int held = open(at("p/gone.yaml"), O_RDONLY);
	assert_true(held >= 0);
	assert_int_equal(unlink(at("p/gone.yaml")), 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", held);
	/* One that has no name is a policy all the same, of no folder. */
	int fd = policy_file_open(&f, link, &why);
	assert_true(fd >= 0);
	close(fd);
	expect(&f, 0, "b.yaml", "no folder", 0);
	policy_files_release(&f);
	put("p/gone.yaml (deleted)", 0644);
	assert_int_equal(policy_file_open(&f, link, &why), -1);
	assert_non_null(strstr(why, "was replaced"));
	close(held);
	policy_files_release(&f);
}

static void
policy_file_is_trusted_below_the_owners_directory_alone(void **state)
{
	static const struct {
		const char *path;
		bool trusted;
	} rows[] = { { "config/duenna/a.yaml", true },
		{ "config/duenna/policies/a.yaml", true },
		{ "config/duenna-x/a.yaml", false }, { "config/a.yaml", false },
		{ "p/b.yaml", false } };

	(void)state;
	assert_int_equal(mkdir(at("config"), 0700), 0);
	assert_int_equal(mkdir(at("config/duenna"), 0700), 0);
	assert_int_equal(mkdir(at("config/duenna/policies"), 0700), 0);
	assert_int_equal(mkdir(at("config/duenna-x"), 0700), 0);
	assert_int_equal(setenv("XDG_CONFIG_HOME", at("config"), 1), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct policy_files f = { .n = 0 };
		const char *why = "";
		put(rows[i].path, 0600);
		int fd = policy_file_open(&f, at(rows[i].path), &why);
		assert_true(fd >= 0);
		close(fd);
		print_message("# %s\n", rows[i].path);
		assert_int_equal(policy_file_is_trusted(&f), rows[i].trusted);
		policy_files_release(&f);
	}
}

static void
policy_file_counts_its_includes(void **state)
{
	struct policy_files f = { .n = 0 };
	const char *why = "";
	char name[64];
	uint32_t number;

	(void)state;
	int fd = policy_file_open(&f, at("p/policy.yaml"), &why);
	assert_true(fd >= 0);
	close(fd);
	for (unsigned i = 0; i <= LIMIT_POLICY_INCLUDES; i++) {
		snprintf(name, sizeof(name), "p/n%u.yaml", i);
		put(name, 0644);
		fd = policy_file_include(&f, 0, slice_of_str(name + 2), &number,
		    &why);
		assert_int_equal(fd >= 0, i < LIMIT_POLICY_INCLUDES);
		if (fd >= 0)
			close(fd);
	}
	assert_string_equal(why, "too many includes");
	policy_files_release(&f);
	/* The same one again and again, as no clerk of ours would ask. */
	f = (struct policy_files){ .n = 0 };
	close(policy_file_open(&f, at("p/policy.yaml"), &why));
	for (unsigned i = 0; i <= LIMIT_POLICY_INCLUDES; i++) {
		fd =
		    policy_file_include(&f, 0, SLICE("n0.yaml"), &number, &why);
		assert_int_equal(fd >= 0, i < LIMIT_POLICY_INCLUDES);
		if (fd >= 0)
			close(fd);
	}
	assert_string_equal(why, "too many includes");
	policy_files_release(&f);
}

/* Whatever stands in a pattern, it stays one string. */
static void
policy_file_of_patterns_has_a_line_for_each(void **state)
{
	static const char *const patterns[] = { "https://a.test/**",
		"\"}, {\"deny\": \"\\\n# x", "" };
	static const char want[] =
	    "{\"version\":1,\"policies\":{\"allow\":{\"rules\":["
	    "{\"allow\":\"https://a.test/**\"}\n"
	    ",{\"allow\":\"\\\"}, {\\\"deny\\\": \\\"\\\\\\n# x\"}\n"
	    ",{\"allow\":\"\"}]}}}";
	char text[512];
	int fd = policy_file_of_patterns(patterns, COUNT_OF(patterns));

	(void)state;
	assert_true(fd >= 0);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(n > 0);
	text[n] = '\0';
	assert_string_equal(text, want);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    policy_file_includes_what_lies_in_or_below_its_folder),
		cmocka_unit_test(policy_file_opens_nothing_else),
		cmocka_unit_test(policy_file_of_a_pipe_includes_nothing),
		cmocka_unit_test(policy_file_that_was_replaced_is_refused),
		cmocka_unit_test(
		    policy_file_is_trusted_below_the_owners_directory_alone),
		cmocka_unit_test(policy_file_counts_its_includes),
		cmocka_unit_test(policy_file_of_patterns_has_a_line_for_each),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
