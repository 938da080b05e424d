/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "ns/mount.h"
#include "ns/outside.h"
#include "ns/readfile.h"
#include "ns/startfile.h"

#define FILES_MAX 5000 /* start files altogether */
#define DEPTH_MAX 6    /* folders below one of the names */

/* Files, and folders with all that is in them. */
static const char *const names[] = { ".bazelrc", ".cargo", ".claude", ".cursor",
	".devcontainer", ".envrc", ".exrc", ".gdbinit", ".husky", ".idea",
	".lldbinit", ".lvimrc", ".mcp.json", ".mise.toml", ".npmrc",
	".nvim.lua", ".nvimrc", ".pnpmfile.cjs", ".pre-commit-config.yaml",
	".tool-versions", ".vimrc", ".vscode", ".yarnrc", ".yarnrc.yml", ".zed",
	"duenna.yaml", "lefthook.yml", "mise.toml", "package.json" };

static void
add(struct startfiles *s, const char *path, struct slice data)
{
	s->file = reallocarray(s->file, s->n + 1, sizeof(*s->file));
	if (s->file == NULL)
		abort();
	s->file[s->n++] =
	    (struct startfile){ mem_strdup(path), siphash(s->key, data) };
}

static void
add_file(struct startfiles *s, int work, const char *path)
{
	static const char suffix[] = "package.json";
	size_t n = strlen(path);
	struct buf data;

	buf_init(&data, OUTSIDE_FILE_MAX);
	/* Too large a file, or none at all, is told apart by what is there. */
	if (readfile(work, path, &data) == -1)
		buf_clear(&data);
	struct slice what = buf_slice(&data);
	if (n >= sizeof(suffix) - 1 &&
	    strcmp(path + n - (sizeof(suffix) - 1), suffix) == 0)
		what = startfile_scripts(what);
	/* A package without scripts runs nothing. */
	if (what.n != 0 || data.n == 0)
		add(s, path, what);
	buf_release(&data);
}

static void
add_link(struct startfiles *s, int work, const char *path)
{
	char target[4096];
	ssize_t n = readlinkat(work, path, target, sizeof(target));

	add(s, path, slice_of(target, n < 0 ? 0 : (size_t)n));
}

static void add_any(struct startfiles *s, int work, const char *path,
    int depth);

static void
add_folder(struct startfiles *s, int work, const char *path, int depth)
{
	char below[4096];
	const struct dirent *d;
	int fd = mount_open_plain(work, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);

	if (dir == NULL) {
		mount_close(fd);
		return;
	}
	while (s->n < FILES_MAX && (d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		int n =
		    snprintf(below, sizeof(below), "%s/%s", path, d->d_name);
		if (n > 0 && (size_t)n < sizeof(below))
			add_any(s, work, below, depth + 1);
	}
	closedir(dir);
}

static void
add_any(struct startfiles *s, int work, const char *path, int depth)
{
	struct stat st;

	if (s->n >= FILES_MAX || depth > DEPTH_MAX ||
	    fstatat(work, path, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return;
	if (S_ISDIR(st.st_mode))
		add_folder(s, work, path, depth);
	else if (S_ISREG(st.st_mode))
		add_file(s, work, path);
	else if (S_ISLNK(st.st_mode))
		add_link(s, work, path);
}

static int
compare(const void *a, const void *b)
{
	const struct startfile *x = a, *y = b;

	return strcmp(x->path, y->path);
}

void
startfiles_find(struct startfiles *s, int work, char *const *folder,
    size_t n_folders, char *const *hooks, size_t n_hooks)
{
	char path[4096];

	s->file = NULL;
	s->n = 0;
	for (size_t i = 0; i < n_folders; i++) {
		const char *slash = folder[i][0] == '\0' ? "" : "/";
		for (size_t k = 0; k < COUNT_OF(names); k++) {
			int n = snprintf(path, sizeof(path), "%s%s%s",
			    folder[i], slash, names[k]);
			if (n > 0 && (size_t)n < sizeof(path))
				add_any(s, work, path, 0);
		}
	}
	for (size_t i = 0; i < n_hooks; i++)
		add_any(s, work, hooks[i], 0);
	if (s->n != 0)
		qsort(s->file, s->n, sizeof(*s->file), compare);
}

const struct startfile *
startfiles_get(const struct startfiles *s, const char *path)
{
	for (size_t low = 0, high = s->n; low < high;) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(path, s->file[middle].path);
		if (order == 0)
			return &s->file[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

void
startfiles_release(struct startfiles *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->file[i].path);
	free(s->file);
	s->file = NULL;
	s->n = 0;
}

/* The end of the string that begins at `at`, behind its quote. */
static size_t
string_end(struct slice json, size_t at)
{
	for (at++; at < json.n && json.p[at] != '"'; at++)
		if (json.p[at] == '\\')
			at++;
	return at + 1;
}

static size_t
skip_space(struct slice json, size_t at)
{
	while (at < json.n && memchr(" \t\r\n", json.p[at], 4) != NULL)
		at++;
	return at;
}

/* The end of the object or list that begins at `at`. */
static size_t
value_end(struct slice json, size_t at)
{
	size_t depth = 0;

	while (at < json.n) {
		uint8_t c = json.p[at];
		if (c == '"') {
			at = string_end(json, at);
			continue;
		}
		at++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return at;
	}
	return json.n;
}

/* Is the string at `at`, which ends at `end`, a key of the outermost object
 * that is, or may be, "scripts"?  With an escape in it nobody knows. */
static bool
may_be_scripts(struct slice json, size_t at, size_t end, bool *odd)
{
	static const char key[] = "\"scripts\"";
	size_t next = skip_space(json, end);

	if (next >= json.n || json.p[next] != ':')
		return false;
	*odd = memchr(json.p + at, '\\', end - at) != NULL;
	return *odd ||
	    (end - at == sizeof(key) - 1 &&
		memcmp(json.p + at, key, end - at) == 0);
}

struct slice
startfile_scripts(struct slice json)
{
	size_t depth = 0, at = 0;
	struct slice found = { 0 };

	while (at < json.n) {
		uint8_t c = json.p[at];
		bool odd = false;
		if (c != '"') {
			depth += (c == '{' || c == '[');
			depth -= (c == '}' || c == ']');
			at++;
			continue;
		}
		size_t end = string_end(json, at);
		if (end > json.n)
			return json;
		if (depth != 1 || !may_be_scripts(json, at, end, &odd)) {
			at = end;
			continue;
		}
		at = skip_space(json, skip_space(json, end) + 1);
		/* Twice: which one counts?  No object: what is it? */
		if (odd || found.n != 0 || at >= json.n || json.p[at] != '{')
			return json;
		found = slice_from(json, at);
		at = value_end(json, at);
		found.n -= json.n - at;
	}
	return depth == 0 ? found : json;
}
