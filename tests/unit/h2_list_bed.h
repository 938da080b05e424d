/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of fields as lines of text, for tests of wire/h2_head.h. */
#ifndef TESTS_UNIT_H2_LIST_BED_H
#define TESTS_UNIT_H2_LIST_BED_H

#include <stdio.h>

#include "row.h"
#include "wire/h2_head.h"

#define LIST_SIZE 200000

/*
 * A list from lines of `name|value`, in memory of exactly its size; for drop().
 * \1 stands for LF, \2 for NUL; a name that begins with `!` is never indexed.
 */
static inline struct slice
list_of(const char *text)
{
	static uint8_t room[LIST_SIZE];
	struct wr w = wr_of(room, sizeof(room));

	while (*text != '\0') {
		uint8_t line[4096];
		size_t n = strcspn(text, "\n"), bar = strcspn(text, "|");
		assert_true(n < sizeof(line) && bar < n);
		memcpy(line, text, n);
		for (size_t i = 0; i < n; i++)
			line[i] = line[i] == 1 ? '\n' :
			    line[i] == 2       ? '\0' :
						 line[i];
		bool never = line[0] == '!';
		struct field f = {
			.name = slice_of(line + never, bar - never),
			.value = slice_of(line + bar + 1, n - bar - 1),
			.never_indexed = never,
		};
		h2_fields_put(&w, &f);
		text += n + (text[n] == '\n');
	}
	assert_false(w.bad);
	return exact(wr_slice(&w));
}

/* The same lines from a list, names that are never indexed marked. */
static inline const char *
text_of(struct slice list)
{
	static char text[LIST_SIZE];
	struct field f;
	size_t at = 0;

	while (h2_fields_take(&list, &f))
		at += (size_t)snprintf(text + at, sizeof(text) - at,
		    "%s%.*s|%.*s\n", f.never_indexed ? "!" : "",
		    SLICE_ARG(f.name), SLICE_ARG(f.value));
	assert_int_equal(list.n, 0);
	return text;
}

#endif
