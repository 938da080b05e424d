/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A role's records on their way to the scribe.
 *
 * What must be recorded before it happens is sent with a callback: nothing goes
 * on until it was called with true.  What has happened already (an end, a
 * denial) is sent without one; it is kept until the scribe has written it, and
 * while the scribe is away, up to a ceiling; what is above that is counted, and
 * the count becomes a `gap` record.  After the death of a scribe the records
 * that it had not confirmed are sent again, with "duenna.repeated", since they
 * may stand in the log already.
 *
 * Denials sent without a callback, and ends of connections that were never
 * announced (they have no "duenna.bytes.up"), have a budget per sandbox
 * (LIMIT_DENIALS_PER_S, LIMIT_DENIALS_BURST).  Above it equal ones (event,
 * reason, host, method) become one record a second with "duenna.count".
 *
 * Records leave together, in one message: at the end of the loop's turn if one
 * of them is waited for, else within 5 ms.  Never calls back from inside
 * recorder_send().
 */
#ifndef RECORD_RECORDER_H
#define RECORD_RECORDER_H

#include "audit/event.h"
#include "net/channel.h"

struct recorder;

#define RECORDER_BEHIND_MAX 1024   /* records not yet written: hold back */
#define RECORDER_KEPT_MAX 2048	   /* records kept for the scribe */
#define RECORDER_KEPT_SIZE 4194304 /* bytes of them */

/* False: it is not in the log, and what waits for it must not happen. */
typedef void recorder_on_written(bool written, void *arg);

/* recorder_is_ready() has changed. */
typedef void recorder_on_ready(bool ready, void *arg);

/* `on_ready` may be NULL.  NULL with ERR_MEMORY. */
MUST_USE struct recorder *recorder_new(struct loop *l,
    recorder_on_ready *on_ready, void *arg, enum err *err);

/* Nobody who waits is called any more. */
void recorder_free(struct recorder *r);

/*
 * The channel to the scribe, borrowed: the caller made it and frees it, after
 * it has set another one or NULL.  NULL: the scribe is away.
 */
void recorder_set_channel(struct recorder *r, struct channel *c);

/*
 * What the scribe says by itself (STATUS); the caller's channel_on_msg hands on
 * every message of that channel, NULL too.
 */
void recorder_take_msg(struct recorder *r, const struct msg *m);

/*
 * True if the scribe is there, its log takes records, and it is not behind.
 * Whoever is not ready admits nothing new.
 */
bool recorder_is_ready(const struct recorder *r);

/*
 * True while the scribe takes records but is behind: what is new waits, instead
 * of being refused.  That it is ready again is told by on_ready.
 */
bool recorder_is_behind(const struct recorder *r);

/* True if all is in the log, what was aggregated too. */
bool recorder_is_empty(const struct recorder *r);

/* True if the scribe is there: then "not ready" is audit.full, not shutdown. */
bool recorder_has_scribe(const struct recorder *r);

/*
 * Record an event; its texts are copied.
 *
 * on_written	called exactly once, later, unless it is forgotten; or NULL:
 *		no confirmation is wanted
 *
 * 0, or -1: it is not and will not be recorded (with a callback: the scribe is
 * away, its log is full, or it is far behind; without one: all that is kept for
 * it is used up), `on_written` is not called, and it must not happen.
 */
MUST_USE int recorder_send(struct recorder *r, const struct event *e,
    recorder_on_written *on_written, void *arg);

/* Whoever waits with this `arg` is not called any more. */
void recorder_forget(struct recorder *r, const void *arg);

/* Send now what was aggregated and what waits for others. */
void recorder_flush(struct recorder *r);

#endif
