/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "ns/mount.h"
#include "ns/path.h"
#include "ns/repos.h"

/* A folder that waits to be looked into. */
struct waiting {
	STAILQ_ENTRY(waiting) entry;
	char *path; /* owned; "" is the first one */
};

STAILQ_HEAD(queue, waiting);

/* What a folder is, from the names in it. */
#define HAS_HEAD 1u
#define HAS_OBJECTS 2u
#define HAS_REFS 4u
#define HAS_ALL 7u

struct search {
	struct repos *repos; /* borrowed */
	struct queue queue;
	size_t n_entries;
	int root; /* borrowed */
	bool deep;
};

static char *
joined(const char *folder, const char *name)
{
	size_t n = strlen(folder);
	bool slash = n != 0 && folder[n - 1] != '/' && name[0] != '/';
	size_t size = n + strlen(name) + 2;
	char *s = mem_alloc(size);

	snprintf(s, size, "%s%s%s", folder, slash ? "/" : "", name);
	return s;
}

static void
push(struct queue *queue, const char *folder, const char *name)
{
	struct waiting *w = mem_alloc(sizeof(*w));

	w->path = joined(folder, name);
	STAILQ_INSERT_TAIL(queue, w, entry);
}

static void
add(struct repos *repos, char *path, enum repo_kind kind)
{
	repos->repo =
	    reallocarray(repos->repo, repos->n + 1, sizeof(*repos->repo));
	if (repos->repo == NULL)
		abort();
	repos->repo[repos->n++] = (struct repo){ path, kind };
}

static unsigned char
type_of(int folder, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type;
	if (fstatat(folder, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return DT_UNKNOWN;
	return IFTODT(st.st_mode);
}

/* Whatever they are: git takes links too. */
static unsigned
bare_sign(const char *name)
{
	if (strcmp(name, "HEAD") == 0)
		return HAS_HEAD;
	if (strcmp(name, "objects") == 0)
		return HAS_OBJECTS;
	if (strcmp(name, "refs") == 0)
		return HAS_REFS;
	return 0;
}

static void
take_git(struct search *s, const char *folder, unsigned char type)
{
	char *path = joined(folder, ".git");

	switch (type) {
	case DT_DIR:
		add(s->repos, path, REPO_FOLDER);
		push(&s->queue, path, "/"); /* its inside: see is_inside() */
		break;
	case DT_REG:
		add(s->repos, path, REPO_FILE);
		break;
	case DT_LNK:
		add(s->repos, path, REPO_LINK);
		break;
	default:
		free(path);
	}
}

/* Is this the inside of a repository that is listed already? */
static bool
is_inside(const char *path)
{
	size_t n = strlen(path);

	return strcmp(path, ".git/") == 0 ||
	    (n > 6 && strcmp(path + n - 6, "/.git/") == 0);
}

/* ... or, deeper in there, among its submodules'? */
static bool
is_in_git(const char *path)
{
	return strncmp(path, ".git/", 5) == 0 || strstr(path, "/.git/") != NULL;
}

static void
take_entry(struct search *s, const char *folder, const char *name,
    unsigned char type, struct queue *folders)
{
	if (strcmp(name, ".git") == 0)
		take_git(s, folder, type);
	else if (type == DT_DIR && (s->deep || is_in_git(folder)))
		push(folders, folder, name);
	else if (type == DT_SOCK && s->repos->socket == NULL)
		s->repos->socket = joined(folder, name);
}

/* In a repository only its submodules' repositories are of interest. */
static void
keep_modules(struct queue *folders, struct queue *into)
{
	struct waiting *w;

	while ((w = STAILQ_FIRST(folders)) != NULL) {
		STAILQ_REMOVE_HEAD(folders, entry);
		const char *name = strrchr(w->path, '/');
		name = name == NULL ? w->path : name + 1;
		if (into != NULL && strcmp(name, "modules") == 0) {
			STAILQ_INSERT_TAIL(into, w, entry);
			continue;
		}
		free(w->path);
		free(w);
	}
}

static DIR *
open_folder(int root, const char *path)
{
	int fd = mount_open_plain(root, path, O_RDONLY | O_DIRECTORY);

	if (fd == -1)
		return NULL;
	DIR *dir = fdopendir(fd);
	if (dir == NULL)
		close(fd);
	return dir;
}

static void
look_into(struct search *s, const char *path)
{
	struct queue folders = STAILQ_HEAD_INITIALIZER(folders);
	const struct dirent *d;
	unsigned has = 0;
	DIR *dir = open_folder(s->root, path);

	if (dir == NULL)
		return;
	while ((d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (++s->n_entries > REPOS_ENTRIES_MAX) {
			s->repos->cut = true;
			break;
		}
		unsigned char type = type_of(dirfd(dir), d);
		has |= bare_sign(d->d_name);
		take_entry(s, path, d->d_name, type, &folders);
	}
	closedir(dir);
	if (is_inside(path)) {
		keep_modules(&folders, &s->queue);
		return;
	}
	if (has == HAS_ALL)
		add(s->repos, mem_strdup(path), REPO_FOLDER);
	/* What only looks like one may be there to hide others below it. */
	if (has == HAS_ALL && is_in_git(path))
		keep_modules(&folders, &s->queue);
	else
		STAILQ_CONCAT(&s->queue, &folders);
}

bool
repos_have_hooks(int folder, const char *repo)
{
	char *path = joined(repo, "/hooks");
	DIR *dir = open_folder(folder, path);
	const struct dirent *d;
	struct stat st;
	bool found = false;

	while (!found && dir != NULL && (d = readdir(dir)) != NULL) {
		size_t n = strlen(d->d_name);
		found = d->d_name[0] != '.' &&
		    (n < 7 || strcmp(d->d_name + n - 7, ".sample") != 0);
	}
	if (dir != NULL)
		closedir(dir);
	else /* git follows a link there */
		found = fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
	free(path);
	return found;
}

void
repos_find(struct repos *repos, int folder, bool deep)
{
	struct search s = { .repos = repos, .root = folder, .deep = deep };
	struct waiting *w;

	*repos = (struct repos){ 0 };
	STAILQ_INIT(&s.queue);
	push(&s.queue, "", "");
	while ((w = STAILQ_FIRST(&s.queue)) != NULL) {
		STAILQ_REMOVE_HEAD(&s.queue, entry);
		if (s.n_entries <= REPOS_ENTRIES_MAX)
			look_into(&s, w->path);
		else
			repos->cut = true;
		free(w->path);
		free(w);
	}
}

void
repos_release(struct repos *repos)
{
	for (size_t i = 0; i < repos->n; i++)
		free(repos->repo[i].path);
	free(repos->repo);
	free(repos->socket);
	*repos = (struct repos){ 0 };
}
