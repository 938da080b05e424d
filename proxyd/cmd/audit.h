/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `duenna audit`: what its subcommands share.  One file each: audit_show.c,
 * audit_tail.c, audit_report.c, audit_suggest.c, audit_verify.c (verify, key),
 * audit_replay.c, audit_export.c.
 */
#ifndef CMD_AUDIT_H
#define CMD_AUDIT_H

#include <sys/types.h>

#include "audit/reader.h"
#include "base/attr.h"

/* Which records are wanted; of the same option any, of different ones all. */
struct audit_pick {
	uint32_t events; /* --event: bits of enum event_kind; 0: any */
	bool reasons[REASON_COUNT]; /* --reason */
	bool has_reason;	    /* one of these is set */
	const char *verdict;	    /* --verdict, --denied: allow or deny */
	const char *sandbox, *rule, *flow;
	const char *host;	/* --host: also what is below it with `*.` */
	uint64_t since_us;	/* --since */
	uint64_t until_us;	/* --until; 0: none */
	unsigned long long max; /* --limit; 0: none */
};

struct audit_options {
	const char *file;     /* NULL: the newest log of `run` */
	const char *programs; /* --programs: folder of program images */
	const char *key;      /* --key: digits, or a file that has them */
	const char *hash;     /* --hash: of a record that must be there */
	const char *format;   /* --format: of export; NULL: otlp */
	unsigned long lines;  /* -n: of tail */
	bool json, all, once, open;
	struct audit_pick pick;
	bool filters; /* one of them was given */
};

/* Each: the exit status.  `o->file` is set for all but tail and key. */
int audit_show(const struct audit_options *o);
int audit_tail(const struct audit_options *o);
int audit_report(const struct audit_options *o);
int audit_suggest(const struct audit_options *o);
int audit_verify(const struct audit_options *o);
int audit_replay(const struct audit_options *o);
int audit_key(const struct audit_options *o);
int audit_export(const struct audit_options *o);

/* --- audit_file.c -------------------------------------------------------- */

/* Append $XDG_STATE_HOME/duenna/NAME.  False, and said: no home. */
MUST_USE bool audit_state_path(struct buf *out, const char *name);

/* Open for reading.  -1, and said why. */
MUST_USE int audit_open(const char *path);

bool audit_is_log_name(const char *name);

/* Append the path of the log of `run` that was written last: the seconds of
 * their names are too coarse.  False, and said: there is none. */
MUST_USE bool audit_find_newest(struct buf *path);

/* A way through a log. */
struct audit_walk {
	const char *path; /* for messages */
	int fd;
	off_t from;	    /* where it begins; behind it, where it came to */
	uint64_t n_records; /* that were read */
	uint64_t n_bad;	    /* lines that are none */
};

/* `in`: the line as it is, which begins at `at`.  False: no more of them. */
typedef bool audit_on_line(const struct line *l, struct slice in, off_t at,
    void *arg);

/* Every record from `from` to the end, or to a line that is cut.  False, and
 * said: it cannot be read. */
MUST_USE bool audit_walk(struct audit_walk *w, audit_on_line *each, void *arg);

/*
 * Of a way that led to `n_rows` rows: false, and said, if lines on it are no
 * records, or if filters took all of them.
 */
bool audit_end(const struct audit_options *o, const struct audit_walk *w,
    uint64_t n_rows);

/* --- audit_pick.c -------------------------------------------------------- */

enum audit_pick_option {
	PICK_EVENT = 1024,
	PICK_REASON,
	PICK_VERDICT,
	PICK_DENIED,
	PICK_SANDBOX,
	PICK_RULE,
	PICK_HOST,
	PICK_FLOW,
	PICK_SINCE,
	PICK_UNTIL,
	PICK_LIMIT,
};

/* Take one of these options.  False, and said: the value is none. */
MUST_USE bool audit_pick_take(struct audit_pick *p,
    enum audit_pick_option option, const char *value);

bool audit_picks(const struct audit_pick *p, const struct line *l);

/* --- audit_table.c ------------------------------------------------------- */

#define TABLE_TOLD_MAX 64  /* flows that are remembered, the last ones */
#define TABLE_TOLD_SIZE 48 /* bytes of a flow's name */

/* Records as rows for people.  All that is printed was a peer's choice: it is
 * escaped, and no colour stands but those of ours. */
struct audit_table {
	const struct audit_options *o;
	bool colour;
	size_t sandbox, rule; /* widths of the columns */
	struct buf out;
	uint64_t n_rows;
	/* Flows in which a denied request was shown: their end says it again. */
	char told[TABLE_TOLD_MAX][TABLE_TOLD_SIZE];
	size_t n_told;
};

void audit_table_init(struct audit_table *t, const struct audit_options *o);
void audit_table_release(struct audit_table *t);

/* Is it picked, and a row of its own?  With --all or --json each that is
 * picked is. */
bool audit_table_wants(struct audit_table *t, const struct line *l);

/* Make its columns wide enough. */
void audit_table_measure(struct audit_table *t, const struct line *l);

void audit_table_head(struct audit_table *t);

/* The row, or with --json the line as it is. */
void audit_table_row(struct audit_table *t, const struct line *l,
    struct slice in);

/* Append "METHOD scheme://host/path?query", as far as there. */
struct event;
void audit_put_url(struct buf *out, const struct event *e);

#endif
