/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow that waits must be woken: a check after each run of its steps, for
 * test builds (option `checks`).  It ends the program, since a connection that
 * hangs is a bug of ours that no test would see otherwise.  In other builds it
 * does nothing.
 */
#ifndef FLOW_MUST_WAIT_H
#define FLOW_MUST_WAIT_H

#include "flow/flow.h"

/* Its steps have nothing to do: has it a deadline, and who will wake it? */
void flow_must_wait(const struct flow *f);

#endif
