/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown and in which order; paths; sockets; environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "ns/env.h"
#include "ns/path.h"
#include "ns/plan.h"
#include "ns/startfile.h"

static void
path_functions_take_each_case(void **state)
{
	char out[16];

	(void)state;
	assert_true(path_is_below("/a/b", "/a"));
	assert_true(path_is_below("/a", "/a"));
	assert_true(path_is_below("/a", "/"));
	assert_false(path_is_below("/ab", "/a"));
	assert_false(path_is_below("/a", "/a/b"));
	assert_true(path_is_clean("/"));
	assert_true(path_is_clean("/a/.b/..c"));
	assert_false(path_is_clean("a"));
	assert_false(path_is_clean("/a/"));
	assert_false(path_is_clean("/a//b"));
	assert_false(path_is_clean("/a/./b"));
	assert_false(path_is_clean("/a/.."));
	assert_true(path_join(out, sizeof(out), "/", "a"));
	assert_string_equal(out, "/a");
	assert_true(path_join(out, sizeof(out), "/a", "b"));
	assert_string_equal(out, "/a/b");
	assert_false(path_join(out, sizeof(out), "/0123456789", "abcd"));
	assert_true(path_folder(out, sizeof(out), "/a/b"));
	assert_string_equal(out, "/a");
	assert_true(path_folder(out, sizeof(out), "/a"));
	assert_string_equal(out, "/");
}

static void
sockets_are_those_with_a_path(void **state)
{
	static const char text[] =
	    "Num       RefCount Protocol Flags    Type St Inode Path\n"
	    "00000000: 00000002 00000000 00010000 0001 01 20131 /nowhere/a b\n"
	    "00000000: 00000003 00000000 00000000 0001 03 23124\n"
	    "00000000: 00000002 00000000 00010000 0001 01 1 @/tmp/.X11-unix/X0\n"
	    "0000000000000000: 2 0 10000 0005 01 9 /nowhere/c/d";
	struct sockets s;
	size_t at = 0;

	(void)state;
	sockets_parse(&s, slice_of_str(text));
	assert_int_equal(s.n, 2);
	assert_string_equal(sockets_find_below(&s, "/nowhere", &at),
	    "/nowhere/a b");
	assert_string_equal(sockets_find_below(&s, "/nowhere", &at),
	    "/nowhere/c/d");
	assert_null(sockets_find_below(&s, "/nowhere", &at));
	at = 0;
	assert_null(sockets_find_below(&s, "/nowhere/c/dd", &at));
	sockets_release(&s);
}

static const struct plan_item *
find(const struct plan *plan, const char *path, enum plan_rank rank)
{
	for (size_t i = 0; i < plan->n; i++)
		if (plan->item[i].rank == rank &&
		    strcmp(plan->item[i].path, path) == 0)
			return &plan->item[i];
	return NULL;
}

static void
plan_puts_folders_before_what_is_in_them(void **state)
{
	static const struct view_bind binds[] = { { "/h/u/p/sub", false },
		{ "/h/u/cache", true }, { "/srv/x", false } };
	static const char *const pins[] = { "/h/u/p/duenna.yaml",
		"/h/u/p/pol/a.yaml", "/etc/duenna/b.yaml",
		"/h/u/p/x/y/c.yaml" };
	char git[] = ".git", module[] = ".git/modules/m", file[] = "v/.git";
	char link[] = "w/.git", host[] = "/usr/lib/x.sock";
	char *sockets[] = { host };
	struct repo repo[] = { { git, REPO_FOLDER }, { module, REPO_FOLDER },
		{ file, REPO_FILE }, { link, REPO_LINK } };
	struct repos repos[4] = { { .repo = repo, .n = 4 } };
	struct sockets s = { sockets, 1 };
	struct view view = { .home = "/h/u",
		.home_dir = "/state/home",
		.work = "/h/u/p",
		.binds = binds,
		.n_binds = 3,
		.pins = pins,
		.n_pins = 4 };
	struct plan plan;

	(void)state;
	plan_make(&plan, &view, repos, &s);
	for (size_t i = 0; i < plan.n; i++)
		for (size_t k = i + 1; k < plan.n; k++)
			assert_false(
			    strcmp(plan.item[i].path, plan.item[k].path) != 0 &&
			    path_is_below(plan.item[i].path,
				plan.item[k].path));
	assert_string_equal(plan.item[0].path, "/h/u");
	assert_string_equal(plan.item[0].source, "/state/home");
	assert_non_null(find(&plan, "/h/u/.gitconfig", PLAN_KNOWN));
	assert_non_null(find(&plan, "/h/u/p/sub", PLAN_READ));
	assert_non_null(find(&plan, "/h/u/cache", PLAN_WRITE));
	assert_non_null(find(&plan, "/h/u/p/.git", PLAN_REPO));
	assert_non_null(find(&plan, "/h/u/p/.git/hooks", PLAN_PIN));
	assert_non_null(find(&plan, "/h/u/p/.git/modules/m/hooks", PLAN_PIN));
	assert_non_null(find(&plan, "/h/u/p/v/.git", PLAN_PIN));
	assert_null(find(&plan, "/h/u/p/w/.git", PLAN_PIN));
	assert_non_null(find(&plan, "/h/u/p/duenna.yaml", PLAN_PIN));
	assert_null(find(&plan, "/h/u/p", PLAN_PIN));
	assert_non_null(find(&plan, "/h/u/p/pol", PLAN_PIN));
	assert_non_null(find(&plan, "/h/u/p/pol/a.yaml", PLAN_PIN));
	assert_null(find(&plan, "/etc/duenna/b.yaml", PLAN_PIN));
	/* A folder above may be written to, and cannot be renamed away. */
	assert_non_null(find(&plan, "/h/u/p/x/y", PLAN_PIN));
	assert_non_null(find(&plan, "/h/u/p/x", PLAN_REPO));
	assert_non_null(find(&plan, host, PLAN_COVER));
	plan_release(&plan);
}

static void
view_resolve_follows_no_link_of_the_commands(void **state)
{
	char work[] = "/tmp/test-view-XXXXXX", path[64], *real = NULL;
	struct fail fail = { 0 };

	(void)state;
	assert_non_null(mkdtemp(work));
	snprintf(path, sizeof(path), "%s/link", work);
	assert_int_equal(symlink("/usr", path), 0);
	assert_int_equal(view_resolve(path, work, &real, &fail), -1);
	assert_non_null(strstr(fail.text, path));
	assert_int_equal(view_resolve("link/lib", work, &real, &fail), -1);
	assert_int_equal(view_resolve("link/..", work, &real, &fail), -1);
	/* Elsewhere links are the operator's. */
	assert_int_equal(view_resolve(path, "/nowhere", &real, &fail), 0);
	assert_string_equal(real, "/usr");
	free(real);
	assert_int_equal(view_resolve(".", work, &real, &fail), 0);
	free(real);
	assert_int_equal(view_resolve("missing", work, &real, &fail), -1);
	unlink(path);
	rmdir(work);
}

static void
env_is_a_list(void **state)
{
	char path[] = "PATH=/bin", home[] = "HOME=/h", ld[] = "LD_PRELOAD=/x";
	char lc[] = "LC_TIME=C", token[] = "TOKEN=s", odd[] = "LC_ODD";
	char similar[] = "PATHX=1";
	char *caller[] = { ld, similar, path, home, lc, token, odd, NULL };
	struct env env;

	(void)state;
	env_init(&env, caller);
	assert_int_equal(env.n, 3);
	assert_null(env_find(&env, "LD_PRELOAD"));
	assert_string_equal(env_find(&env, "LC_TIME"), "C");
	assert_true(env_keep(&env, caller, "TOKEN"));
	assert_false(env_keep(&env, caller, "NONE"));
	env_set(&env, "TOKEN", "other");
	env_set(&env, "NEW", "a=b");
	assert_string_equal(env_find(&env, "TOKEN"), "other");
	assert_string_equal(env_find(&env, "NEW"), "a=b");
	assert_int_equal(env.n, 5);
	assert_null(env.list[5]);
	env_release(&env);
}

/* Behind the user's own; a count that is none is not touched. */
static void
env_gets_settings_of_git(void **state)
{
	char count[] = "GIT_CONFIG_COUNT=1", key[] = "GIT_CONFIG_KEY_0=a.b";
	char odd[] = "GIT_CONFIG_COUNT=1x", much[] = "GIT_CONFIG_COUNT=10001";
	char empty[] = "GIT_CONFIG_COUNT=";
	char *callers[][3] = { { count, key, NULL }, { odd, NULL },
		{ much, NULL }, { empty, NULL }, { NULL } };
	struct env env;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(callers); i++) {
		bool good = i != 1 && i != 2;
		env_init(&env, callers[i]);
		(void)env_keep(&env, callers[i], "GIT_CONFIG_COUNT");
		(void)env_keep(&env, callers[i], "GIT_CONFIG_KEY_0");
		assert_int_equal(env_add_git(&env, "k", "v"), good);
		assert_int_equal(env_add_git(&env, "k", "w"), good);
		const char *at = env_find(&env, "GIT_CONFIG_COUNT");
		const char *second = env_find(&env,
		    i == 0 ? "GIT_CONFIG_VALUE_2" : "GIT_CONFIG_VALUE_1");
		assert_string_equal(at,
		    i == 0     ? "3" :
			good   ? "2" :
			i == 1 ? "1x" :
				 "10001");
		if (good)
			assert_string_equal(second, "w");
		else
			assert_null(second);
		if (i == 0)
			assert_string_equal(env_find(&env, "GIT_CONFIG_KEY_0"),
			    "a.b");
		env_release(&env);
	}
}

/* clang-format off */
static const struct {
	const char *name, *in, *want;
} scripts[] = {
	{ "there", "{\"a\": 1, \"scripts\": {\"x\": \"{y\"}, \"b\": []}", "{\"x\": \"{y\"}" },
	{ "none", "{\"name\": \"scripts\"}", "" },
	{ "deeper", "{\"a\": {\"scripts\": {\"x\": 1}}}", "" },
	{ "escapes elsewhere", "{\"d\": \"a\\\"b\", \"scripts\": {}}", "{}" },
	{ "a key with an escape", "{\"s\\u0063ripts\": {}}", "{\"s\\u0063ripts\": {}}" },
	{ "twice", "{\"scripts\": {}, \"scripts\": {}}", "{\"scripts\": {}, \"scripts\": {}}" },
	{ "no object", "{\"scripts\": 1}", "{\"scripts\": 1}" },
	{ "cut", "{\"scripts\": {", "{\"scripts\": {" },
	{ "cut in a string", "{\"scrap", "{\"scrap" },
	{ "empty", "", "" },
};
/* clang-format on */

static void
startfile_scripts_takes_each_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(scripts); i++) {
		print_message("# %s\n", scripts[i].name);
		struct slice is =
		    startfile_scripts(slice_of_str(scripts[i].in));
		assert_int_equal(is.n, strlen(scripts[i].want));
		assert_memory_equal(is.p, scripts[i].want, is.n);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_functions_take_each_case),
		cmocka_unit_test(sockets_are_those_with_a_path),
		cmocka_unit_test(plan_puts_folders_before_what_is_in_them),
		cmocka_unit_test(view_resolve_follows_no_link_of_the_commands),
		cmocka_unit_test(env_is_a_list),
		cmocka_unit_test(env_gets_settings_of_git),
		cmocka_unit_test(startfile_scripts_takes_each_case),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
