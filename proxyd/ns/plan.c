/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>

#include "base/mem.h"
#include "ns/path.h"
#include "ns/plan.h"

const char *const plan_system[] = { "/usr", "/bin", "/sbin", "/opt", "/nix",
	"/var/lib/dpkg", "/var/lib/apt", NULL };

const char *const plan_known[] = { ".gitconfig", ".config/git", ".local/bin",
	".cargo/bin", ".rustup", ".nvm", ".pyenv", ".sdkman", ".bun", ".deno",
	"go/bin", ".vimrc", ".inputrc", NULL };

bool
plan_is_writable(enum plan_rank rank)
{
	return rank == PLAN_HOME || rank == PLAN_WRITE || rank == PLAN_WORK ||
	    rank == PLAN_REPO;
}

bool
plan_is_optional(enum plan_rank rank)
{
	return rank == PLAN_KNOWN || rank == PLAN_REPO || rank == PLAN_PIN ||
	    rank == PLAN_COVER;
}

static void
add(struct plan *plan, const char *path, const char *source,
    enum plan_rank rank)
{
	plan->item = reallocarray(plan->item, plan->n + 1, sizeof(*plan->item));
	if (plan->item == NULL)
		abort();
	plan->item[plan->n++] =
	    (struct plan_item){ mem_strdup(path), mem_strdup(source), rank };
}

/* The same below a folder; too long a path is one that cannot exist. */
static void
add_below(struct plan *plan, const char *folder, const char *name,
    enum plan_rank rank)
{
	char path[PATH_MAX];

	if (path_join(path, sizeof(path), folder, name))
		add(plan, path, path, rank);
}

/* The working directory or writable bind that `path` is strictly below. */
static bool
is_in_writable(const struct view *view, const char *path)
{
	if (path_is_below(path, view->work) && strcmp(path, view->work) != 0)
		return true;
	for (size_t i = 0; i < view->n_binds; i++)
		if (view->binds[i].write &&
		    path_is_below(path, view->binds[i].path) &&
		    strcmp(path, view->binds[i].path) != 0)
			return true;
	return false;
}

static void
add_known(struct plan *plan, const struct view *view)
{
	char path[PATH_MAX];

	for (size_t i = 0; plan_known[i] != NULL; i++)
		if ((view->hidden & 1U << i) == 0 &&
		    path_join(path, sizeof(path), view->home, plan_known[i]) &&
		    !is_in_writable(view, path))
			add(plan, path, path, PLAN_KNOWN);
}

static void
add_pins(struct plan *plan, const struct view *view)
{
	char folder[PATH_MAX], below[PATH_MAX];

	for (size_t i = 0; i < view->n_pins; i++) {
		const char *pin = view->pins[i];
		if (!is_in_writable(view, pin))
			continue;
		add(plan, pin, pin, PLAN_PIN);
		/* Its folder, else both are renamed away and made anew; those
		 * above it, likewise.  What is bound itself cannot be renamed,
		 * and stays writable. */
		snprintf(below, sizeof(below), "%s", pin);
		for (enum plan_rank rank = PLAN_PIN;
		     path_folder(folder, sizeof(folder), below) &&
		     is_in_writable(view, folder);
		     rank = PLAN_REPO) {
			add(plan, folder, folder, rank);
			snprintf(below, sizeof(below), "%s", folder);
		}
	}
}

static void
add_repos(struct plan *plan, const char *folder, const struct repos *repos)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < repos->n; i++) {
		const struct repo *r = &repos->repo[i];
		if (r->kind == REPO_LINK)
			continue;
		if (r->kind == REPO_FILE) {
			add_below(plan, folder, r->path, PLAN_PIN);
			continue;
		}
		if (r->path[0] != '\0')
			add_below(plan, folder, r->path, PLAN_REPO);
		if (path_join(path, sizeof(path), folder, r->path))
			add_below(plan, r->path[0] == '\0' ? folder : path,
			    "hooks", PLAN_PIN);
	}
}

static void
add_covers(struct plan *plan, const struct sockets *sockets)
{
	const char *path;

	for (size_t i = 0; plan_system[i] != NULL; i++) {
		size_t at = 0;
		while ((path = sockets_find_below(sockets, plan_system[i],
			    &at)) != NULL)
			add(plan, path, "", PLAN_COVER);
	}
	for (size_t i = 0; i < sockets->n; i++)
		if (strncmp(sockets->path[i], "/lib", 4) == 0)
			add(plan, sockets->path[i], "", PLAN_COVER);
}

static int
compare(const void *a, const void *b)
{
	const struct plan_item *x = a, *y = b;
	int by_path = strcmp(x->path, y->path);

	if (by_path != 0)
		return by_path;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

void
plan_make(struct plan *plan, const struct view *view, const struct repos *repos,
    const struct sockets *sockets)
{
	*plan = (struct plan){ 0 };
	add(plan, view->home, view->home_dir, PLAN_HOME);
	add_known(plan, view);
	add(plan, view->work, view->work, PLAN_WORK);
	add_repos(plan, view->work, &repos[0]);
	for (size_t i = 0; i < view->n_binds; i++) {
		const struct view_bind *b = &view->binds[i];
		add(plan, b->path, b->path, b->write ? PLAN_WRITE : PLAN_READ);
		if (b->write)
			add_repos(plan, b->path, &repos[i + 1]);
	}
	add_pins(plan, view);
	add_covers(plan, sockets);
	qsort(plan->item, plan->n, sizeof(*plan->item), compare);
}

void
plan_release(struct plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		free(plan->item[i].path);
		free(plan->item[i].source);
	}
	free(plan->item);
	*plan = (struct plan){ 0 };
}
