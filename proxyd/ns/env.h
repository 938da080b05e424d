/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command's environment: a list, not what is left after taking away.
 * PATH HOME TERM LANG LC_* TZ USER LOGNAME SHELL of the caller, what was named,
 * and what duenna sets itself.
 */
#ifndef NS_ENV_H
#define NS_ENV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct env {
	char **list; /* owned, "NAME=value", NULL at its end */
	size_t n;
};

/* Start with the caller's variables of the list above.  Dies without memory. */
void env_init(struct env *env, char *const *caller);

/* Also the caller's variable `name`; false if the caller has none. */
bool env_keep(struct env *env, char *const *caller, const char *name);

/* Set `name`, over what stood there. */
void env_set(struct env *env, const char *name, const char *value);

/* The value of `name`, or NULL; borrowed until the next change. */
const char *env_find(const struct env *env, const char *name);

/*
 * One more setting of git's own configuration, by GIT_CONFIG_COUNT: behind those
 * that are there.  False: the count that is there is none.
 */
bool env_add_git(struct env *env, const char *key, const char *value);

/* Take one out; was it there? */
bool env_drop(struct env *env, const char *name);

void env_release(struct env *env);

#endif
