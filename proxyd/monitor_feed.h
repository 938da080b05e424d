/* SPDX-License-Identifier: Apache-2.0 */
/* The roles of a run: what each works with, and what happens when one ends. */
#ifndef PROXYD_MONITOR_FEED_H
#define PROXYD_MONITOR_FEED_H

#include "proxyd/monitor_state.h"

void feed_all(struct monitor *m); /* send all what they work with */
MUST_USE int feed_start_worker(struct monitor *m);
void feed_end_worker(struct monitor *m); /* it says what it has to, and ends */
void feed_ended(struct monitor *m, struct role_process *c, const char *how);
void feed_beat(struct monitor *m);

#endif
