/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event-driven end of a channel to another role: priv/msg.h over a socket,
 * with a bounded queue of what the socket did not take, and a table of requests
 * that wait for their answer.
 *
 * Every answer is matched by id; one that nobody waits for any more is dropped.
 * When the channel closes, every waiting request is answered once with NULL.
 */
#ifndef NET_CHANNEL_H
#define NET_CHANNEL_H

#include "net/loop.h"
#include "priv/msg.h"

struct channel;

#define CHANNEL_QUEUE_MAX 4096	  /* messages queued before a send is refused */
#define CHANNEL_REQUESTS_MAX 4096 /* requests that wait for an answer */

/*
 * A message that is no answer to a request of ours.  `m` and its body live for
 * the call; descriptors that it does not take are closed behind it.
 * m == NULL: the channel is closed; free it or keep it, it does nothing more.
 */
typedef void channel_on_msg(struct channel *c, struct msg *m, void *arg);

/* The answer to a request, or NULL: the channel closed first. */
typedef void channel_on_answer(struct msg *m, void *arg);

/* `fd` becomes the channel's own.  NULL with ERR_MEMORY; `fd` is closed then. */
MUST_USE struct channel *channel_new(struct loop *l, int fd,
    channel_on_msg *on_msg, void *arg, enum err *err);
void channel_free(struct channel *c);

/* False once the other end is gone. */
bool channel_is_open(const struct channel *c);

/*
 * Send a message that wants no answer (id 0), or answer a request (its id).
 * Body and descriptors are copied (descriptors duplicated) if it must wait.
 * 0, or -1 with ERR_CLOSED, ERR_FULL (the queue), ERR_MEMORY.
 */
MUST_USE int channel_send(struct channel *c, const struct msg *m,
    enum err *err);

/*
 * Send a request; `on_answer` is called exactly once unless it is cancelled.
 * Returns its id, never 0; or 0 with *err as above.  m->id is ignored.
 */
MUST_USE uint32_t channel_ask(struct channel *c, const struct msg *m,
    channel_on_answer *on_answer, void *arg, enum err *err);

/* Forget a request; its answer will be dropped.  0 and unknown ids are fine. */
void channel_cancel(struct channel *c, uint32_t id);

#endif
