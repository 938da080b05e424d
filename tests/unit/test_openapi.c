/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/openapi.yaml has the paths, methods, keys and codes of the code, and no
 * others.  It is read by its lines: what is compared stands at the beginning of
 * one, and the first test finds out if that were not so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "control/content.h"
#include "control/route.h"

static struct buf page;

static int
read_page(void **state)
{
	FILE *f = fopen(DOCS "/openapi.yaml", "r");
	int c;

	(void)state;
	assert_non_null(f);
	buf_init(&page, 1 << 20);
	while ((c = fgetc(f)) != EOF)
		buf_put_byte(&page, (uint8_t)c);
	fclose(f);
	return 0;
}

static int
drop_page(void **state)
{
	(void)state;
	buf_release(&page);
	return 0;
}

/* What stands between the line `head` and the next that is no deeper. */
static struct slice
part(const char *head)
{
	const char *text = buf_text(&page);
	const char *at = strstr(text, head);
	size_t depth = strspn(head + 1, " ");

	assert_non_null(at);
	const char *begin = at + strlen(head), *end = begin;
	while (*end != '\0' && strspn(end, " ") > depth)
		end += strcspn(end, "\n") + 1;
	return slice_of(begin, (size_t)(end - begin));
}

/* The words that begin a line with `depth` blanks before them. */
static size_t
words(struct slice in, size_t depth, char out[64][64])
{
	size_t n = 0;

	while (in.n != 0) {
		const char *line = (const char *)in.p;
		const uint8_t *nl = memchr(in.p, '\n', in.n);
		size_t size = nl == NULL ? in.n : (size_t)(nl - in.p) + 1;
		size_t length = strcspn(line + depth, ": #\n");
		if (size > depth && strspn(line, " ") == depth && n < 64)
			snprintf(out[n++], 64, "%.*s", (int)length,
			    line + depth);
		in = slice_from(in, size);
	}
	return n;
}

static bool
has(char list[64][64], size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], word) == 0)
			return true;
	print_message("# not there: %s\n", word);
	return false;
}

static void
it_has_the_paths_and_methods(void **state)
{
	(void)state;
	static const char *const methods[] = { "get", "put", "post", "delete",
		"patch", "head", "options", "trace" };
	static char paths[64][64], found[64][64];
	size_t n_paths = words(part("\npaths:\n"), 2, paths), n_methods = 0;
	size_t n_rows = 0;

	for (; route_at(n_rows) != NULL; n_rows++) {
		char head[128], method[16] = "";
		const struct route *r = route_at(n_rows);
		assert_true(has(paths, n_paths, r->path));
		snprintf(head, sizeof(head), "\n  %s:\n", r->path);
		size_t n = words(part(head), 4, found);
		for (size_t i = 0; r->method[i] != '\0'; i++)
			method[i] = (char)(r->method[i] | 0x20);
		assert_true(has(found, n, method));
	}
	for (size_t i = 0; i < n_paths; i++) {
		char head[128];
		snprintf(head, sizeof(head), "\n  %s:\n", paths[i]);
		size_t n = words(part(head), 4, found);
		for (size_t k = 0; k < n; k++)
			for (size_t m = 0; m < COUNT_OF(methods); m++)
				n_methods += strcmp(found[k], methods[m]) == 0;
	}
	assert_int_equal(n_methods, n_rows);
}

static void
same_keys(const char *schema, enum control_verb verb)
{
	static char found[64][64];
	char head[128];
	size_t n_keys = 0;

	snprintf(head, sizeof(head), "\n    %s:\n", schema);
	struct slice all = part(head);
	const uint8_t *at = memmem(all.p, all.n, "      properties:\n", 18);
	assert_non_null(at);
	size_t n = words(slice_from(all, (size_t)(at - all.p) + 18), 8, found);
	for (; content_key(verb, n_keys) != NULL; n_keys++)
		assert_true(has(found, n, content_key(verb, n_keys)));
	assert_int_equal(n, n_keys);
}

static void
it_has_the_keys_of_each_body(void **state)
{
	(void)state;
	same_keys("Attach", CONTROL_ATTACH);
	same_keys("Allow", CONTROL_ALLOW);
}

static void
it_has_the_codes_with_their_status(void **state)
{
	(void)state;
	struct slice list = part("\n          enum:\n");
	size_t lines = 0;

	for (int c = 0; c < CONTROL_CODES; c++) {
		char line[256];
		enum control_code code = (enum control_code)c;
		snprintf(line, sizeof(line), "            - %s # %u: %s\n",
		    control_code_name(code), control_code_status(code),
		    control_code_what(code));
		print_message("# %s\n", control_code_name(code));
		assert_non_null(memmem(list.p, list.n, line, strlen(line)));
	}
	for (size_t i = 0; i < list.n; i++)
		lines += list.p[i] == '\n';
	assert_int_equal(lines, CONTROL_CODES);
}

static void
it_has_the_kinds_of_capture(void **state)
{
	(void)state;
	char line[128] = "enum: [";

	for (int m = 0; m < CAPTURE_MODES; m++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
		    "%s%s", m == 0 ? "" : ", ",
		    capture_mode_name((enum capture_mode)m));
	snprintf(line + strlen(line), sizeof(line) - strlen(line), "]");
	assert_non_null(strstr(buf_text(&page), line));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_the_paths_and_methods),
		cmocka_unit_test(it_has_the_keys_of_each_body),
		cmocka_unit_test(it_has_the_codes_with_their_status),
		cmocka_unit_test(it_has_the_kinds_of_capture),
	};

	return cmocka_run_group_tests(tests, read_page, drop_page);
}
