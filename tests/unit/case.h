/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of tests/cases, read: see the README there for their format. */
#ifndef TESTS_UNIT_CASE_H
#define TESTS_UNIT_CASE_H

#include <stdbool.h>

#include "base/slice.h"

/* Before a credential's name: its placeholder; behind it: its secret. */
#define CASE_PLACEHOLDER "ghp_dUeNnA7qAbCdEfGhIjKlMnOpQrStUvWx-"
#define CASE_SECRET "-canary-0123456789-0123456789"

#define CASE_SIZE 1100000 /* bytes of the longest case */

struct case_row {
	char id[32];
	char input[16];
	char policy[32];
	char reason[32];
	char alarm[32];	   /* reason of the alarm that is raised; or empty */
	const char *bytes; /* escaped; borrowed from the line */
	const char *sees;
};

/*
 * Take a line apart, in place.  False for an empty one and for a comment;
 * fails the test if it is neither and has not six fields.
 */
bool case_read(char *line, struct case_row *row);

/*
 * Write what `escaped` stands for to `out` (CASE_SIZE bytes) and return its
 * length.  `pick` tells which byte of a `\?{...}` to take; *picks is set to how
 * many there are, 1 without one.
 */
size_t case_unescape(const char *escaped, size_t pick, size_t *picks,
    uint8_t *out);

/* Call `check` for each row of tests/cases/NAME.rows; at least so many. */
void case_file(const char *name, size_t at_least,
    void (*check)(const struct case_row *row));

/* The text of a file of tests/cases, with a NUL behind it; free() it. */
char *case_text(const char *name);

#endif
