/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of SSH as says to a client why it is refused: no key exchange, no
 * session, nothing of the client's read but its first four bytes.
 *
 * Source: RFC 4253, 4.2 (identification), 6 (packets, in the clear before keys
 *	   are exchanged), 11.1 (SSH_MSG_DISCONNECT).
 * Pure.
 */
#ifndef WIRE_SSH_H
#define WIRE_SSH_H

#include "base/attr.h"
#include "base/parse.h"
#include "base/wr.h"

#define SSH_TEXT_MAX 400 /* bytes that clients show of a reason */

/* An identification and a packet with so much text. */
#define SSH_GOODBYE_MAX (SSH_TEXT_MAX + 64)

/*
 * Does a client's side begin as SSH does?  MORE: so far it could; BAD: it does
 * not, which is no fault.
 */
MUST_USE enum parse ssh_look(struct slice in);

/*
 * What a server says that ends at once: its identification, and why.  Of `text`
 * (ASCII) SSH_TEXT_MAX bytes at most.
 */
void ssh_put_goodbye(struct wr *out, struct slice text);

#endif
