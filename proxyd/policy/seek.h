/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routes of a name that could match a path, by the index where a host has
 * one: in no order, some more than once, and others beside them that do not
 * match.  Inside policy/ only.
 * Pure.
 */
#ifndef POLICY_SEEK_H
#define POLICY_SEEK_H

#include "policy/facts.h"
#include "policy/hostset.h"
#include "policy/shape.h"

#define SEEK_PATHS 3 /* a request's, and two spellings of a repository */
#define SEEK_ANY 16  /* segments of a path that SHAPE_ANY is asked for */

struct seek {
	const struct image *m;
	const struct host_matches *found; /* borrowed */
	const struct facts *f;		  /* NULL: nothing can have expired */
	uint16_t port;			  /* 0: any, so the index is no help */
	uint32_t n;			  /* paths */
	struct {
		struct slice path; /* borrowed */
		bool git;
	} paths[SEEK_PATHS];
	/* Where it stands: path, host, shape, segment; what is left of a list. */
	uint32_t path, host, shape, shape_end, segment;
	uint32_t at, end;
	bool deny_only;
	bool is_cut; /* `cut` is that of the path */
	struct shape_cut cut;
};

/* Then seek_path() for each path, and seek_next(). */
void seek_init(struct seek *s, const struct image *m,
    const struct host_matches *found, const struct facts *f, uint16_t port);

/*
 * One more: a request's folded path, or a repository's, `git`, which only
 * routes of git+https have.
 */
void seek_path(struct seek *s, struct slice path, bool git);

/* The next route, or IMAGE_NONE. */
uint32_t seek_next(struct seek *s);

#endif
