/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a rule of git+https.  For load/read_rule and load/read_git. */
#ifndef LOAD_READ_GIT_H
#define LOAD_READ_GIT_H

#include "load/read_policy.h"

/* Is it one of git+https? */
bool rule_is_git(const struct load_rule *rule);

/*
 * The keys that are of git's rules alone, of a rule whose patterns are read;
 * and those that say nothing of one.
 */
bool read_rule_git(const struct read *r, const struct doc_node *node,
    struct load_rule *rule);

/* `push:` of it. */
bool read_rule_push(const struct read *r, const struct doc_node *node,
    struct load_git *git);

#endif
