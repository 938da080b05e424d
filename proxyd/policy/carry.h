/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an allowed request carries: our credentials, and what becomes of the
 * client's own.  Inside policy/ only.
 * Pure.
 */
#ifndef POLICY_CARRY_H
#define POLICY_CARRY_H

#include "policy/facts.h"
#include "policy/hostset.h"
#include "policy/verdict.h"

/* A decision while it is made. */
struct ask {
	const struct image *m;
	const struct facts *f;
	struct verdict v;
	/* Only a rule with `report:` allows it: why it would be refused. */
	enum reason unenforced;
	struct slice name;	   /* what the client says; empty: nothing */
	struct host_matches found; /* the patterns of that name */
	bool is_git;		   /* of git's form, where rules speak of git */
	bool is_named; /* and of a repository that one of them names */
};

/*
 * `a->v.rule` allows the request: fill in what is attached and stripped.
 * REASON_ALLOW, or why it is refused all the same.
 */
enum reason carry_judge(struct ask *a);

#endif
