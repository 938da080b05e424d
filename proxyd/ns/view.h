/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `run` shows of the host (DESIGN 3): a new root on tmpfs with folders of
 * the host bound into it, /etc as a read-only overlay of our files over the
 * host's, a home of the sandbox's own, the working directory.  What is not
 * shown is not there, so nothing needs to be covered.
 *
 * view_check() runs in the monitor, before anything is made, with the caller's
 * eyes; view_build() in the sandbox's first process, in mount namespace of its
 * own, with every capability of its user namespace.
 */
#ifndef NS_VIEW_H
#define NS_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/slice.h"
#include "ns/fail.h"

/* A file or folder of the host, shown at its own path. */
struct view_bind {
	const char *path; /* borrowed; absolute, without . and .. */
	bool write;	  /* else read-only */
};

/* A file of ours in /etc. */
struct view_file {
	const char *path;  /* borrowed; absolute, below /etc */
	struct slice data; /* borrowed */
};

/* All strings are borrowed and live until the sandbox has started. */
struct view {
	const char *home;     /* the caller's home, shown at this path */
	const char *home_dir; /* the folder that is shown there, ns/home.h */
	const char *work;     /* the working directory, shown read-write */
	const char *host;     /* the host's name, for /etc/hosts */
	const struct view_bind *binds; /* from `files:` and `--write` */
	size_t n_binds;
	const char *const *pins; /* policies and includes: files, read-only */
	size_t n_pins;
	const char *const *starts; /* below `work`, relative: files that run */
	size_t n_starts;	   /* outside, ns/outside.h */
	const char *const *closed; /* our own state, configuration, log: no */
	size_t n_closed;	   /* bind may show or contain one of these */
	const struct view_file *files; /* into /etc, beside our own three */
	size_t n_files;
	uint32_t hidden; /* bit i: plan_known[i], ns/plan.h, is not shown */
	bool root;	 /* the command is uid 0: more of /proc is read-only */
};

/*
 * The real path of a file or folder that the operator named for a bind.
 * Refused where a link on the way stands in the working directory: an earlier
 * command may have put it there, to be shown what it leads to.
 *
 * real  set on success; allocated, the caller frees it
 */
MUST_USE int view_resolve(const char *path, const char *work, char **real,
    struct fail *fail);

/*
 * Check what the operator asked for: the working directory is none of home,
 * what contains it, and /; no bind shows what is ours; no live UNIX socket
 * stands below a bound folder.
 */
MUST_USE int view_check(const struct view *view, struct fail *fail);

struct child;
struct repos;
struct sockets;

/* What was found before the host's network and user namespace were left. */
struct view_given {
	struct sockets *sockets; /* owned; of the host */
	int home; /* owned; the tree of home_dir, taken by root for a user who
		     may not go there by its path; -1: go by the path */
};

/* Look for it, as the monitor; view_build() or view_forget() takes it over. */
MUST_USE int view_prepare(const struct view *view, struct view_given *given,
    struct fail *fail);
void view_forget(struct view_given *given);

/*
 * Build it and make it the root; the working directory is then the sandbox's.
 * On failure the process is in an undefined place and must end.
 *
 * child    whose files open for reading become read-only, ns/infile.h
 * repos    set to the repositories in the working directory; the caller
 *	    releases them
 */
MUST_USE int view_build(const struct view *view, const struct view_given *given,
    const struct child *child, struct repos *repos, struct fail *fail);

#endif
