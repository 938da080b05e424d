/* SPDX-License-Identifier: Apache-2.0 */
#include "ns/env.h"
#include "base/mem.h"

/* Nothing here starts a program, names a file that one loads, or holds a
 * secret; LC_* are taken beside these. */
static const char *const listed[] = { "PATH", "HOME", "TERM", "LANG", "TZ",
	"USER", "LOGNAME", "SHELL" };

/* Does "NAME=value" have that name? */
static bool
is_named(const char *entry, const char *name, size_t n)
{
	return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static void
put(struct env *env, char *entry)
{
	size_t n = strcspn(entry, "=");

	for (size_t i = 0; i < env->n; i++) {
		if (!is_named(env->list[i], entry, n))
			continue;
		free(env->list[i]);
		env->list[i] = entry;
		return;
	}
	env->list = reallocarray(env->list, env->n + 2, sizeof(*env->list));
	if (env->list == NULL)
		abort();
	env->list[env->n++] = entry;
	env->list[env->n] = NULL;
}

void
env_init(struct env *env, char *const *caller)
{
	*env = (struct env){ .list = mem_array(1, sizeof(char *)) };
	for (size_t i = 0; i < COUNT_OF(listed); i++)
		(void)env_keep(env, caller, listed[i]);
	for (; *caller != NULL; caller++)
		if (strncmp(*caller, "LC_", 3) == 0 &&
		    strchr(*caller, '=') != NULL)
			put(env, mem_strdup(*caller));
}

bool
env_keep(struct env *env, char *const *caller, const char *name)
{
	size_t n = strlen(name);

	for (; *caller != NULL; caller++) {
		if (!is_named(*caller, name, n))
			continue;
		put(env, mem_strdup(*caller));
		return true;
	}
	return false;
}

void
env_set(struct env *env, const char *name, const char *value)
{
	size_t size = strlen(name) + strlen(value) + 2;
	char *entry = mem_alloc(size);

	snprintf(entry, size, "%s=%s", name, value);
	put(env, entry);
}

const char *
env_find(const struct env *env, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < env->n; i++)
		if (is_named(env->list[i], name, n))
			return env->list[i] + n + 1;
	return NULL;
}

#define GIT_SETTINGS_MAX 10000 /* that a caller's count may say */

/* As git reads it: digits alone; none at all is 0. */
static bool
read_count(const char *text, unsigned *n)
{
	*n = 0;
	for (; text != NULL && *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return false;
		*n = *n * 10 + (unsigned)(*text - '0');
		if (*n > GIT_SETTINGS_MAX)
			return false;
	}
	return true;
}

bool
env_add_git(struct env *env, const char *key, const char *value)
{
	char name[sizeof("GIT_CONFIG_VALUE_") + 11];
	unsigned n;

	if (!read_count(env_find(env, "GIT_CONFIG_COUNT"), &n))
		return false;
	snprintf(name, sizeof(name), "GIT_CONFIG_KEY_%u", n);
	env_set(env, name, key);
	snprintf(name, sizeof(name), "GIT_CONFIG_VALUE_%u", n);
	env_set(env, name, value);
	snprintf(name, sizeof(name), "%u", n + 1);
	env_set(env, "GIT_CONFIG_COUNT", name);
	return true;
}

bool
env_drop(struct env *env, const char *name)
{
	for (size_t i = 0; i < env->n; i++) {
		if (!is_named(env->list[i], name, strlen(name)))
			continue;
		free(env->list[i]);
		env->list[i] = env->list[--env->n];
		env->list[env->n] = NULL;
		return true;
	}
	return false;
}

void
env_release(struct env *env)
{
	for (size_t i = 0; i < env->n; i++)
		free(env->list[i]);
	free(env->list);
	*env = (struct env){ 0 };
}
