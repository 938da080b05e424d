/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A push: a POST to git-receive-pack that a rule of git+https decides about.
 *
 *	LIST	its command list is read, and judged as a whole
 *	END	of one that wants no pack: nothing may follow
 *	RECORDS	each command, and the request, is in the log
 *	HOLD	where a server may not need a pack's last bytes: the pack is
 *		read into a file, and what the rule wants of it is shown
 *	FEED	the list, written anew, and the pack go upstream; where the rule
 *		reads it, its last bytes wait until all is shown
 *
 * The first four are READ of the exchange, so that nothing goes upstream before
 * the verdict; FEED is its SEND.  Whatever fails, the client is told in git's
 * own words (git/report.h), since of any other answer git shows nothing.
 */
#ifndef FLOW_PUSHING_H
#define FLOW_PUSHING_H

#include "base/attr.h"
#include "base/parse.h"
#include "base/slice.h"

struct exchange;
struct pushing;
struct request;

/*
 * Is it a push?  Behind git_recognise(), whatever the verdict on its head is:
 * what is denied is read, too, to be told so.
 */
bool pushing_is(const struct request *r);

/*
 * Have its body read; behind prepare() if it is allowed.  REASON_ALLOW, or why
 * it is refused: *detail, and a status if the reason's own does not fit.
 */
MUST_USE enum reason pushing_begin(struct request *r, const char **detail);
void pushing_free(struct pushing *p);

/* Of a push: what the exchange asks, see http/exchange.h. */
void pushing_read(struct exchange *x, void *arg);
enum parse pushing_feed(struct exchange *x, size_t room, struct slice *out,
    struct parse_fail *fail, void *arg);
bool pushing_answered(struct request *r);
void pushing_refusing(struct request *r);

/* It is over: each command's record. */
void pushing_ended(struct request *r);
/* Was it nothing but git's question whether a push would be let in? */
bool pushing_was_probe(const struct request *r);

/* Something of it will happen by itself; for flow/must_wait.h. */
bool pushing_is_pending(const struct request *r);

#endif
