/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "ns/gitconfig.h"
#include "ns/gitkeys.h"
#include "ns/keptlink.h"
#include "ns/mount.h"
#include "ns/outside.h"
#include "ns/path.h"
#include "ns/readfile.h"
#include "ns/startfile.h"
#include "ns/view.h"

/*
 * Files of a repository that say what git runs.  `commondir` sends git to
 * another folder for its configuration and hooks: gitrepository-layout(5).
 */
static const struct {
	const char *name;
	bool whole; /* put back as a whole; else those keys of it */
} files[] = { { "config", false }, { "config.worktree", false },
	{ "commondir", true } };

#define INCLUDES_MAX 10 /* configurations in each other, as git has it */

struct kept {
	char *path;	   /* owned */
	struct buf before; /* its content */
	bool existed, whole;
	bool was_other; /* it was there, but nothing to read: a link */
};

struct outside {
	int work;	  /* owned; the folder */
	const char *path; /* borrowed; its own */
	struct repos repos;
	struct kept *kept; /* owned */
	size_t n_kept;
	struct keptlinks links;
	struct startfiles start;
	char **whole; /* owned, and each, relative: folders of hooks, files */
	size_t n_whole;
	outside_line *on_line; /* while settling */
	void *arg;
	size_t n_lines;
};

static void say(struct outside *o, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void
say(struct outside *o, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (++o->n_lines > OUTSIDE_LINES_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	o->on_line(text, o->arg);
}

static bool
is_kept(const struct outside *o, const char *path)
{
	for (size_t i = 0; i < o->n_kept; i++)
		if (strcmp(o->kept[i].path, path) == 0)
			return true;
	return false;
}

/* Is there anything at all, a link that leads nowhere too? */
static bool
is_there(const struct outside *o, const char *path)
{
	struct stat st;

	return fstatat(o->work, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void keep_includes(struct outside *o, const char *path,
    struct slice config, int depth);
static void keep_linked(struct outside *o, const char *path, bool whole,
    int depth);
static char *included(const struct outside *o, const char *path,
    const char *value);

/* `path` is taken over. */
static void
keep_file(struct outside *o, char *path, bool whole, int depth)
{
	o->kept = reallocarray(o->kept, o->n_kept + 1, sizeof(*o->kept));
	if (o->kept == NULL)
		abort();
	struct kept *k = &o->kept[o->n_kept++];
	*k = (struct kept){ .path = path, .whole = whole };
	buf_init(&k->before, OUTSIDE_FILE_MAX);
	k->existed = readfile(o->work, k->path, &k->before) == 0;
	k->was_other = !k->existed && is_there(o, path);
	if (k->existed && !whole)
		keep_includes(o, path, buf_slice(&k->before), depth + 1);
	else if (k->was_other)
		keep_linked(o, path, whole, depth + 1);
}

/* Where a link leads is as good as the file itself. */
static void
keep_linked(struct outside *o, const char *path, bool whole, int depth)
{
	const char *target = keptlinks_add(&o->links, o->work, path);

	if (target == NULL || depth > INCLUDES_MAX)
		return;
	char *other = included(o, path, target);
	if (other != NULL && !is_kept(o, other))
		keep_file(o, other, whole, depth);
	else
		free(other);
}

/*
 * Other files that a configuration includes: relative to itself, or absolute.
 * Those of the working directory are the command's to write, and as good as
 * the configuration.  NULL: not there.
 */
static char *
included(const struct outside *o, const char *path, const char *value)
{
	const char *end = strrchr(path, '/');
	size_t n = strlen(o->path);

	if (value[0] == '/' && strncmp(value, o->path, n) == 0 &&
	    value[n] == '/')
		return mem_strdup(value + n + 1);
	if (value[0] == '/' || value[0] == '~')
		return NULL;
	char *folder = mem_strdup(path);
	folder[end == NULL ? 0 : end - path] = '\0';
	char *name = path_joined(folder, value);
	free(folder);
	return name;
}

static void
keep_includes(struct outside *o, const char *path, struct slice config,
    int depth)
{
	struct gitconfig g;
	struct gitconfig_entry e;

	gitconfig_init(&g, config);
	while (depth <= INCLUDES_MAX && gitconfig_next(&g, &e)) {
		const char *name = strrchr(e.key, '.');
		if (strncmp(e.key, "include", 7) != 0 || name == NULL ||
		    strcmp(name, ".path") != 0)
			continue;
		char *other = included(o, path, e.value);
		if (other != NULL && !is_kept(o, other))
			keep_file(o, other, false, depth);
		else
			free(other);
	}
}

static void
keep_files(struct outside *o, const char *folder)
{
	for (size_t i = 0; i < COUNT_OF(files); i++)
		keep_file(o, path_joined(folder, files[i].name), files[i].whole,
		    0);
}

static DIR *
open_folder(const struct outside *o, const char *path)
{
	int fd = mount_open_plain(o->work, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);

	if (dir == NULL)
		mount_close(fd);
	return dir;
}

/* Linked working trees of a repository; git-worktree(1). */
static void
each_worktree(struct outside *o, const char *repo,
    void (*take)(struct outside *o, const char *folder))
{
	char *worktrees = path_joined(repo, "worktrees");
	DIR *dir = open_folder(o, worktrees);
	const struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		char *path = path_joined(worktrees, d->d_name);
		if (d->d_name[0] != '.')
			take(o, path);
		free(path);
	}
	if (dir != NULL)
		closedir(dir);
	free(worktrees);
}

/* `path` is taken over. */
static void
keep_whole(struct outside *o, char *path)
{
	o->whole = reallocarray(o->whole, o->n_whole + 1, sizeof(*o->whole));
	if (o->whole == NULL)
		abort();
	o->whole[o->n_whole++] = path;
}

/* Hooks that lie in the working tree, where core.hooksPath says (git-config):
 * relative to the tree's top.  What leads elsewhere is not ours to see. */
static void
keep_hooks_path(struct outside *o, const char *repo)
{
	char value[PATH_MAX];
	const char *end = strrchr(repo, '/');
	size_t n = end == NULL ? 0 : (size_t)(end - repo);

	if (strcmp(end == NULL ? repo : end + 1, ".git") != 0)
		return; /* a submodule's: its tree is not beside it */
	for (size_t i = 0; i < o->n_kept; i++) {
		const struct kept *k = &o->kept[i];
		size_t len = strlen(repo);
		if (strncmp(k->path, repo, len) != 0 ||
		    strcmp(k->path + len, "/config") != 0 ||
		    !gitkeys_hooks_path(buf_slice(&k->before), value,
			sizeof(value)) ||
		    value[0] == '/' || value[0] == '~')
			continue;
		char *top = strndup(repo, n);
		if (top == NULL)
			abort();
		keep_whole(o, path_joined(top, value));
		free(top);
	}
}

/* The folders in which start files count: the first, and each repository's. */
static void
find_start(const struct outside *o, struct startfiles *s,
    const struct repos *repos)
{
	char **folder = mem_array(repos->n + 1, sizeof(*folder));
	size_t n = 0;

	folder[n++] = mem_strdup("");
	for (size_t i = 0; i < repos->n; i++) {
		const char *path = repos->repo[i].path;
		const char *end = strrchr(path, '/');
		/* ".git" itself is in the first folder, looked into already. */
		if (end == NULL || strcmp(end, "/.git") != 0)
			continue;
		folder[n++] = strndup(path, (size_t)(end - path));
		if (folder[n - 1] == NULL)
			abort();
	}
	startfiles_find(s, o->work, folder, n, o->whole, o->n_whole);
	for (size_t i = 0; i < n; i++)
		free(folder[i]);
	free(folder);
}

struct outside *
outside_new(const struct view *view, struct repos *repos)
{
	struct outside *o = mem_alloc(sizeof(*o));

	o->path = view->work;
	o->work = open(o->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	o->repos = *repos;
	*repos = (struct repos){ 0 };
	if (getrandom(o->start.key, sizeof(o->start.key), 0) !=
	    (ssize_t)sizeof(o->start.key))
		abort();
	for (size_t i = 0; i < view->n_starts; i++)
		keep_whole(o, mem_strdup(view->starts[i]));
	for (size_t i = 0; i < o->repos.n; i++) {
		const struct repo *r = &o->repos.repo[i];
		if (r->kind == REPO_LINK)
			(void)keptlinks_add(&o->links, o->work, r->path);
		if (r->kind != REPO_FOLDER)
			continue;
		char *hooks = path_joined(r->path, "hooks");
		(void)keptlinks_add(&o->links, o->work, hooks);
		free(hooks);
		keep_files(o, r->path);
		each_worktree(o, r->path, keep_files);
		keep_hooks_path(o, r->path);
	}
	find_start(o, &o->start, &o->repos);
	return o;
}

/* Compare a file with what it was; `mended` is what it has to be. */
static enum gitkeys
compare(const struct kept *k, bool exists, struct slice after,
    struct buf *mended, struct buf *key)
{
	enum gitkeys result = GITKEYS_UNREADABLE;

	if (k->whole && exists == k->existed &&
	    slice_eq(after, buf_slice(&k->before)))
		result = GITKEYS_SAME;
	else if (!k->whole && (exists || !k->existed))
		result =
		    gitkeys_mend(buf_slice(&k->before), after, mended, key);
	if (result == GITKEYS_UNREADABLE) {
		buf_clear(mended);
		buf_put(mended, buf_slice(&k->before));
	}
	return result;
}

static void
settle_file(struct outside *o, const struct kept *k)
{
	struct buf after, mended, key;
	bool ok;

	buf_init(&after, OUTSIDE_FILE_MAX);
	buf_init(&mended, OUTSIDE_FILE_MAX);
	buf_init(&key, OUTSIDE_FILE_MAX);
	bool exists = readfile(o->work, k->path, &after) == 0;
	if (!exists && k->was_other) /* see settle_link() */
		goto end;
	/* What is there and is not read, a link perhaps, git may read. */
	enum gitkeys result = !exists && !k->existed && is_there(o, k->path) ?
	    GITKEYS_UNREADABLE :
	    compare(k, exists, buf_slice(&after), &mended, &key);
	if (result == GITKEYS_UNREADABLE && !k->existed)
		ok = unlinkat(o->work, k->path, 0) == 0;
	else
		ok = result == GITKEYS_SAME ||
		    (!mended.failed &&
			readfile_replace(o->work, k->path,
			    buf_slice(&mended)) == 0);
	if (result != GITKEYS_SAME)
		say(o, "%s%s: %s%.80s%s", ok ? OUTSIDE_PUT_BACK : "", k->path,
		    result == GITKEYS_MENDED ?
			"keys that run programs were changed: " :
			"it was changed beyond reading",
		    buf_text(&key), ok ? "" : "; PUTTING IT BACK FAILED");
end:
	buf_release(&after);
	buf_release(&mended);
	buf_release(&key);
}

static void
settle_link(struct outside *o, const struct keptlink *l)
{
	switch (keptlink_settle(l, o->work)) {
	case KEPTLINK_SAME:
		break;
	case KEPTLINK_PUT_BACK:
		say(o, OUTSIDE_PUT_BACK "%s: the link was changed", l->path);
		break;
	case KEPTLINK_LOST:
		say(o, "%s: it was a link to %s, and is not any more", l->path,
		    l->target);
		break;
	}
}

static bool
was_there(const struct outside *o, const char *path)
{
	for (size_t i = 0; i < o->repos.n; i++)
		if (strcmp(o->repos.repo[i].path, path) == 0)
			return true;
	return false;
}

/* What the command made: nothing to put back, but to tell. */
static void
tell_files(struct outside *o, const char *folder)
{
	static const char usual[] = "../..\n"; /* a worktree's commondir */
	struct buf data;

	for (size_t i = 0; i < COUNT_OF(files); i++) {
		char *path = path_joined(folder, files[i].name);
		buf_init(&data, OUTSIDE_FILE_MAX);
		bool exists = !is_kept(o, path) && is_there(o, path);
		if (exists && readfile(o->work, path, &data) != 0) {
			say(o, "%s: new, and a link or too large to be read",
			    path);
			exists = false;
		}
		if (exists && !files[i].whole &&
		    gitkeys_has_any(buf_slice(&data)))
			say(o, "%s: new, with keys that run programs", path);
		if (exists && files[i].whole &&
		    !slice_eq_str(buf_slice(&data), usual))
			say(o, "%s: new, git goes where it says", path);
		buf_release(&data);
		free(path);
	}
}

static void
settle_repo(struct outside *o, const struct repo *r)
{
	bool is_new = !was_there(o, r->path);

	if (r->kind == REPO_FOLDER)
		each_worktree(o, r->path, tell_files);
	if (!is_new)
		return;
	if (r->kind != REPO_FOLDER) {
		say(o, "%s: new, and leads to a repository elsewhere", r->path);
		return;
	}
	if (repos_have_hooks(o->work, r->path))
		say(o, "%s/hooks: new, with hooks", r->path);
	tell_files(o, r->path);
}

static void
settle_start(struct outside *o, const struct repos *repos)
{
	struct startfiles now = { 0 };

	memcpy(now.key, o->start.key, sizeof(now.key));
	find_start(o, &now, repos);
	for (size_t i = 0; i < now.n; i++) {
		const struct startfile *f = &now.file[i];
		/* By its name, and since a link leads there. */
		if (i != 0 && strcmp(f[-1].path, f->path) == 0)
			continue;
		const struct startfile *old =
		    startfiles_get(&o->start, f->path);
		if (old == NULL)
			say(o, "%s: new", f->path);
		else if (old->hash != f->hash)
			say(o, "%s: changed", f->path);
	}
	startfiles_release(&now);
}

void
outside_settle(struct outside *o, outside_line *on_line, void *arg)
{
	struct repos now;

	o->on_line = on_line;
	o->arg = arg;
	o->n_lines = 0;
	for (size_t i = 0; i < o->links.n; i++)
		settle_link(o, &o->links.link[i]);
	for (size_t i = 0; i < o->n_kept; i++)
		settle_file(o, &o->kept[i]);
	repos_find(&now, o->work, true);
	for (size_t i = 0; i < now.n; i++)
		settle_repo(o, &now.repo[i]);
	/* Else many files would hide what comes behind them. */
	if (now.cut && !o->repos.cut)
		say(o, "more than %d files: not all of them were looked at",
		    REPOS_ENTRIES_MAX);
	settle_start(o, &now);
	repos_release(&now);
	if (o->n_lines > OUTSIDE_LINES_MAX) {
		char text[64];
		snprintf(text, sizeof(text), "and %zu more",
		    o->n_lines - OUTSIDE_LINES_MAX);
		on_line(text, arg);
	}
}

void
outside_free(struct outside *o)
{
	if (o == NULL)
		return;
	for (size_t i = 0; i < o->n_kept; i++) {
		free(o->kept[i].path);
		buf_release(&o->kept[i].before);
	}
	for (size_t i = 0; i < o->n_whole; i++)
		free(o->whole[i]);
	free(o->whole);
	free(o->kept);
	keptlinks_release(&o->links);
	repos_release(&o->repos);
	startfiles_release(&o->start);
	close(o->work);
	free(o);
}
