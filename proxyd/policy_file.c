/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "proxyd/policy_file.h"

#define PATH_SIZE 4096
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

static int
refuse(const char **why, const char *text)
{
	*why = text;
	return -1;
}

static bool
no(const char **why, const char *text)
{
	*why = text;
	return false;
}

/*
 * Where the open file lies; NULL in *real: it has no folder.  False: the path
 * means another file by now.  Another sandbox may write there, and a link to
 * the owner's own folder in its place would make the file that is open trusted.
 */
static bool
find_path(int fd, const char *path, char **real)
{
	struct stat st, now;

	*real = NULL;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return true;
	*real = realpath(path, NULL);
	return *real == NULL ||
	    (lstat(*real, &now) == 0 && now.st_dev == st.st_dev &&
		now.st_ino == st.st_ino);
}

int
policy_file_open(struct policy_files *f, const char *path, const char **why)
{
	int fd = open(path, OPEN_FLAGS);

	if (fd < 0)
		return refuse(why, strerror(errno));
	(void)fcntl(fd, F_SETFL, 0);
	f->n = 1;
	if (find_path(fd, path, &f->paths[0]))
		return fd;
	close(fd);
	return refuse(why, "it was replaced while it was opened");
}

/* JSON is YAML; whatever stands in a pattern, it stays one string. */
static void
put_policy(struct json *j, const char *const *patterns, size_t n)
{
	json_object_begin(j);
	json_key_number(j, "version", 1);
	json_key(j, "policies");
	json_object_begin(j);
	json_key(j, "allow");
	json_object_begin(j);
	json_key(j, "rules");
	json_array_begin(j);
	for (size_t i = 0; i < n; i++) {
		if (i != 0)
			buf_put_byte(j->out, '\n');
		json_object_begin(j);
		json_key_str(j, "allow", patterns[i]);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
	json_object_end(j);
	json_object_end(j);
}

int
policy_file_of_patterns(const char *const *patterns, size_t n)
{
	struct buf text;
	struct json j;
	int fd = memfd_create("duenna-policy", MFD_CLOEXEC);

	buf_init(&text, LIMIT_POLICY_FILE_SIZE);
	json_init(&j, &text);
	put_policy(&j, patterns, n);
	struct slice all = buf_slice(&text);
	bool good = !text.failed && fd >= 0 &&
	    write(fd, all.p, all.n) == (ssize_t)all.n &&
	    lseek(fd, 0, SEEK_SET) == 0;
	if (text.failed)
		errno = E2BIG;
	buf_release(&text);
	if (good || fd < 0)
		return fd;
	int number = errno;
	close(fd);
	errno = number;
	return -1;
}

/* Are these the parts of a path below a folder, and nothing else? */
static bool
check_parts(struct slice path, const char **why)
{
	size_t from = 0;

	if (path.n == 0 || path.n >= PATH_SIZE)
		return no(why, "no path");
	if (path.p[0] == '/')
		return no(why,
		    "is absolute: an include lies in or below the "
		    "folder of the file that has it");
	for (size_t i = 0; i <= path.n; i++) {
		if (i < path.n && path.p[i] == '\0')
			return no(why, "no path");
		if (i < path.n && path.p[i] != '/')
			continue;
		struct slice part =
		    slice_first(slice_from(path, from), i - from);
		if (slice_eq_str(part, ".."))
			return no(why,
			    "`..`: an include lies in or below the "
			    "folder of the file that has it");
		if (part.n == 0 || (slice_eq_str(part, ".") && from != 0))
			return no(why, "no path");
		from = i + 1;
	}
	return true;
}

/* Open the parts of a path one by one, following no link. */
static int
open_parts(int folder, const char *path, const char **why)
{
	char part[PATH_SIZE];
	struct stat st;
	int at = folder;

	for (;;) {
		size_t n = strcspn(path, "/");
		bool last = path[n] == '\0';
		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		if (fstat(at, &st) == 0 && (st.st_mode & S_IWOTH) != 0) {
			close(at);
			return refuse(why,
			    "lies in a folder that others write");
		}
		int next = openat(at, part,
		    OPEN_FLAGS | O_NOFOLLOW | (last ? 0 : O_DIRECTORY));
		int failed = errno;
		/* With O_DIRECTORY a link is "not a directory". */
		bool is_link =
		    fstatat(at, part, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISLNK(st.st_mode);
		close(at);
		if (next < 0)
			return refuse(why,
			    is_link ? "is a symbolic link" : strerror(failed));
		if (last)
			return next;
		at = next;
		path += n + 1;
	}
}

/* A regular file that others cannot write. */
static bool
check_file(int fd, const char **why)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return no(why, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return no(why, "not a regular file");
	if ((st.st_mode & S_IWOTH) != 0)
		return no(why, "others may write it");
	return true;
}

/* A path has one number, since no part of it is a link. */
static bool
add(struct policy_files *f, const char *path, uint32_t *number)
{
	for (*number = 0; *number < f->n; ++*number)
		if (strcmp(f->paths[*number], path) == 0)
			return true;
	if (f->n == COUNT_OF(f->paths))
		return false;
	f->paths[f->n] = strdup(path);
	return f->paths[f->n] != NULL && ++f->n != 0;
}

int
policy_file_include(struct policy_files *f, uint32_t from, struct slice path,
    uint32_t *number, const char **why)
{
	char folder[PATH_SIZE], below[PATH_SIZE], whole[2 * PATH_SIZE];

	if (f->n_asked++ >= LIMIT_POLICY_INCLUDES)
		return refuse(why, "too many includes");
	if (from >= f->n || f->paths[from] == NULL)
		return refuse(why,
		    "a policy that is not a regular file has no folder to "
		    "include from");
	if (!check_parts(path, why))
		return -1;
	snprintf(below, sizeof(below), "%.*s", SLICE_ARG(path));
	snprintf(folder, sizeof(folder), "%s", f->paths[from]);
	char *slash = strrchr(folder, '/');
	slash[slash == folder ? 1 : 0] = '\0';
	int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (at < 0)
		return refuse(why, strerror(errno));
	int fd = open_parts(at, below, why);
	if (fd < 0)
		return -1;
	if (!check_file(fd, why)) {
		close(fd);
		return -1;
	}
	(void)fcntl(fd, F_SETFL, 0);
	snprintf(whole, sizeof(whole), "%s/%s", folder,
	    below[0] == '.' && below[1] == '/' ? below + 2 : below);
	if (add(f, whole, number))
		return fd;
	close(fd);
	return refuse(why, "too many includes");
}

void
policy_file_config_dir(char *path, size_t size)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (xdg != NULL && xdg[0] == '/')
		snprintf(path, size, "%s/duenna", xdg);
	else
		snprintf(path, size, "%s/.config/duenna",
		    home == NULL ? "" : home);
}

bool
policy_file_is_trusted(const struct policy_files *f)
{
	char dir[PATH_SIZE];

	policy_file_config_dir(dir, sizeof(dir));
	const char *file = f->paths[0];
	char *real = realpath(dir, NULL);
	size_t n = real == NULL ? 0 : strlen(real);
	bool below = file != NULL && real != NULL &&
	    strncmp(file, real, n) == 0 && file[n] == '/';
	free(real);
	return below;
}

void
policy_files_release(struct policy_files *f)
{
	for (size_t i = 0; i < COUNT_OF(f->paths); i++)
		free(f->paths[i]);
	*f = (struct policy_files){ .n = 0 };
}
