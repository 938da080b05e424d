/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks are those of fcntl(2): the kernel knows whose they are, no child
 * inherits one, and the death of the monitor, by which the command dies too,
 * frees it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ns/home.h"
#include "ns/homelock.h"
#include "ns/path.h"

#define ROUNDS_MAX 16 /* a file that was removed while we opened it */

static const char mark[] = "its home goes with the run\n";

/* A descriptor of the lock's file, locked; -1 and errno. */
static int
open_locked(const char *path, int flags, struct flock *lock)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	int number;

	if (fd == -1)
		return -1;
	*lock = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
	if (fcntl(fd, F_SETLK, lock) == 0)
		return fd;
	number = errno;
	/* Whose is it?  Of another PID namespace: nobody's that we can name. */
	if (fcntl(fd, F_GETLK, lock) != 0 || lock->l_type == F_UNLCK)
		lock->l_pid = 0;
	close(fd);
	errno = number;
	return -1;
}

/* Is it still the file of that name?  Its holder may have removed it before
 * the lock was ours. */
static bool
is_there(int fd, const char *path, struct stat *st)
{
	struct stat now;

	return fstat(fd, st) == 0 && lstat(path, &now) == 0 &&
	    st->st_ino == now.st_ino && st->st_dev == now.st_dev;
}

static int
fail_in_use(struct fail *fail, const char *name, pid_t pid)
{
	char who[48] = "another run";

	if (pid > 0)
		snprintf(who, sizeof(who), "process %ld", (long)pid);
	return fail_set(fail, ERR_EXISTS,
	    "the sandbox `%s` and its home are in use by %s: wait for its "
	    "end, or give another --name",
	    name, who);
}

/* What a run that was killed left under this name. */
static int
remove_left(const char *state, const char *name, struct fail *fail)
{
	char home[PATH_MAX];
	struct stat st;

	if (snprintf(home, sizeof(home), "%s/homes/%s", state, name) >=
	    (int)sizeof(home))
		return fail_set(fail, ERR_FULL, "too long a path: %s", state);
	if (lstat(home, &st) == -1 && errno == ENOENT)
		return 0;
	return home_remove(home, fail);
}

static bool
write_mark(int fd, bool once)
{
	const ssize_t n = sizeof(mark) - 1;

	return ftruncate(fd, 0) == 0 &&
	    (!once || pwrite(fd, mark, (size_t)n, 0) == n);
}

int
homelock_take(struct homelock *l, const char *state, const char *name,
    bool once, struct fail *fail)
{
	char folder[PATH_MAX];
	struct flock lock;
	struct stat st;

	l->fd = -1;
	if (!path_join(folder, sizeof(folder), state, "locks") ||
	    !path_join(l->path, sizeof(l->path), folder, name))
		return fail_set(fail, ERR_FULL, "too long a path: %s", state);
	if (mkdir(folder, 0700) == -1 && errno != EEXIST)
		return fail_errno(fail, "cannot make %s", folder);
	for (unsigned i = 0; i < ROUNDS_MAX && l->fd == -1; i++) {
		l->fd = open_locked(l->path, O_CREAT, &lock);
		if (l->fd == -1 && errno == EAGAIN)
			return fail_in_use(fail, name, lock.l_pid);
		if (l->fd == -1)
			return fail_errno(fail, "cannot lock %s", l->path);
		if (!is_there(l->fd, l->path, &st)) {
			close(l->fd);
			l->fd = -1;
		}
	}
	if (l->fd == -1)
		return fail_in_use(fail, name, 0);
	if (st.st_size != 0 && remove_left(state, name, fail) == -1) {
		homelock_release(l, true);
		return -1;
	}
	if (write_mark(l->fd, once))
		return 0;
	fail_errno(fail, "cannot write %s", l->path);
	homelock_release(l, true);
	return -1;
}

void
homelock_release(struct homelock *l, bool left)
{
	if (l->fd == -1)
		return;
	if (!left)
		unlink(l->path);
	close(l->fd);
	l->fd = -1;
}

/*
 * The lock's file of another run.  True: a home was removed.  One that is empty
 * is let be: a run may be about to lock it, and must not find us there.
 */
static bool
clean_one(const char *state, const char *folder, const char *name)
{
	struct homelock l;
	struct flock lock;
	struct fail fail = { 0 };
	struct stat st;

	if (!path_join(l.path, sizeof(l.path), folder, name) ||
	    lstat(l.path, &st) == -1 || st.st_size == 0)
		return false;
	l.fd = open_locked(l.path, 0, &lock);
	if (l.fd == -1)
		return false;
	bool left = !is_there(l.fd, l.path, &st) || st.st_size == 0 ||
	    remove_left(state, name, &fail) == -1;
	homelock_release(&l, left);
	return !left;
}

void
homelock_clean(const char *state)
{
	char folder[PATH_MAX];
	const struct dirent *d;
	unsigned n = 0;

	if (!path_join(folder, sizeof(folder), state, "locks"))
		return;
	DIR *dir = opendir(folder);
	while (
	    dir != NULL && n < HOMELOCK_LEFT_MAX && (d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.' && clean_one(state, folder, d->d_name))
			n++;
	if (dir != NULL)
		closedir(dir);
}
