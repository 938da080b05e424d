/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A refusal of a push, in git's own words: the answer to a POST, with HTTP 200
 * and the type REPORT_TYPE.  With any other status git hides the text and says
 * "Everything up-to-date".
 *
 *	side-band-64k asked:	*PKT(2 text) *PKT(1 part of the report) flush
 *	not asked:		the report
 *	report = PKT("unpack ok" LF) *PKT("ng " ref SP reason LF) flush
 *
 * A refusal has the same bytes in report-status and report-status-v2.  There is
 * a line for each command, in the order that they were sent, else git says that
 * the remote failed to report; always `unpack ok`, else git adds an error of
 * its own; never an `ok`: the whole push is refused if one command is.
 *
 * Source: gitprotocol-pack(5), "Report Status"; what git shows of it was tried.
 */
#ifndef GIT_REPORT_H
#define GIT_REPORT_H

#include "git/push.h"

#define REPORT_TYPE "application/x-git-receive-pack-result"

/* Bytes of a text that are shown; of a ref's reason, of a line for people. */
#define REPORT_REASON_MAX 300
#define REPORT_REF_MAX 1024

/*
 * Text for people, shown as `remote: ...` line by line, at once, also while the
 * pack is still on its way.  Nothing if the push did not ask for side-band-64k.
 * What is no printable ASCII or LF becomes `?`.
 */
void report_text(const struct push *p, struct slice text, struct buf *out);

/*
 * The report, and the end of the answer.
 *
 * reasons	one a command, in their order; of an empty one it is said that
 *		another ref of the push was refused
 *
 * False if `out` could not take it, or if the push cannot be told anything
 * (push_can_report()).
 */
MUST_USE bool report_refusal(const struct push *p, const struct slice *reasons,
    struct buf *out);

#endif
