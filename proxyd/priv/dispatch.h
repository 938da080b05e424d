/* SPDX-License-Identifier: Apache-2.0 */
/* THE table of messages: who may send what to whom. */
#ifndef PRIV_DISPATCH_H
#define PRIV_DISPATCH_H

#include "priv/ops.h"
#include "priv/role.h"

/* May `from` send `op` to `to`?  A message that may not be is dropped and, if
 * it came from a worker, an alarm. */
bool dispatch_may(enum role from, enum role to, uint16_t op);

/* The operation's name for logs, "?" for an unknown one. */
const char *dispatch_op_name(uint16_t op);

#endif
