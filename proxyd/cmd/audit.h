/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `duenna audit`: what its subcommands share.  One file each:
 * audit_show.c (show, tail), audit_report.c, audit_verify.c (verify, key),
 * audit_replay.c.
 */
#ifndef CMD_AUDIT_H
#define CMD_AUDIT_H

#include "audit/reader.h"
#include "base/attr.h"

struct audit_options {
	const char *file;     /* NULL: the newest log of `run` */
	const char *sandbox;  /* --sandbox: records of this one only */
	const char *reason;   /* --reason */
	const char *verdict;  /* --verdict: allow or deny */
	const char *programs; /* --programs: folder of program images */
	const char *key;      /* --key: digits, or a file that has them */
	const char *hash;     /* --hash: of a record that must be there */
	unsigned long lines;  /* -n: of tail */
	bool json, all, follow, open;
};

/* Each: the exit status.  `o->file` is set for all but key. */
int audit_show(const struct audit_options *o);
int audit_tail(const struct audit_options *o);
int audit_report(const struct audit_options *o);
int audit_verify(const struct audit_options *o);
int audit_replay(const struct audit_options *o);
int audit_key(const struct audit_options *o);

/* audit_show.c: append "METHOD scheme://host/path?query", as far as there. */
struct event;
void audit_put_url(struct buf *out, const struct event *e);

/* audit.c: append $XDG_STATE_HOME/duenna/NAME.  False, and said: no home. */
MUST_USE bool audit_state_path(struct buf *out, const char *name);

/* audit.c: open for reading.  -1, and said why. */
MUST_USE int audit_open(const char *path);

#endif
