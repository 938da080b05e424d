/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scribe's own: what scribe.c (who is there, and what they say) and
 * scribe_log.c (records, their order, their answers) share.
 */
#ifndef PROXYD_SCRIBE_STATE_H
#define PROXYD_SCRIBE_STATE_H

#include <sys/queue.h>

#include "audit/journal.h"
#include "net/channel.h"
#include "priv/owners.h"
#include "priv/role.h"

#define SCRIBE_WORKERS_MAX 64	 /* channels to workers */
#define SCRIBE_ONLY_WORKER 1	 /* the number of `run`'s */
#define SCRIBE_EARLY_MAX 4096	 /* records taken before the log is started */
#define SCRIBE_WAITING_MAX 16384 /* answers due after the next flush */
#define SCRIBE_READ_SIZE 4194304 /* bytes of an old log read in one turn */
#define SCRIBE_STOP_MS 500	 /* open flows get to end by themselves */

struct scribe;

struct peer {
	struct scribe *scribe; /* borrowed */
	enum role role;
	uint32_t number;	 /* of a worker */
	struct channel *channel; /* owned; NULL: away */
	uint64_t n_refused;	 /* what was no record, since the last alarm */
};

struct early; /* a record before the log is started */

struct scribe {
	struct loop *loop; /* owned, as all below */
	/* By role; the worker's stands for those that are gone. */
	struct peer peers[ROLE_COUNT];
	struct peer workers[SCRIBE_WORKERS_MAX];
	struct owners *owners;
	struct journal *journal;    /* NULL: no log yet */
	struct event *flush, *tick; /* end of turn; each second */
	struct event *read;	    /* the next piece of an old log */
	STAILQ_HEAD(, early) early;
	size_t n_early;
	struct {
		struct peer *peer;
		uint32_t id;
	} waiting[SCRIBE_WAITING_MAX];
	size_t n_waiting;
	bool certifying; /* the keeper was asked */
	bool hopeless;	 /* there is no log, or it could not be started */
	bool took;	 /* what the last STATUS said */
	bool stopping, stopped;
	uint32_t stop_id; /* the STOP that is to be answered */
	uint64_t stop_ms; /* when no flow is waited for any more */
};

/* scribe.c: send a message without descriptors, if the peer is there. */
void scribe_say(struct peer *p, uint16_t op, uint32_t id, struct slice body);
void scribe_say_status(struct peer *p);
void scribe_say_tally(struct scribe *s); /* counts so far, to the monitor */

/* scribe_log.c: the log may take records now, or no longer: tell everybody. */
void scribe_update_status(struct scribe *s);

/* A record, or the empty question; `id` 0: no answer is wanted. */
void scribe_take_event(struct peer *p, struct slice body, uint32_t id);

/* Several records, each behind its length. */
void scribe_take_events(struct peer *p, struct slice body, uint32_t id);

/* The log was started: what came before. */
void scribe_take_early(struct scribe *s);

/* The log cannot be started now: nobody waits for that. */
void scribe_refuse_early(struct scribe *s);

/* Is one of them there? */
bool scribe_has_worker(const struct scribe *s);

/* Its flows have ended with it, and nobody waits there for an answer. */
void scribe_forget_peer(struct peer *p);

/* The end of a turn of the loop; each second. */
void scribe_flush(struct scribe *s);
void scribe_tick(struct scribe *s);

/* The monitor is gone: close the log, with a `stop` if it had said so. */
void scribe_end(struct scribe *s);

#endif
