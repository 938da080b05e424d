/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets that do not last: asked of the monitor anew when their time (`for:`)
 * is over, read from the pipe of a command, put into the store.  The pipe is a
 * command's alone and its bytes go through nobody else's memory.
 *
 * At most one of a credential is under way, and requests wait for it; if none
 * came, what was had before is wiped, and nobody asks again for
 * LIMIT_SECRET_RETRY_MS: a sandbox does not choose how often commands run.
 */
#ifndef KEEP_FRESH_H
#define KEEP_FRESH_H

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "net/loop.h"

struct fresh;
struct store;

struct fresh_ops {
	/* Ask the monitor for a fresh one.  False: it cannot be asked. */
	bool (*ask)(uint32_t credential, void *arg);
	/* It is in the store now, or not to be had: `why`, a literal; NULL if
	 * it is there, or if the monitor has said it. */
	void (*settled)(uint32_t credential, const char *why, void *arg);
};

/* All borrowed.  NULL: ERR_MEMORY. */
MUST_USE struct fresh *fresh_new(struct loop *loop, struct store *store,
    const struct fresh_ops *ops, void *arg, enum err *err);
void fresh_free(struct fresh *f);

/* The store has another owner: whatever is under way is forgotten. */
void fresh_reset(struct fresh *f);

/*
 * A secret is wanted that the store does not have, or has no more.  True: it is
 * under way, and `settled` will be called; also if the monitor has not said
 * anything of it yet.  False: not to be had now.
 */
MUST_USE bool fresh_want(struct fresh *f, uint32_t credential);

/* A command began; `fd`, which becomes ours, is where its output comes. */
void fresh_take_pipe(struct fresh *f, uint32_t credential, int fd);

/*
 * The command ended.  `good`: with status 0; then what is in the pipe is all
 * that counts, whoever else may hold its other end.
 */
void fresh_take_end(struct fresh *f, uint32_t credential, bool good);

/* The monitor handed the secret over, or said that it is not there. */
void fresh_take_given(struct fresh *f, uint32_t credential, bool here);

#endif
