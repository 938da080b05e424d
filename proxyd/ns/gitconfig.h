/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A git configuration file, read as git reads it, to find the keys that name
 * programs to be run.
 *
 * Source: git-config(1) "CONFIGURATION FILE", and git's config.c for what the
 *	   manual does not say.  What git would refuse is bad here too; so are
 *	   a NUL and what is longer than the limits below.
 * Pure.
 */
#ifndef NS_GITCONFIG_H
#define NS_GITCONFIG_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/slice.h"

#define GITCONFIG_KEY_MAX 512	 /* bytes of section, subsection and name */
#define GITCONFIG_VALUE_MAX 4096 /* bytes of a value */

struct gitconfig {
	struct slice in; /* borrowed; the whole file */
	size_t at;	 /* how far it was read */
	bool bad;	 /* it cannot be read any further */
	size_t n_base;	 /* bytes of `key` up to the name */
	char key[GITCONFIG_KEY_MAX];
};

struct gitconfig_entry {
	size_t from, to; /* name to end of value, without the line's end */
	char key[GITCONFIG_KEY_MAX]; /* section.subsection.name; the first and
					the last in lower case */
	char value[GITCONFIG_VALUE_MAX];
	bool has_value; /* else it is a key alone, which means true */
};

void gitconfig_init(struct gitconfig *g, struct slice in);

/* Read the next entry; false at the end, or when `g->bad` is set. */
bool gitconfig_next(struct gitconfig *g, struct gitconfig_entry *entry);

/* Does git run a program, read another configuration, or go to another place
 * because of this entry? */
bool gitconfig_is_dangerous(const struct gitconfig_entry *entry);

#endif
