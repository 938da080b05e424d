/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "serve/files.h"

#define DEPTH_MAX 8 /* folders below policies/ */
#define COPY_SIZE 65536
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW)

/* What is being read. */
struct reading {
	struct files *f;
	struct buf *why;
};

static int
refuse(struct reading *r, const char *path, const char *what)
{
	buf_putf(r->why, "%s: %s", path, what);
	return -1;
}

static int
refuse_errno(struct reading *r, const char *path)
{
	return refuse(r, path,
	    errno == ELOOP ? "it is a symbolic link" : strerror(errno));
}

/* All of `from` into `to`; its size, or -1 with errno. */
static ssize_t
copy(int from, int to, size_t max)
{
	uint8_t bytes[COPY_SIZE];
	size_t done = 0;

	for (;;) {
		ssize_t n = read(from, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -1 : (ssize_t)done;
		done += (size_t)n;
		errno = EFBIG;
		if (done > max || write(to, bytes, (size_t)n) != n)
			return -1;
	}
}

/* The steward looks at owner and mode: the copy has those of the file. */
static int
copy_sealed(int from, const struct stat *st, size_t *size)
{
	int fd = memfd_create("duenna-file", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	n = copy(from, fd, LIMIT_POLICY_FILE_SIZE);
	*size = n < 0 ? 0 : (size_t)n;
	if (n >= 0 && fchmod(fd, st->st_mode & 07777) == 0 &&
	    (st->st_uid == geteuid() ||
		fchown(fd, st->st_uid, st->st_gid) == 0) &&
	    lseek(fd, 0, SEEK_SET) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
		return fd;
	int number = errno;
	close(fd);
	errno = number;
	return -1;
}

static int
append(struct reading *r, const char *path, int fd, size_t size)
{
	struct files *f = r->f;
	struct file *more = NULL;
	char *copied = NULL;

	if (f->n < LIMIT_SERVE_FILES && f->size + size <= LIMIT_SERVE_SIZE) {
		more = realloc(f->at, (f->n + 1) * sizeof(*more));
		copied = strdup(path);
	}
	if (more != NULL)
		f->at = more;
	if (more == NULL || copied == NULL) {
		free(copied);
		close(fd);
		return refuse(r, path, "too many files, or too large");
	}
	f->at[f->n++] = (struct file){ copied, fd };
	f->size += size;
	return 0;
}

/* Others may write neither a file nor a folder of ours. */
static const char *
wrong(const struct stat *st, mode_t kind)
{
	if ((st->st_mode & S_IFMT) != kind)
		return kind == S_IFREG ? "it is no regular file" :
					 "it is no folder";
	if ((st->st_mode & S_IWOTH) != 0)
		return "others may write it";
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return "it belongs to another user";
	return NULL;
}

static int
add_file(struct reading *r, int folder, const char *name, const char *path)
{
	int fd = openat(folder, name, OPEN_FLAGS), result = -1;
	const char *what;
	struct stat st;
	size_t size;

	if (fd < 0)
		return refuse_errno(r, path);
	if (fstat(fd, &st) != 0)
		(void)refuse_errno(r, path);
	else if ((what = wrong(&st, S_IFREG)) != NULL)
		(void)refuse(r, path, what);
	else {
		int copied = copy_sealed(fd, &st, &size);
		if (copied < 0)
			(void)refuse(r, path,
			    errno == EFBIG ? "larger than 8 MiB" :
					     strerror(errno));
		else
			result = append(r, path, copied, size);
	}
	close(fd);
	return result;
}

static bool
is_yaml(const char *name)
{
	size_t n = strlen(name);

	return name[0] != '.' && n > 5 && strcmp(name + n - 5, ".yaml") == 0;
}

static int add_folder(struct reading *r, const char *path, unsigned depth);

static int
add_entry(struct reading *r, int folder, const struct dirent *d,
    const char *path, unsigned depth)
{
	struct stat st;

	if (d->d_name[0] == '.')
		return 0;
	if (depth != 0 &&
	    fstatat(folder, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode))
		return add_folder(r, path, depth - 1);
	return is_yaml(d->d_name) ? add_file(r, folder, d->d_name, path) : 0;
}

/* `depth` 0: the files of the folder itself. */
static int
add_folder(struct reading *r, const char *path, unsigned depth)
{
	struct dirent **found = NULL;
	char below[PATH_MAX];
	const char *what = NULL;
	struct stat st;
	int result = 0;
	int folder = open(path, OPEN_FLAGS | O_DIRECTORY);

	if (folder < 0)
		return refuse_errno(r, path);
	if (fstat(folder, &st) == 0 && (what = wrong(&st, S_IFDIR)) != NULL) {
		close(folder);
		return refuse(r, path, what);
	}
	int n = scandirat(folder, ".", &found, NULL, alphasort);
	if (n < 0)
		result = refuse_errno(r, path);
	for (int i = 0; i < n; i++) {
		bool fits = snprintf(below, sizeof(below), "%s/%s", path,
				found[i]->d_name) < (int)sizeof(below);
		if (result == 0 && fits)
			result = add_entry(r, folder, found[i], below, depth);
		free(found[i]);
	}
	free(found);
	close(folder);
	return result;
}

int
files_read(struct files *f, const char *dir, struct buf *why)
{
	struct reading r = { f, why };
	char policies[PATH_MAX], *real = realpath(dir, NULL);
	int result;

	*f = (struct files){ 0 };
	if (real == NULL)
		return refuse_errno(&r, dir);
	snprintf(policies, sizeof(policies), "%s/policies", real);
	result = add_folder(&r, real, 0);
	f->n_config = f->n;
	if (result == 0 && (access(policies, F_OK) == 0 || errno != ENOENT))
		result = add_folder(&r, policies, DEPTH_MAX);
	free(real);
	if (result != 0)
		files_release(f);
	return result;
}

void
files_release(struct files *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->at[i].path);
		close(f->at[i].fd);
	}
	free(f->at);
	*f = (struct files){ 0 };
}

int
files_open(const struct files *f, size_t i)
{
	char path[64];

	/* A description of its own: whoever reads it moves its place. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->at[i].fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

size_t
files_find(const struct files *f, const char *path)
{
	size_t i = 0;

	while (i < f->n && strcmp(f->at[i].path, path) != 0)
		i++;
	return i;
}

/* Parts of a path below a folder: none is empty, `.` or `..`. */
static bool
is_below(struct slice name)
{
	size_t from = 0;

	if (name.n == 0 || name.n >= PATH_MAX ||
	    memchr(name.p, '\0', name.n) != NULL)
		return false;
	for (size_t i = 0; i <= name.n; i++) {
		if (i < name.n && name.p[i] != '/')
			continue;
		struct slice part =
		    slice_first(slice_from(name, from), i - from);
		if (part.n == 0 || slice_eq_str(part, ".") ||
		    slice_eq_str(part, ".."))
			return false;
		from = i + 1;
	}
	return true;
}

size_t
files_include(const struct files *f, size_t from, struct slice name,
    const char **why)
{
	char path[2 * PATH_MAX];

	if (name.n > 2 && name.p[0] == '.' && name.p[1] == '/')
		name = slice_from(name, 2);
	*why = "an include lies in or below the folder of the file that has it";
	if (from >= f->n || !is_below(name))
		return f->n;
	const char *slash = strrchr(f->at[from].path, '/');
	snprintf(path, sizeof(path), "%.*s/%.*s",
	    (int)(slash - f->at[from].path), f->at[from].path, SLICE_ARG(name));
	*why = "there was no such file when the files were read";
	return files_find(f, path);
}
