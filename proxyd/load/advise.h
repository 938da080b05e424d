/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rule or an owner's key gives up, said by `duenna check`: it means what
 * it says, and may mean more, or less, than was thought.
 */
#ifndef LOAD_ADVISE_H
#define LOAD_ADVISE_H

#include "load/read.h"

/* An allow rule that was read without an error. */
void advise_rule(const struct read *r, const struct load_rule *rule);

struct load_owner_text;

/* The owner's files, all of them. */
void advise_owner(struct load_report *report,
    const struct load_owner_text *text);

#endif
