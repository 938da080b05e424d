/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A generation of files: all of the owner's configuration and policies, read
 * once, so that what is compiled later is what was there then.  Not a byte of
 * meaning is read here; each file is a copy in sealed memory, with its owner and
 * mode, which the steward checks.
 */
#ifndef SERVE_FILES_H
#define SERVE_FILES_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/slice.h"

struct file {
	char *path; /* owned; absolute, no part of it below DIR is a link */
	int fd;	    /* owned; sealed, its place at the beginning */
};

struct files {
	struct file *at; /* owned; DIR/NAME.yaml by name, then DIR/policies */
	size_t n, n_config;
	uint64_t size; /* bytes of all */
};

/*
 * Read DIR/NAME.yaml and what ends in .yaml in or below DIR/policies.
 *
 * why	 what cannot be read, for people: "/etc/duenna/a.yaml: it is ..."
 *
 * 0, or -1; `f` is empty then.
 */
MUST_USE int files_read(struct files *f, const char *dir, struct buf *why);
void files_release(struct files *f);

/* A descriptor of its own of file `i`, at its beginning; -1 and errno. */
MUST_USE int files_open(const struct files *f, size_t i);

/* The file at an absolute path; n: there is none. */
size_t files_find(const struct files *f, const char *path);

/*
 * What file `from` includes under a hostile name: in or below its folder.  The
 * number, or n and `why`.
 */
size_t files_include(const struct files *f, size_t from, struct slice name,
    const char **why);

#endif
