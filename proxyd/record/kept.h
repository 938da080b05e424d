/* SPDX-License-Identifier: Apache-2.0 */
/* The records that the scribe has not confirmed, in their order. */
#ifndef RECORD_KEPT_H
#define RECORD_KEPT_H

#include <sys/queue.h>

#include "record/recorder.h"

enum kept_state {
	UNSENT, /* the next scribe gets it, or the next batch */
	SILENT, /* sent; an answer to a later one will cover it */
	ASKED,	/* sent; its own answer is waited for */
	KEPT_STATES
};

struct kept_list {
	TAILQ_HEAD(kept_head, kept) head;
	struct recorder *recorder; /* borrowed: whose it is */
	size_t n, size;		   /* entries, and bytes of them */
	size_t n_of[KEPT_STATES];  /* entries without a callback */
};

struct kept {
	TAILQ_ENTRY(kept) entry;
	struct kept_list *list; /* borrowed */
	enum kept_state state;	/* written by kept_set() alone */
	uint32_t id;		/* of the message that asked; 0: none */
	bool was_sent;		/* to some scribe */
	bool once;		/* of no use to another scribe */
	recorder_on_written *on_written; /* NULL: nobody waits for it */
	void *arg;
	size_t n;
	uint8_t bytes[]; /* the encoded event */
};

void kept_init(struct kept_list *list, struct recorder *r);

/* A new last entry, UNSENT.  NULL: no memory. */
MUST_USE struct kept *kept_add(struct kept_list *list, struct slice bytes,
    recorder_on_written *on_written, void *arg);

void kept_set(struct kept *k, enum kept_state state);
void kept_drop(struct kept *k);

/* Nobody waits for it any more; what becomes of it is all the same. */
void kept_forget(struct kept *k);

/* All SILENT ones before `until` that nobody waits for are in the log. */
void kept_drop_silent_before(const struct kept *until);

/* The first that waits for message `id`, before `until`; NULL: none does. */
struct kept *kept_waiting(const struct kept_list *list, uint32_t id,
    const struct kept *until);

/* The first that is no record for the next scribe as it is, or NULL. */
struct kept *kept_not_next(const struct kept_list *list);

#endif
