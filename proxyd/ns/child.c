/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ns/child.h"
#include "ns/fds.h"
#include "ns/filter.h"
#include "ns/path.h"

#define CAPS_MAX 63 /* capabilities a kernel can have */

/*
 * Give up every capability and every way to get one back: an exec by uid 0
 * (securebits), a file with capabilities or a setuid one (no_new_privs).
 */
static int
drop_capabilities(struct fail *fail)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct none[2] = { 0 };
	int bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
	    SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
	    SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	if (prctl(PR_SET_SECUREBITS, bits) == -1 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1)
		return fail_errno(fail, "cannot lock the capabilities");
	for (int cap = 0; cap <= CAPS_MAX; cap++)
		if (prctl(PR_CAPBSET_READ, cap) == 1 &&
		    prctl(PR_CAPBSET_DROP, cap) == -1)
			return fail_errno(fail, "cannot drop capability %d",
			    cap);
	if (syscall(SYS_capset, &head, none) == -1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return fail_errno(fail, "cannot drop the capabilities");
	return 0;
}

/* The caller's keyring holds keys of the caller's; the new one is empty. */
static int
new_keyring(struct fail *fail)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) == -1 &&
	    errno != ENOSYS)
		return fail_errno(fail, "cannot make a session keyring");
	return 0;
}

/* All above 2 go with the exec, but those that stay. */
static int
keep_descriptors(const struct child *child, struct fail *fail)
{
	if (fds_keep(child->keep_fd, child->n_keep_fd, true) == -1)
		return fail_errno(fail, "cannot close descriptors");
	for (size_t i = 0; i < child->n_keep_fd; i++)
		if (fcntl(child->keep_fd[i], F_SETFD, 0) == -1)
			return fail_errno(fail, "cannot keep descriptor %d",
			    child->keep_fd[i]);
	return 0;
}

/* As the caller's shell would have started it. */
static void
reset_signals(const struct child *child)
{
	sigset_t none;

	for (int n = 1; n < NSIG; n++) {
		bool ignored = child->ignored != NULL &&
		    sigismember(child->ignored, n) == 1;
		struct sigaction act = { .sa_handler =
					     ignored ? SIG_IGN : SIG_DFL };
		sigaction(n, &act, NULL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * A core is never piped to a program of the host's, which would run outside:
 * the kernel takes 1 as the sign for that, 0 it does not.
 */
static int
limit_core(struct fail *fail)
{
	struct rlimit one = { 1, 1 }, now;

	if (getrlimit(RLIMIT_CORE, &now) == 0 && now.rlim_max < 1)
		one.rlim_cur = one.rlim_max = now.rlim_max;
	if (setrlimit(RLIMIT_CORE, &one) == -1)
		return fail_errno(fail, "cannot limit cores");
	return 0;
}

/* Why there is nothing to execute; outside there may be. */
static int
not_found(const struct child *child, const char *host_path, struct fail *fail)
{
	char folder[PATH_MAX];
	const char *name = child->argv[0];

	if (host_path == NULL ||
	    !path_folder(folder, sizeof(folder), host_path))
		fail_set(fail, ERR_MISSING, "%s: command not found", name);
	else if (access(host_path, F_OK) == 0)
		fail_set(fail, ERR_MISSING,
		    "%s: what its first line names, or its loader, is not "
		    "shown in the sandbox",
		    host_path);
	else
		fail_set(fail, ERR_MISSING,
		    "%s is %s, which the sandbox does not show. To show its "
		    "folder, write into a file of ~/.config/duenna:\n"
		    "  files: {read: [%s]}",
		    name, host_path, folder);
	return CHILD_EXIT_NOT_FOUND;
}

int
child_exec(const struct child *child, const char *host_path, struct fail *fail)
{
	if (new_keyring(fail) == -1 || limit_core(fail) == -1 ||
	    drop_capabilities(fail) == -1 || filter_load(fail) == -1 ||
	    keep_descriptors(child, fail) == -1)
		return CHILD_EXIT_FAULT;
	reset_signals(child);
	environ = (char **)(uintptr_t)child->environment;
	execvp(child->argv[0], child->argv);
	int number = errno;
	if (number == ENOENT || number == ENOTDIR)
		return not_found(child, host_path, fail);
	errno = number;
	fail_errno(fail, "cannot execute %s", child->argv[0]);
	return CHILD_EXIT_NOT_RUN;
}
