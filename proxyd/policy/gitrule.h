/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rule of git+https allows: repositories, services, refs and kinds of
 * change.  Inside policy/ only; policy/git.h is for others.
 * Pure.
 */
#ifndef POLICY_GITRULE_H
#define POLICY_GITRULE_H

#include "policy/seek.h"
#include "policy/walk.h"

/* How far a route of git+https comes, once port and scheme fit. */
enum progress gitrule_walk(const struct image *m, uint32_t route,
    const struct walk_request *r);

/* Does the pattern of a route of git+https name the repository? */
bool gitrule_names(const struct image *m, uint32_t route,
    const struct walk_git *git);

/*
 * Look for the routes that could name the repository, in both spellings; for
 * none if it is none.
 */
void gitrule_seek(struct seek *s, const struct walk_git *git);

/*
 * Rule `rule` allows the request: may it have the commands of the push, too, and
 * the options?  Else why not; `command` is set to the first command that it may
 * not have, or to VERDICT_NONE if it is none of a list.
 */
enum reason gitrule_push(const struct image *m, uint32_t rule,
    const struct facts *f, uint32_t *command);

/* May it have this one? */
enum reason gitrule_command(const struct image *m, uint32_t rule,
    const struct git_command *c);

#endif
