/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/slice.h"
#include "ns/trace.h"

static char top[] = "/tmp/trace-XXXXXX";

/* What was seen below `top`, a blank behind each. */
static bool
note(const char *place, void *arg)
{
	char *all = arg;

	if (strncmp(place, top, strlen(top)) == 0 && place[strlen(top)] != '\0')
		snprintf(all + strlen(all), 1024 - strlen(all), "%s ",
		    place + strlen(top) + 1);
	return true;
}

static bool
refuse_open(const char *place, void *arg)
{
	(void)arg;
	return strstr(place, "/open") == NULL;
}

static int
setup(void **state)
{
	static const char *const links[][2] = {
		{ "tool", "one" },		/* to a file beside it */
		{ "bin/tool", "two" },		/* to one below */
		{ "../real/tool", "bin/up" },	/* with a part up */
		{ "open/hop", "three" },	/* through the open folder */
		{ "../real/tool", "open/hop" }, /* ... and out of it */
		{ "nothing", "dangling" },	/* to nothing */
		{ "open/later", "planted" },	/* to what is not there yet */
		{ "loop", "loop" },		/* to itself */
		{ "open", "folder" },		/* a folder */
	};
	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(chdir(top), 0);
	assert_int_equal(mkdir("bin", 0700), 0);
	assert_int_equal(mkdir("real", 0700), 0);
	assert_int_equal(mkdir("open", 0700), 0);
	static const char *const files[] = { "tool", "bin/tool", "real/tool" };
	for (size_t i = 0; i < COUNT_OF(files); i++)
		close(open(files[i], O_CREAT | O_WRONLY, 0700));
	for (size_t i = 0; i < COUNT_OF(links); i++)
		assert_int_equal(symlink(links[i][0], links[i][1]), 0);
	return 0;
}

static int
teardown(void **state)
{
	static const char *const all[] = { "one", "two", "bin/up", "three",
		"open/hop", "dangling", "planted", "loop", "folder", "tool",
		"bin/tool", "real/tool", "bin", "real", "open" };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(all); i++)
		remove(all[i]);
	assert_int_equal(chdir("/"), 0);
	return rmdir(top);
}

static const struct {
	const char *path, *seen;
	bool goes, clear; /* it ends; it never touches the open folder */
} rows[] = {
	{ "tool", "tool ", true, true },
	{ "one", "one tool ", true, true },
	{ "two", "two bin bin/tool ", true, true },
	{ "bin/up", "bin bin/up real real/tool ", true, true },
	{ "three", "three open open/hop real real/tool ", true, false },
	{ "folder/hop", "folder open open/hop real real/tool ", true, false },
	{ "dangling", "dangling nothing ", true, true },
	{ "planted", "planted open open/later ", true, false },
	{ "missing/below", "missing ", true, true },
	{ "open/later", "open open/later ", true, false },
	{ "tool/below", "tool tool/below ", true, true },
	{ "loop", NULL, false, false },
};

static void
trace_sees_every_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char path[PATH_MAX], all[1024] = "";
		print_message("# %s\n", rows[i].path);
		snprintf(path, sizeof(path), "%s/%s", top, rows[i].path);
		assert_int_equal(trace_path(path, note, all), rows[i].goes);
		if (rows[i].seen != NULL)
			assert_string_equal(all, rows[i].seen);
		assert_int_equal(trace_path(path, refuse_open, NULL),
		    rows[i].clear);
	}
}

static void
trace_refuses_what_is_too_long(void **state)
{
	static char much[3 * PATH_MAX];
	(void)state;
	memset(much, 'x', sizeof(much) - 1);
	much[0] = '/';
	assert_false(trace_path(much, refuse_open, NULL));
	much[NAME_MAX + 10] = '\0'; /* a part that no file can have */
	assert_true(trace_path(much, refuse_open, NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trace_sees_every_place),
		cmocka_unit_test(trace_refuses_what_is_too_long),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
