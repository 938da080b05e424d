/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/audit.md has exactly the events, fields and reasons of the tables, and
 * tests/golden/audit the lines of some events.  With UPDATE=1 in the
 * environment the golden lines are written anew.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>

#include "audit/chain.h"
#include "base/ascii.h"

#define GOLDEN DOCS "/../tests/golden/audit"
#define WALL_US 1796029687123456ULL

static void
read_file(const char *path, struct buf *b)
{
	FILE *f = fopen(path, "r");
	int c;

	print_message("# %s\n", path);
	assert_non_null(f);
	buf_init(b, 1 << 20);
	while ((c = fgetc(f)) != EOF)
		buf_put_byte(b, (uint8_t)c);
	fclose(f);
}

/* The rows of the table below that heading of the page. */
static struct slice
section(struct buf *page, const char *heading)
{
	char *at = strstr(buf_text(page), heading);

	assert_non_null(at);
	at += strlen(heading);
	char *end = strstr(at, "\n## ");
	return slice_of(at, end == NULL ? strlen(at) : (size_t)(end - at));
}

static size_t
count_rows(struct slice table)
{
	size_t n = 0;

	for (size_t i = 0; i + 3 < table.n; i++)
		n += memcmp(table.p + i, "\n| `", 4) == 0 ? 1 : 0;
	return n;
}

static void
assert_row(struct slice table, struct buf *row)
{
	char *text = strndup((const char *)table.p, table.n);

	if (strstr(text, buf_text(row)) == NULL)
		fail_msg("docs/audit.md lacks %s", buf_text(row) + 1);
	free(text);
	buf_clear(row);
}

static void
the_page_has_every_event_and_what_it_must_have(void **state UNUSED)
{
	struct buf page, row;

	read_file(DOCS "/audit.md", &page);
	buf_init(&row, 4096);
	struct slice table = section(&page, "\n## Events\n");
	assert_int_equal(count_rows(table), EVENT_COUNT);
	for (int k = 0; k < EVENT_COUNT; k++) {
		enum event_kind kind = (enum event_kind)k;
		const char *blank = "";
		buf_putf(&row, "\n| `%s` | %s | ", event_name(kind),
		    event_meaning(kind));
		for (int f = 0; f < FIELD_COUNT; f++) {
			if (!event_needs(kind, (enum event_field)f))
				continue;
			buf_putf(&row, "%s`%s`", blank,
			    event_field_key((enum event_field)f));
			blank = " ";
		}
		buf_put_str(&row, blank[0] == '\0' ? "- |\n" : " |\n");
		assert_row(table, &row);
	}
	buf_release(&row);
	buf_release(&page);
}

static void
the_page_has_every_field_and_its_type(void **state UNUSED)
{
	struct buf page, row;

	read_file(DOCS "/audit.md", &page);
	buf_init(&row, 4096);
	struct slice table = section(&page, "\n## Fields\n");
	assert_int_equal(count_rows(table), FIELD_COUNT);
	for (int i = 0; i < FIELD_COUNT; i++) {
		enum event_field f = (enum event_field)i;
		buf_putf(&row, "\n| `%s` | %s | ", event_field_key(f),
		    event_field_is_text(f)     ? "text" :
			event_field_is_bool(f) ? "boolean" :
						 "number");
		assert_row(table, &row);
	}
	buf_release(&row);
	buf_release(&page);
}

static void
the_page_has_every_reason(void **state UNUSED)
{
	struct buf page, row;

	read_file(DOCS "/audit.md", &page);
	buf_init(&row, 4096);
	struct slice table = section(&page, "\n## Reasons\n");
	assert_int_equal(count_rows(table), REASON_COUNT);
	for (int i = 0; i < REASON_COUNT; i++) {
		enum reason r = (enum reason)i;
		buf_putf(&row, "\n| `%s` | ", reason_name(r));
		if (reason_status(r) != 0)
			buf_putf(&row, "%u", reason_status(r));
		else
			buf_put_str(&row, "-");
		buf_putf(&row, " | %s |\n", reason_meaning(r));
		assert_row(table, &row);
	}
	buf_release(&row);
	buf_release(&page);
}

/* Undo \xNN, in place; returns the length. */
static size_t
unescape(char *s)
{
	size_t n = 0;

	for (char *p = s; *p != '\0'; p++) {
		if (p[0] != '\\' || p[1] != 'x') {
			s[n++] = *p;
			continue;
		}
		s[n++] = (char)(ascii_hex((uint8_t)p[2]) * 16 +
		    ascii_hex((uint8_t)p[3]));
		p += 3;
	}
	return n;
}

/* One row of an .event file: key, blank, value. */
static void
take_row(char *row, struct event *e)
{
	char *value = strchr(row, ' ');
	enum event_field f;

	assert_non_null(value);
	*value++ = '\0';
	if (strcmp(row, "event") == 0) {
		event_init(e, event_find(slice_of_str(value)));
		return;
	}
	f = event_field_find(slice_of_str(row));
	print_message("# %s\n", row);
	assert_true(f != FIELD_COUNT);
	if (event_field_is_text(f))
		event_text(e, f, slice_of(value, unescape(value)));
	else if (event_field_is_bool(f))
		event_bool(e, f, strcmp(value, "true") == 0);
	else
		event_number(e, f, strtoull(value, NULL, 10));
}

static void
line_of(const char *path, struct buf *line)
{
	struct buf file;
	struct chain chain;
	enum err err = ERR_NONE;
	struct event e;
	char *rest;

	read_file(path, &file);
	(void)buf_text(&file);
	rest = (char *)file.p;
	for (char *row = strsep(&rest, "\n"); row != NULL && *row != '\0';
	     row = strsep(&rest, "\n"))
		if (row[0] != '#')
			take_row(row, &e);
	assert_int_equal(chain_init(&chain, &err), 0);
	buf_init(line, LINE_SIZE_MAX);
	chain_put(&chain, WALL_US, &e, line);
	assert_false(line->failed);
	chain_release(&chain);
	buf_release(&file);
}

static void
events_give_their_golden_lines(void **state UNUSED)
{
	DIR *dir = opendir(GOLDEN);
	const struct dirent *d;
	size_t n = 0;

	assert_non_null(dir);
	while ((d = readdir(dir)) != NULL) {
		char path[512], *end;
		struct buf line, want;
		snprintf(path, sizeof(path), GOLDEN "/%.80s", d->d_name);
		end = strstr(path, ".event");
		if (end == NULL)
			continue;
		n++;
		line_of(path, &line);
		memcpy(end, ".line", 6);
		if (getenv("UPDATE") != NULL) {
			FILE *f = fopen(path, "w");
			assert_non_null(f);
			fputs(buf_text(&line), f);
			fclose(f);
		}
		read_file(path, &want);
		assert_string_equal(buf_text(&line), buf_text(&want));
		buf_release(&line);
		buf_release(&want);
	}
	closedir(dir);
	assert_true(n >= 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    the_page_has_every_event_and_what_it_must_have),
		cmocka_unit_test(the_page_has_every_field_and_its_type),
		cmocka_unit_test(the_page_has_every_reason),
		cmocka_unit_test(events_give_their_golden_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
