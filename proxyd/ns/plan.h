/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is put into the new root, in order: each item a file or folder of the
 * host at its own path, with its attributes.  Whoever stands below another
 * comes after it, and of several at one path the last one counts.
 * Pure, but for memory: it dies without.
 */
#ifndef NS_PLAN_H
#define NS_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "ns/repos.h"
#include "ns/sockets.h"
#include "ns/view.h"

/* In the order in which they are put when they have one path. */
enum plan_rank {
	PLAN_HOME,
	PLAN_KNOWN, /* of the caller's home, if it is there */
	PLAN_READ,
	PLAN_WRITE,
	PLAN_WORK,
	PLAN_REPO,  /* onto itself: it cannot be renamed away */
	PLAN_PIN,   /* onto itself and read-only */
	PLAN_COVER, /* a socket: an empty file of ours over it */
};

struct plan_item {
	char *path;   /* owned; where it is shown */
	char *source; /* owned; on the host; unused for PLAN_COVER */
	enum plan_rank rank;
};

struct plan {
	struct plan_item *item; /* owned */
	size_t n;
};

/*
 * repos    1 + view->n_binds: of the working directory, then of each bind
 * sockets  of the host; those below read-only system folders are covered
 */
void plan_make(struct plan *plan, const struct view *view,
    const struct repos *repos, const struct sockets *sockets);

/* May it be written to, and may it be missing? */
bool plan_is_writable(enum plan_rank rank);
bool plan_is_optional(enum plan_rank rank);

void plan_release(struct plan *plan);

/* The folders of the host that are shown read-only as they are, NULL at the
 * end; beside them those in / that begin with "lib". */
extern const char *const plan_system[];

/* What is shown of the caller's home, if it exists; relative, NULL at end. */
extern const char *const plan_known[];

#endif
