/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between roles: one packet of an AF_UNIX SOCK_SEQPACKET socket is one
 * message, with descriptors beside it.  Both ends read it as hostile input.
 *
 *	u16 operation, u32 id, body
 *
 * An answer carries the id of its request; id 0 is for messages that want none.
 */
#ifndef PRIV_MSG_H
#define PRIV_MSG_H

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

#define MSG_SIZE_MAX 65536 /* bytes of a packet, the six of its head too */
#define MSG_BODY_MAX (MSG_SIZE_MAX - 6)
#define MSG_FDS_MAX 8 /* descriptors beside one message */

struct msg {
	uint16_t op; /* enum op of priv/ops.h */
	uint32_t id;
	struct slice
	    body; /* borrowed: the sender's, or the receiver's buffer */
	int fds[MSG_FDS_MAX];
	size_t n_fds;
};

/*
 * Send one message; the descriptors stay the caller's.
 * 0, or -1 with ERR_AGAIN (try when writable), ERR_CLOSED, ERR_SYSTEM.
 */
MUST_USE int msg_send(int fd, const struct msg *m, enum err *err);

/*
 * Receive one message into `packet`, which has room for MSG_SIZE_MAX.  The
 * descriptors, close-on-exec, become the caller's: take or close every one.
 * When ours have run out the message comes without any.
 * 0, or -1 with ERR_AGAIN, ERR_CLOSED (also for end of file), ERR_MESSAGE (the
 * packet was cut or too short; its descriptors are closed), ERR_SYSTEM.
 */
MUST_USE int msg_recv(int fd, uint8_t *packet, struct msg *m, enum err *err);

/* Close those descriptors that have not been taken (set to -1). */
void msg_close_fds(struct msg *m);

/* Take descriptor `i`: it is the caller's now.  -1 if there is none. */
int msg_take_fd(struct msg *m, size_t i);

#endif
