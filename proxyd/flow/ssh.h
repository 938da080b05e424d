/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that speaks SSH where no rule lets it through: it is told why in its
 * own words.  Git over SSH has no branch that anybody could see, so for a host
 * of git rules the words are what to write instead.
 */
#ifndef FLOW_SSH_H
#define FLOW_SSH_H

#include "flow/flow.h"

/* Judged and refused: does the client speak SSH?  Then say it; REFUSE is next. */
bool ssh_refuse(struct flow *f);

#endif
