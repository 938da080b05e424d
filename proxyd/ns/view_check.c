/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator may ask to be shown: looked at before anything is made. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "ns/mount.h"
#include "ns/path.h"
#include "ns/plan.h"
#include "ns/sockets.h"
#include "ns/view.h"

/* Made anew for each sandbox: nothing of the host's is shown in their place. */
static const char *const made[] = { "/etc", "/proc", "/sys", "/dev" };

/* Ours, wherever the caller's environment put them: below the home. */
static const char *const own[] = { ".config/duenna", ".local/state/duenna" };

/* `path` without links as far as it exists, else as it is. */
static void
real(char out[PATH_MAX], const char *path)
{
	if (realpath(path, out) == NULL)
		snprintf(out, PATH_MAX, "%s", path);
}

/* Is `part` a link that stands in the folder `work`? */
static bool
is_link_in(const char *part, const char *work)
{
	char folder[PATH_MAX], is[PATH_MAX];
	struct stat st;

	if (lstat(part, &st) == -1 || !S_ISLNK(st.st_mode) ||
	    !path_folder(folder, sizeof(folder), part))
		return false;
	real(is, folder);
	return path_is_below(is, work);
}

int
view_resolve(const char *path, const char *work, char **out, struct fail *fail)
{
	char whole[PATH_MAX], part[PATH_MAX];

	if (path[0] == '/')
		snprintf(whole, sizeof(whole), "%s", path);
	else if (!path_join(whole, sizeof(whole), work, path))
		return fail_set(fail, ERR_FULL, "too long a path: %s", path);
	for (size_t n = 1; n <= strlen(whole); n++) {
		if (whole[n] != '/' && whole[n] != '\0')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)n, whole);
		if (is_link_in(part, work))
			return fail_set(fail, ERR_DENIED,
			    "cannot show %s: %s is a link in the working "
			    "directory, where a command may have put it. Name "
			    "the place that it leads to, or remove it.",
			    path, part);
	}
	*out = realpath(whole, NULL);
	if (*out == NULL)
		return fail_errno(fail, "cannot show %s", path);
	return 0;
}

static int
check_work(const struct view *view, struct fail *fail)
{
	const mode_t common = S_ISVTX | S_IWOTH;
	char home[PATH_MAX];
	const char *what = NULL;
	struct stat st;

	real(home, view->home);
	if (strcmp(view->work, "/") == 0)
		what = "the root of the file system";
	else if (strcmp(view->work, view->home) == 0 ||
	    strcmp(view->work, home) == 0)
		what = "your home directory";
	else if (path_is_below(view->home, view->work) ||
	    path_is_below(home, view->work))
		what = "a folder that holds your home directory";
	else if (stat(view->work, &st) == 0 && (st.st_mode & common) == common)
		what = "a folder that everybody shares"; /* such as /tmp */
	if (what == NULL)
		return 0;
	return fail_set(fail, ERR_DENIED,
	    "the working directory %s is %s, and the command may write to its "
	    "working directory. Go into a project folder first; --write DIR "
	    "adds more.",
	    view->work, what);
}

/* May `path` be shown, as far as our own things go? */
static int
check_closed(const char *path, const char *closed, struct fail *fail)
{
	char is[PATH_MAX];

	real(is, closed);
	if (!path_is_below(is, path) && !path_is_below(path, is) &&
	    !path_is_below(closed, path))
		return 0;
	return fail_set(fail, ERR_DENIED,
	    "%s cannot be shown to the command: %s is duenna's own.", path, is);
}

static int
check_path(const struct view *view, const char *path, struct fail *fail)
{
	char home[PATH_MAX], mine[PATH_MAX];

	if (!path_is_clean(path))
		return fail_set(fail, ERR_MESSAGE,
		    "'%s' is not an absolute path without . and ..", path);
	for (size_t i = 0; i < COUNT_OF(made); i++)
		if (path_is_below(made[i], path) ||
		    (i != 0 && path_is_below(path, made[i])))
			return fail_set(fail, ERR_DENIED,
			    "%s cannot be shown to the command: %s is made "
			    "anew for it.",
			    path, made[i]);
	real(home, view->home);
	if (path_is_below(view->home, path) || path_is_below(home, path))
		return fail_set(fail, ERR_DENIED,
		    "%s cannot be shown to the command: it holds your whole "
		    "home directory. Name the folders that it needs.",
		    path);
	for (size_t i = 0; i < view->n_closed; i++)
		if (check_closed(path, view->closed[i], fail) == -1)
			return -1;
	for (size_t i = 0; i < COUNT_OF(own); i++)
		if (path_join(mine, sizeof(mine), home, own[i]) &&
		    check_closed(path, mine, fail) == -1)
			return -1;
	return 0;
}

static int
check_sockets(const struct sockets *sockets, const char *path,
    struct fail *fail)
{
	char is[PATH_MAX];
	size_t at = 0;

	real(is, path);
	const char *found = sockets_find_below(sockets, is, &at);
	if (found == NULL)
		return 0;
	return fail_set(fail, ERR_DENIED,
	    "the UNIX socket %s is in %s, which the command would see: whatever "
	    "answers there would act for it outside. Stop that program, or move "
	    "its socket.",
	    found, path);
}

static int
check_all_sockets(const struct view *view, const struct sockets *sockets,
    struct fail *fail)
{
	char path[PATH_MAX];

	if (check_sockets(sockets, view->work, fail) == -1)
		return -1;
	for (size_t i = 0; i < view->n_binds; i++)
		if (check_sockets(sockets, view->binds[i].path, fail) == -1)
			return -1;
	for (size_t i = 0; plan_known[i] != NULL; i++)
		if (path_join(path, sizeof(path), view->home, plan_known[i]) &&
		    check_sockets(sockets, path, fail) == -1)
			return -1;
	return 0;
}

int
view_check(const struct view *view, struct fail *fail)
{
	struct sockets sockets;

	if (!path_is_clean(view->home) || strcmp(view->home, "/") == 0)
		return fail_set(fail, ERR_MESSAGE,
		    "HOME=%s is no absolute path below /", view->home);
	if (check_work(view, fail) == -1 ||
	    check_path(view, view->work, fail) == -1)
		return -1;
	for (size_t i = 0; i < view->n_binds; i++)
		if (check_path(view, view->binds[i].path, fail) == -1)
			return -1;
	if (sockets_read(&sockets, fail) == -1)
		return -1;
	int result = check_all_sockets(view, &sockets, fail);
	sockets_release(&sockets);
	return result;
}

int
view_prepare(const struct view *view, struct view_given *given,
    struct fail *fail)
{
	*given = (struct view_given){ .home = -1,
		.sockets = mem_alloc(sizeof(*given->sockets)) };
	if (sockets_read(given->sockets, fail) == -1)
		goto fail;
	if (geteuid() != 0)
		return 0;
	int fd = open(view->home_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd != -1)
		given->home = mount_copy(fd, MOUNT_PLAIN);
	mount_close(fd);
	/* Root of a container may not: then its user goes there by the path. */
	if (given->home != -1 || (fd != -1 && errno == EPERM))
		return 0;
	fail_refused(fail, FAIL_MOUNT, "cannot take %s", view->home_dir);

fail:
	view_forget(given);
	return -1;
}

void
view_forget(struct view_given *given)
{
	sockets_release(given->sockets);
	free(given->sockets);
	mount_close(given->home);
	*given = (struct view_given){ .home = -1 };
}
