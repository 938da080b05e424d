/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel and this user give, one by one, each tried in a process of
 * its own: so that the first thing that is refused is told by its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/doctor.h"
#include "ns/fail.h"

#define KERNEL_MAJOR 5 /* the first one with mount_setattr(2) */
#define KERNEL_MINOR 12

/* A seal keeps what a role was given as it was given. */
static int
try_memfd(void)
{
	int fd = memfd_create("duenna-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd == -1 ? -1 : fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE);
}

static int
try_seccomp(void)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;

	return (int)syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
}

static int
try_mount_setattr(void)
{
	/* asked of no mount: only that there is such a call */
	if (syscall(SYS_mount_setattr, -1, "", 0, NULL, 0) == -1 &&
	    errno != ENOSYS && errno != EPERM)
		return 0;
	return -1;
}

static int
try_user(void)
{
	return unshare(CLONE_NEWUSER);
}

static int
try_net(void)
{
	return try_user() == -1 ? -1 : unshare(CLONE_NEWNET);
}

static int
try_mount(void)
{
	return try_user() == -1 ? -1 : unshare(CLONE_NEWNS);
}

static int
try_pid(void)
{
	return try_user() == -1 ? -1 : unshare(CLONE_NEWPID);
}

static int
try_uts_ipc(void)
{
	return try_user() == -1 ? -1 : unshare(CLONE_NEWUTS | CLONE_NEWIPC);
}

static int
try_cgroup(void)
{
	return try_user() == -1 ? -1 : unshare(CLONE_NEWCGROUP);
}

static int
try_overlay(void)
{
	if (try_mount() == -1)
		return -1;
	/* EINVAL: these folders are no layers, as on an overlay in a container;
	 * run does without one then (ns/etc.h). */
	if (mount("overlay", "/tmp", "overlay", MS_RDONLY,
		"lowerdir=/usr/bin:/usr/lib") == 0 ||
	    errno == EINVAL)
		return 0;
	return -1;
}

/* Its status, 255 for one that did not say. */
static int
status_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return 255;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int
try_proc(void)
{
	if (try_mount() == -1 || unshare(CLONE_NEWPID) == -1)
		return -1;
	pid_t pid = fork();
	if (pid == 0)
		_exit(mount("proc", "/proc", "proc", 0, NULL) == 0 ? 0 : errno);
	errno = pid == -1 ? errno : status_of(pid);
	return errno == 0 ? 0 : -1;
}

/* In the order in which `run` wants them: a later one leans on the former. */
static const struct {
	const char *name, *what;
	enum fail_what remedy;
	int (*try)(void);
} parts[] = {
	{ "memfd", "memory files that can be sealed", FAIL_KERNEL, try_memfd },
	{ "seccomp", "lists of system calls", FAIL_KERNEL, try_seccomp },
	{ "mounts", "mount_setattr(2)", FAIL_MOUNT, try_mount_setattr },
	{ "user ns", "a user namespace", FAIL_USER, try_user },
	{ "net ns", "a network namespace", FAIL_NET, try_net },
	{ "mount ns", "a mount namespace", FAIL_NET, try_mount },
	{ "pid ns", "a process namespace", FAIL_NET, try_pid },
	{ "uts ns", "namespaces of names and of IPC", FAIL_NET, try_uts_ipc },
	{ "cgroup ns", "a cgroup namespace", FAIL_NET, try_cgroup },
	{ "overlay", "an overlay without root", FAIL_OVERLAY, try_overlay },
	{ "proc", "a new /proc", FAIL_PROC, try_proc },
};

/* The errno of one, tried in a child; 0: it is there. */
static int
error_of(int (*try)(void))
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(try() == 0 ? 0 : errno);
	return pid == -1 ? errno : status_of(pid);
}

static void
say_kernel(struct doctor *d)
{
	struct utsname u;
	char *end = NULL;

	uname(&u);
	long major = strtol(u.release, &end, 10);
	long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
	bool ok = major > KERNEL_MAJOR ||
	    (major == KERNEL_MAJOR && minor >= KERNEL_MINOR);
	doctor_say(d, ok, "kernel", "%s %s, %d.%d or later is needed",
	    u.sysname, u.release, KERNEL_MAJOR, KERNEL_MINOR);
}

/* Landlock is a second wall around roles: its absence is told, no more. */
static void
say_landlock(struct doctor *d)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);

	if (abi > 0)
		doctor_say(d, true, "landlock", "version %ld", abi);
	else
		doctor_say(d, true, "landlock",
		    "not in this kernel; the lists of system calls forbid the "
		    "same");
}

/* Roles cannot be traced whatever this says; the owner's other programs can. */
static void
say_ptrace(struct doctor *d)
{
	char scope = '0';
	int fd =
	    open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);

	if (fd != -1) {
		if (read(fd, &scope, 1) != 1)
			scope = '0';
		close(fd);
	}
	doctor_say(d, true, "ptrace", "kernel.yama.ptrace_scope %s%s",
	    fd == -1 ? "is not in this kernel" : (char[]){ scope, '\0' },
	    scope == '0' ? ": your programs may trace each other, but none of "
			   "duenna's roles" :
			   "");
}

bool
doctor_parts(struct doctor *d)
{
	say_kernel(d);
	say_landlock(d);
	say_ptrace(d);
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		int number = error_of(parts[i].try);
		char remedy[FAIL_TEXT_SIZE];
		if (number == 0) {
			doctor_say(d, true, parts[i].name, "%s", parts[i].what);
			continue;
		}
		fail_remedy(parts[i].remedy, number, remedy, sizeof(remedy));
		doctor_say(d, false, parts[i].name, "%s: %s%s%s", parts[i].what,
		    strerror(number), remedy[0] == '\0' ? "" : "\n", remedy);
		return false;
	}
	return true;
}
