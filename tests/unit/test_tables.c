/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of docs/architecture.md say what those of priv/ say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "priv/dispatch.h"
#include "priv/seccomp.h"

static struct buf page;

static int
read_page(void **state)
{
	FILE *f = fopen(DOCS "/architecture.md", "r");
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

static void
want_row(struct buf *row)
{
	print_message("# %.60s\n", buf_text(row));
	assert_non_null(strstr(buf_text(&page), buf_text(row)));
	buf_release(row);
}

/* "| `worker` | read write … |", each call once. */
static void
architecture_has_the_system_calls_of_each_role(void **state)
{
	(void)state;
	for (int r = ROLE_STEWARD; r < ROLE_COUNT; r++) {
		struct buf calls, row;
		char last[64] = "";
		buf_init(&calls, 1 << 16);
		buf_init(&row, 1 << 16);
		seccomp_print((enum role)r, &calls);
		assert_true(calls.n != 0);
		buf_putf(&row, "| `%s` | ", role_name((enum role)r));
		for (const char *p = buf_text(&calls); *p != '\0';) {
			size_t n = strcspn(p, "\n");
			if (n != strlen(last) || strncmp(last, p, n) != 0)
				buf_putf(&row, "%.*s ", (int)n, p);
			snprintf(last, sizeof(last), "%.*s", (int)n, p);
			p += n + 1;
		}
		buf_put_str(&row, "|\n");
		want_row(&row);
		buf_release(&calls);
	}
}

static void
put_roles(struct buf *row, uint16_t op, bool senders)
{
	bool any = false;

	for (int a = 0; a < ROLE_COUNT; a++) {
		bool may = false;
		for (int b = 0; b < ROLE_COUNT; b++)
			may = may ||
			    (senders ? dispatch_may((enum role)a, (enum role)b,
					   op) :
				       dispatch_may((enum role)b, (enum role)a,
					   op));
		if (may)
			buf_putf(row, "%s%s", any ? ", " : "",
			    role_name((enum role)a));
		any = any || may;
	}
}

static void
architecture_has_who_may_send_each_message(void **state)
{
	(void)state;
	for (uint16_t op = 0; op <= OP_MAX; op++) {
		struct buf row;
		if (dispatch_op_name(op)[0] == '?')
			continue;
		buf_init(&row, 1024);
		buf_putf(&row, "| `%s` | ", dispatch_op_name(op));
		put_roles(&row, op, true);
		buf_put_str(&row, " | ");
		put_roles(&row, op, false);
		buf_put_str(&row, " |\n");
		want_row(&row);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    architecture_has_the_system_calls_of_each_role),
		cmocka_unit_test(architecture_has_who_may_send_each_message),
	};

	return cmocka_run_group_tests(tests, read_page, drop_page);
}
