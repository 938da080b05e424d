/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the next run shall go by is not for this command to choose: no file of
 * the owner's may be found by way of a place where it may write.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "ns/path.h"
#include "ns/plan.h"
#include "ns/trace.h"
#include "proxyd/monitor_reach.h"

/* Who looks whether a path goes through what the command may write. */
struct look {
	const struct view *view; /* borrowed */
	const char *pinned;	 /* it and its folders stay; NULL: nothing */
	const char *where;	 /* the folder that it went through */
};

static bool
is_out_of_reach(const char *place, void *arg)
{
	struct look *l = arg;
	const struct view *v = l->view;

	if (l->pinned != NULL && path_is_below(l->pinned, place))
		return true;
	if (path_is_below(place, v->work))
		l->where = v->work;
	if (v->home_dir != NULL && path_is_below(place, v->home_dir))
		l->where = v->home_dir;
	for (size_t i = 0; i < v->n_binds; i++)
		if (v->binds[i].write && path_is_below(place, v->binds[i].path))
			l->where = v->binds[i].path;
	return l->where == NULL;
}

/*
 * A relative path as an absolute one.  The `..` that it begins with go up from
 * the working directory itself, which the command cannot put elsewhere: they
 * lead through nothing that it may write, as those behind a name would.
 */
static bool
from_work(const struct view *v, const char *path, char whole[PATH_MAX])
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", v->work);
	for (;;) {
		size_t n = strcspn(path, "/");
		bool up = n == 2 && path[0] == '.' && path[1] == '.';
		if (!up && n != 0 && !(n == 1 && path[0] == '.'))
			break;
		char *slash = strrchr(folder, '/');
		if (up)
			slash[slash == folder ? 1 : 0] = '\0';
		path += n;
		if (*path == '\0')
			break;
		path++;
	}
	return path_join(whole, PATH_MAX, folder, path);
}

static const char *
look(const struct view *v, const char *path, const char *pinned)
{
	struct look l = { v, pinned, NULL };
	char whole[PATH_MAX];

	if (path[0] == '/' || from_work(v, path, whole)) {
		if (trace_path(path[0] == '/' ? path : whole, is_out_of_reach,
			&l))
			return NULL;
	}
	return l.where != NULL ? l.where : "a place that cannot be followed";
}

const char *
reach_writes(const struct view *v, const char *path)
{
	return look(v, path, NULL);
}

const char *
reach_moves(const struct view *v, const char *path, const char *real)
{
	return look(v, path, real);
}

/* With a link to a repository of dotfiles, say, that is worked on. */
uint32_t
reach_known(const struct view *v, bool quiet)
{
	char path[PATH_MAX];
	uint32_t hidden = 0;

	for (size_t i = 0; plan_known[i] != NULL; i++) {
		const char *where = NULL;
		if (path_join(path, sizeof(path), v->home, plan_known[i]))
			where = reach_writes(v, path);
		if (where == NULL)
			continue;
		hidden |= 1U << i;
		/* One that the command is given anyway is no news. */
		if (!quiet && !path_is_below(path, where) &&
		    access(path, F_OK) == 0)
			log_warn("%s is not shown: a link leads into %s, where "
				 "the command may put another thing in its "
				 "place",
			    path, where);
	}
	return hidden;
}

static bool
check(struct monitor *m, const struct view *v, const char *what,
    const char *path)
{
	const char *where = path == NULL ? NULL : reach_writes(v, path);

	if (where == NULL)
		return true;
	monitor_fail(m,
	    "%s %s may not stand below %s, nor be found by a link in there: "
	    "the command may write to that. Keep it elsewhere.",
	    what, path, where);
	return false;
}

static bool
check_roots(struct monitor *m, const struct view *v)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < owner_n_roots(m->owner); i++) {
		struct slice file = owner_root(m->owner, i).file;
		snprintf(path, sizeof(path), "%.*s", SLICE_ARG(file));
		if (file.n != 0 && !check(m, v, "the roots", path))
			return false;
	}
	return true;
}

/* The policy is pinned where it stands; a link to it, or a folder that only
 * `..` goes through, cannot be. */
static bool
check_policy(struct monitor *m, const struct view *v)
{
	const char *path = m->cfg->policy, *real = m->files.paths[0];
	const char *where = real == NULL ? NULL : reach_moves(v, path, real);

	if (where == NULL)
		return true;
	monitor_fail(m,
	    "the policy %s is found by a link or a folder in %s, which the "
	    "command may put elsewhere. Name the file itself: %s",
	    path, where, real);
	return false;
}

bool
reach_log_is_ours(struct monitor *m, const struct view *v)
{
	return check(m, v, "the audit log", m->cfg->audit);
}

bool
reach_is_ours(struct monitor *m, const struct view *v)
{
	char settings[PATH_MAX];

	policy_file_config_dir(settings, sizeof(settings));
	return check(m, v, "the configuration",
		   m->cfg->config != NULL ? m->cfg->config : settings) &&
	    check(m, v, "duenna's state", buf_text(&m->state_dir)) &&
	    check_roots(m, v) && check_policy(m, v);
}
