/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: a worker that obeys the attacker.  With the build option `hostile`
 * a request for /.hostile/ACTION makes the worker try ACTION and answer what
 * came of it: hostile.c.  Without it nothing of that exists: hostile_off.c.
 */
#ifndef FLOW_HOSTILE_H
#define FLOW_HOSTILE_H

#include "flow/flow.h"

enum hostile {
	HOSTILE_NO,   /* an ordinary request, or none yet */
	HOSTILE_WAIT, /* a role was asked; flow_run() follows */
	HOSTILE_DONE, /* tried, and the answer was put */
};

enum hostile hostile_obey(struct flow *f);

#endif
