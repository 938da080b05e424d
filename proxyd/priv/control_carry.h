/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body that may be larger than a message: it stands in the message, or, alone,
 * in a memfd beside it.  The reader copies that once and empties the file, so
 * that neither what it judged can change nor a secret stay behind.
 */
#ifndef PRIV_CONTROL_CARRY_H
#define PRIV_CONTROL_CARRY_H

#include "base/buf.h"
#include "base/err.h"
#include "priv/msg.h"

/*
 * Make `m` carry `bytes`, which stay the caller's until it is sent; whatever
 * descriptor stands in `m` then is the caller's to close (msg_close_fds).
 * 0, or -1 with ERR_MEMORY, ERR_FULL, ERR_SYSTEM.
 */
MUST_USE int control_carry_put(struct msg *m, struct slice bytes,
    enum err *err);

/*
 * Take what `m` carries into `out`, up to its ceiling; the descriptor is closed.
 * 0, or -1 with ERR_MESSAGE (both, too large, no regular file), ERR_MEMORY,
 * ERR_SYSTEM.
 */
MUST_USE int control_carry_take(struct msg *m, struct buf *out, enum err *err);

#endif
