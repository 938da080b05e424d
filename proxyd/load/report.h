/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with files that people wrote: `file:line:column: message`, all
 * of it, not only the first.
 */
#ifndef LOAD_REPORT_H
#define LOAD_REPORT_H

#include "base/attr.h"
#include "base/buf.h"

#define LOAD_ERRORS_MAX 50    /* later ones are counted, not kept */
#define LOAD_WARNINGS_MAX 200 /* likewise */

enum load_severity {
	LOAD_ERROR,   /* there is no image */
	LOAD_WARNING, /* it hardly means what it says */
	LOAD_ADVICE,  /* it takes a check away: `duenna check` says so */
};

/*
 * A place in a file; line and column count from 1.  0: what is named is an
 * argument of the command line, such as `--set`, or a file that is not there.
 */
struct load_at {
	struct slice file; /* its name for messages; outlives the report */
	uint32_t line, column;
};

struct load_message {
	enum load_severity severity;
	struct load_at at;
	struct slice text; /* owned by the report */
	bool owns_name;	   /* at.file is owned as well */
};

struct load_report {
	struct load_message *messages; /* owned */
	uint32_t n, cap;
	uint32_t n_errors, n_warnings; /* all, kept or not */
	bool want_advice; /* set by the caller: else it is dropped */
};

/* A report begins as zero bytes. */
void load_report_release(struct load_report *r);

void load_say(struct load_report *r, enum load_severity severity,
    struct load_at at, const char *fmt, ...) PRINTF_LIKE(4, 5);

#define load_error(r, at, ...) load_say(r, LOAD_ERROR, at, __VA_ARGS__)
#define load_warn(r, at, ...) load_say(r, LOAD_WARNING, at, __VA_ARGS__)
#define load_advise(r, at, ...) load_say(r, LOAD_ADVICE, at, __VA_ARGS__)

/* Copy the names of files, which the caller is about to let go. */
void load_report_keep_names(struct load_report *r);

/* Put them in the order of files and lines: errors first. */
void load_report_sort(struct load_report *r);

/* One line a message; of those not kept, the number. */
void load_report_text(const struct load_report *r, struct buf *out);

#endif
