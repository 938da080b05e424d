/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the new root is made.  A file system of ours is mounted over /tmp and
 * made the root, with the host's whole tree below it: then everything of the
 * host, /tmp too, can be found, and nothing of it is in our way.  What is
 * shown is copied from there by descriptor into a second file system of ours,
 * which becomes the root in the end; the host's tree is then taken off whole.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "ns/device.h"
#include "ns/etc.h"
#include "ns/infile.h"
#include "ns/mount.h"
#include "ns/path.h"
#include "ns/plan.h"
#include "ns/sockets.h"
#include "ns/view.h"

#define BASE "/tmp"    /* where the first file system is mounted */
#define HOST "/host"   /* in it: the host's root */
#define ROOT "/root"   /* in it: the new root */
#define STAGE "/stage" /* in it: our files of /etc */

struct build {
	const struct view *view;	/* borrowed */
	const struct view_given *given; /* borrowed */
	int host, root;			/* owned; folders */
	char tty[64];			/* the caller's terminal, "" if none */
};

static void
find_tty(struct build *b)
{
	b->tty[0] = '\0';
	for (int fd = 0; fd <= 2; fd++)
		if (isatty(fd) && ttyname_r(fd, b->tty, sizeof(b->tty)) == 0)
			return;
	b->tty[0] = '\0';
}

/* Mount a new file system at a folder that we have made. */
static int
put_new(int at, const char *type, const char *const *options,
    uint64_t attributes)
{
	int tree = mount_new(type, options, attributes);

	return tree == -1 ? -1 : mount_put(tree, at);
}

static int
open_folder(const char *path)
{
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The host's tree below a root of ours. */
static int
make_base(struct build *b, struct fail *fail)
{
	static const char *const mode[] = { "mode", "0755", NULL };

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		return fail_refused(fail, FAIL_MOUNT,
		    "cannot keep mounts to ourselves");
	int at = open_folder(BASE);
	if (at == -1 || put_new(at, "tmpfs", mode, MOUNT_PLAIN) == -1)
		return fail_refused(fail, FAIL_MOUNT,
		    "cannot mount a file system");
	close(at);
	if (chdir(BASE) == -1 || mkdir("host", 0755) == -1 ||
	    mkdir("root", 0755) == -1 || mkdir("stage", 0755) == -1 ||
	    syscall(SYS_pivot_root, ".", "host") == -1 || chdir("/") == -1)
		return fail_refused(fail, FAIL_MOUNT,
		    "cannot make a root of our own");
	int root = open_folder(ROOT), stage = open_folder(STAGE);
	if (root == -1 || put_new(root, "tmpfs", mode, MOUNT_PLAIN) == -1 ||
	    put_new(stage, "tmpfs", mode, MOUNT_PLAIN) == -1)
		return fail_refused(fail, FAIL_MOUNT,
		    "cannot mount a file system");
	close(root);
	close(stage);
	b->host = open_folder(HOST);
	b->root = open_folder(ROOT); /* what is mounted there now */
	if (b->host == -1 || b->root == -1)
		return fail_errno(fail, "cannot open a root of our own");
	return 0;
}

/* Show a system folder as it is; a link, as /bin often is, as that link. */
static int
show_system(struct build *b, const char *path, struct fail *fail)
{
	char target[PATH_MAX];

	ssize_t n = readlinkat(b->host, path + 1, target, sizeof(target) - 1);
	if (n > 0) {
		target[n] = '\0';
		if (symlinkat(target, b->root, path + 1) == -1)
			return fail_errno(fail, "cannot make %s", path);
		return 0;
	}
	int from = mount_find(b->host, path);
	if (from == -1)
		return 0; /* this host has none */
	int at = mount_make_place(b->root, path, true);
	int tree = mount_copy(from, MOUNT_READ);
	mount_close(from);
	if (at == -1 || tree == -1 || mount_put(tree, at) == -1)
		return fail_refused(fail, FAIL_MOUNT, "cannot show %s", path);
	close(at);
	return 0;
}

static int
show_systems(struct build *b, struct fail *fail)
{
	char path[NAME_MAX + 2];
	const struct dirent *d;
	int result = 0;

	for (size_t i = 0; plan_system[i] != NULL; i++)
		if (show_system(b, plan_system[i], fail) == -1)
			return -1;
	DIR *dir = opendir(HOST);
	if (dir == NULL)
		return fail_errno(fail, "cannot read the host's root");
	while (result == 0 && (d = readdir(dir)) != NULL) {
		if (strncmp(d->d_name, "lib", 3) != 0)
			continue;
		snprintf(path, sizeof(path), "/%s", d->d_name);
		result = show_system(b, path, fail);
	}
	closedir(dir);
	return result;
}

/* /proc belongs to the sandbox's PID namespace.  Root in there is root to the
 * files of /proc/sys, capability or not: for it they are read-only. */
static int
make_proc(struct build *b, struct fail *fail)
{
	static const char *const read_only[] = { "bus", "fs", "irq", "sys",
		"sysrq-trigger" };
	int at = mount_make_place(b->root, "/proc", true);

	if (at == -1 ||
	    put_new(at, "proc", NULL, MOUNT_PLAIN | MOUNT_ATTR_NOEXEC) == -1)
		return fail_refused(fail, FAIL_PROC, "cannot mount /proc");
	close(at);
	for (size_t i = 0; b->view->root && i < COUNT_OF(read_only); i++) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/%s", read_only[i]);
		at = mount_find_plain(b->root, path);
		if (at == -1)
			continue;
		int tree = mount_copy(at, MOUNT_READ);
		if (tree == -1 || mount_put(tree, at) == -1)
			return fail_refused(fail, FAIL_MOUNT,
			    "cannot make %s read-only", path);
		close(at);
	}
	return 0;
}

/* /sys of this network namespace; where that may not be had, the host's.
 * Read-only, and a new one has no cgroups to freeze. */
static int
make_sys(struct build *b, struct fail *fail)
{
	uint64_t attributes = MOUNT_READ | MOUNT_ATTR_NOEXEC;
	int at = mount_make_place(b->root, "/sys", true);
	int tree = mount_new("sysfs", NULL, attributes);

	if (tree == -1) {
		int from = mount_find(b->host, "/sys");
		if (from != -1)
			tree = mount_copy(from, attributes);
		mount_close(from);
	}
	if (at == -1 || tree == -1 || mount_put(tree, at) == -1)
		return fail_refused(fail, FAIL_MOUNT, "cannot mount /sys");
	close(at);
	return 0;
}

/* Folders of the sandbox's own, in memory. */
static int
make_fresh(struct build *b, struct fail *fail)
{
	static const char *const open_mode[] = { "mode", "1777", NULL };
	static const char *const mode[] = { "mode", "0755", NULL };
	int tmp = mount_make_place(b->root, "/tmp", true);
	int run = mount_make_place(b->root, "/run", true);
	int dev = mount_make_place(b->root, "/dev", true);
	int var = mount_make_place(b->root, "/var", true);

	if (tmp == -1 || run == -1 || dev == -1 || var == -1 ||
	    put_new(tmp, "tmpfs", open_mode, MOUNT_PLAIN) == -1 ||
	    put_new(run, "tmpfs", mode, MOUNT_PLAIN) == -1 ||
	    put_new(dev, "tmpfs", mode, MOUNT_DEVICE) == -1 ||
	    symlinkat("/tmp", var, "tmp") == -1 ||
	    symlinkat("/run", var, "run") == -1)
		return fail_refused(fail, FAIL_MOUNT,
		    "cannot make /tmp, /run and /dev");
	close(tmp);
	close(run);
	close(dev);
	close(var);
	dev = mount_find_plain(b->root, "/dev"); /* the mount, not its place */
	if (dev == -1)
		return fail_errno(fail, "cannot open /dev");
	if (device_fill(b->host, dev, b->tty[0] == '\0' ? NULL : b->tty,
		fail) == -1)
		return -1;
	if (mount_change(dev, MOUNT_ATTR_RDONLY) == -1)
		return fail_errno(fail, "cannot make /dev read-only");
	close(dev);
	return 0;
}

static int
make_etc(struct build *b, struct fail *fail)
{
	int tree = etc_make(b->view, STAGE, HOST "/etc", fail);

	if (tree == -1)
		return -1;
	int at = mount_make_place(b->root, "/etc", true);
	if (at == -1 || mount_put(tree, at) == -1)
		return fail_refused(fail, FAIL_MOUNT, "cannot mount /etc");
	close(at);
	(void)umount2(STAGE, MNT_DETACH);
	return 0;
}

static bool
is_folder(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The tree to be put there; -1 with errno. */
static int
take(struct build *b, const struct plan_item *item, int from)
{
	if (item->rank == PLAN_HOME && b->given->home != -1)
		return fcntl(b->given->home, F_DUPFD_CLOEXEC, 0);
	return mount_copy(from,
	    plan_is_writable(item->rank) ? MOUNT_PLAIN : MOUNT_READ);
}

/*
 * Where it is on the host; what root has taken for us need not be found.  What
 * a sandbox may write to is found without following a link: its path was judged
 * with every link followed, and another sandbox that runs in there may have put
 * one in its way since.
 */
static int
find_source(struct build *b, const struct plan_item *item)
{
	if (item->rank == PLAN_HOME && b->given->home != -1)
		return fcntl(b->host, F_DUPFD_CLOEXEC, 0);
	if (item->rank == PLAN_COVER)
		return mount_find(b->host, "/dev/null");
	if (item->rank == PLAN_HOME || item->rank == PLAN_KNOWN)
		return mount_find(b->host, item->source);
	return mount_find_plain(b->host, item->source);
}

/* Its place; what pins or covers has one already, or needs none (-1, 0). */
static int
find_place(struct build *b, const struct plan_item *item, int from,
    struct fail *fail)
{
	int at;

	if (item->rank >= PLAN_REPO)
		return mount_find_plain(b->root, item->path);
	at = mount_make_place(b->root, item->path, is_folder(from));
	if (at == -1)
		fail_errno(fail, "no place for %s in the sandbox%s", item->path,
		    errno == ELOOP ? " (a link stands in its home there)" : "");
	return at;
}

static int
put_item(struct build *b, const struct plan_item *item, struct fail *fail)
{
	int from = find_source(b, item);

	if (from == -1 && plan_is_optional(item->rank))
		return 0;
	if (from == -1)
		return fail_errno(fail, "cannot show %s", item->source);
	int at = find_place(b, item, from, fail);
	if (at == -1) {
		close(from);
		return item->rank >= PLAN_REPO ? 0 : -1;
	}
	int tree = take(b, item, from);
	mount_close(from);
	if (tree == -1 || mount_put(tree, at) == -1)
		return fail_refused(fail, FAIL_MOUNT, "cannot show %s",
		    item->path);
	close(at);
	return 0;
}

/* Look for repositories; a missing `hooks` is made, else the command does. */
static int
find_repos(struct build *b, const char *folder, bool deep, struct repos *repos,
    struct fail *fail)
{
	char path[PATH_MAX];
	int fd = mount_find_plain(b->host, folder);

	*repos = (struct repos){ 0 };
	if (fd == -1)
		return fail_errno(fail, "cannot open %s", folder);
	repos_find(repos, fd, deep);
	for (size_t i = 0; i < repos->n; i++) {
		const struct repo *r = &repos->repo[i];
		const char *slash = r->path[0] == '\0' ? "" : "/";
		if (r->kind != REPO_FOLDER)
			continue;
		snprintf(path, sizeof(path), "%s%shooks", r->path, slash);
		(void)mkdirat(fd, path, 0777);
	}
	close(fd);
	if (repos->cut)
		log_warn("%s is large: only its first %d entries were searched "
			 "for git repositories and sockets",
		    folder, REPOS_ENTRIES_MAX);
	if (repos->socket == NULL)
		return 0;
	return fail_set(fail, ERR_DENIED,
	    "the UNIX socket %s is in %s, which the command would see: whatever "
	    "answers there would act for it outside. Stop that program, or "
	    "remove the socket.",
	    repos->socket, folder);
}

static int
put_items(struct build *b, struct repos *work, struct fail *fail)
{
	const struct view *view = b->view;
	struct repos *repos = mem_array(view->n_binds + 1, sizeof(*repos));
	struct plan plan = { 0 };
	int result = find_repos(b, view->work, true, &repos[0], fail);

	for (size_t i = 0; result == 0 && i < view->n_binds; i++)
		if (view->binds[i].write)
			result = find_repos(b, view->binds[i].path, false,
			    &repos[i + 1], fail);
	if (result == 0)
		plan_make(&plan, view, repos, b->given->sockets);
	for (size_t i = 0; result == 0 && i < plan.n; i++)
		result = put_item(b, &plan.item[i], fail);
	plan_release(&plan);
	for (size_t i = 1; i <= view->n_binds; i++)
		repos_release(&repos[i]);
	*work = repos[0];
	free(repos);
	return result;
}

/* The host's tree goes away as a whole. */
static int
enter(struct build *b, struct fail *fail)
{
	if (mount_change(b->root, MOUNT_ATTR_RDONLY) == -1 ||
	    fchdir(b->root) == -1 || syscall(SYS_pivot_root, ".", ".") == -1 ||
	    umount2(".", MNT_DETACH) == -1 || chdir("/") == -1)
		return fail_refused(fail, FAIL_MOUNT, "cannot enter the root");
	close(b->host);
	close(b->root);
	if (chdir(b->view->work) == -1)
		return fail_errno(fail, "cannot enter %s", b->view->work);
	return 0;
}

int
view_build(const struct view *view, const struct view_given *given,
    const struct child *child, struct repos *repos, struct fail *fail)
{
	struct build b = { .view = view, .given = given };
	mode_t mask = umask(0022);

	fail_keep_facts();
	find_tty(&b);
	if (make_base(&b, fail) == -1 || show_systems(&b, fail) == -1 ||
	    make_etc(&b, fail) == -1 || make_fresh(&b, fail) == -1 ||
	    make_proc(&b, fail) == -1 || make_sys(&b, fail) == -1 ||
	    put_items(&b, repos, fail) == -1 ||
	    infile_protect(b.host, ROOT "/proc", child, fail) == -1 ||
	    enter(&b, fail) == -1)
		return -1;
	umask(mask);
	return 0;
}
