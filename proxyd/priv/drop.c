/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a role gives up what it does not need, in three stages.
 *
 * isolate_start	before anything else: the monitor's death is ours; no
 *			core, no ptrace by the same user; no new privileges; no
 *			descriptor but 0, 1, 2 and the channel; the worker's
 *			files have a size.
 * isolate_role		the user `duenna` (else 65534) when started by root; a
 *			user namespace of its own, and a network namespace
 *			without any interface for all but the dialer; no
 *			capability; Landlock: no file.
 * isolate_last		the system-call list.  Between the two a library may
 *			still read what it wants once (nothing, for most).
 *
 * Each stage leaves the process able to do the next and nothing that only an
 * earlier one needed.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "priv/landlock.h"
#include "priv/role.h"
#include "priv/seccomp.h"

#define NOBODY 65534 /* where no user `duenna` exists */

/* A row a role: files that it may still open, whether it has a network. */
static const struct {
	enum landlock_files files;
	bool network;
} rows[ROLE_COUNT] = {
	[ROLE_STEWARD] = { LANDLOCK_NO_FILES, false },
	[ROLE_CLERK] = { LANDLOCK_NO_FILES, false },
	[ROLE_WORKER] = { LANDLOCK_NO_FILES, false },
	[ROLE_DIALER] = { LANDLOCK_READ_NET, true },
	[ROLE_KEEPER] = { LANDLOCK_NO_FILES, false },
	[ROLE_SCRIBE] = { LANDLOCK_NO_FILES, false },
	[ROLE_PORTER] = { LANDLOCK_NO_FILES, false },
};

static int
fail(const char *what)
{
	log_error("%s: %s", what, strerror(errno));
	return -1;
}

/* A change of user sets these two back; so they are set after it again. */
static int
tie_to_monitor(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		return fail("PR_SET_PDEATHSIG");
	if (prctl(PR_SET_DUMPABLE, 0) != 0)
		return fail("PR_SET_DUMPABLE");
	return 0;
}

/*
 * A connection is a descriptor, and the usual 1,024 are fewer than one sandbox
 * may have.  The command keeps the caller's own limit.
 */
static void
raise_descriptors(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) != 0)
		log_info("RLIMIT_NOFILE: %s", strerror(errno));
}

/*
 * What a worker is handed to write into (flow/hold.h) may grow so far: whoever
 * has taken it over fills no disk.  Other roles keep the caller's limit.
 */
static int
limit_files(enum role role)
{
	struct rlimit size;

	if (role != ROLE_WORKER)
		return 0;
	if (getrlimit(RLIMIT_FSIZE, &size) != 0)
		return -1;
	if (size.rlim_max > LIMIT_HOLD_SIZE)
		size.rlim_max = LIMIT_HOLD_SIZE;
	size.rlim_cur = size.rlim_max;
	return setrlimit(RLIMIT_FSIZE, &size);
}

/*
 * What asks the monitor for something may be sent to all of one name.  Without
 * the last a file that would grow too large is an error of write(2).
 */
static void
ignore_signals(void)
{
	static const int numbers[] = { SIGPIPE, SIGHUP, SIGUSR1, SIGUSR2,
		SIGXFSZ };

	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		signal(numbers[i], SIG_IGN);
}

int
isolate_start(enum role role)
{
	struct rlimit none = { 0, 0 };

	ignore_signals();
	/* gmtime_r() would read /etc/localtime at its first call. */
	tzset();
	if (tie_to_monitor() != 0)
		return -1;
	if (setrlimit(RLIMIT_CORE, &none) != 0)
		return fail("RLIMIT_CORE");
	if (limit_files(role) != 0)
		return fail("RLIMIT_FSIZE");
	raise_descriptors();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return fail("PR_SET_NO_NEW_PRIVS");
	if (syscall(SYS_close_range, ROLE_MONITOR_FD + 1, ~0U, 0) != 0)
		return fail("close_range");
	return 0;
}

/* `duenna`, else nobody. */
static void
find_user(uid_t *uid, gid_t *gid)
{
	const struct passwd *pw = getpwnam("duenna");

	*uid = pw != NULL ? pw->pw_uid : NOBODY;
	*gid = pw != NULL ? pw->pw_gid : NOBODY;
}

/* user_namespaces(7): lines of first id inside, outside, how many. */
static bool
is_mapped(const char *path, unsigned long id)
{
	unsigned long first, outside, n;
	FILE *f = fopen(path, "re");
	bool found = false;

	while (f != NULL && !found &&
	    fscanf(f, "%lu %lu %lu", &first, &outside, &n) == 3)
		found = id >= first && id - first < n;
	if (f != NULL)
		fclose(f);
	return found;
}

bool
isolate_has_user(void)
{
	uid_t uid;
	gid_t gid;

	if (geteuid() != 0)
		return true;
	find_user(&uid, &gid);
	return is_mapped("/proc/self/uid_map", uid) &&
	    is_mapped("/proc/self/gid_map", gid);
}

/* Only where we were started by root: an ordinary user has no other. */
static int
drop_user(void)
{
	uid_t uid;
	gid_t gid;

	if (geteuid() != 0)
		return 0;
	find_user(&uid, &gid);
	if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 ||
	    setresuid(uid, uid, uid) != 0)
		return fail("cannot become the user duenna");
	return tie_to_monitor();
}

static int
drop_capabilities(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct none[2] = { 0 };

	/* The bounding set wants a capability to change; it may be gone. */
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, none) != 0)
		return fail("capset");
	return 0;
}

int
isolate_role(enum role role)
{
	int spaces = CLONE_NEWUSER | (rows[role].network ? 0 : CLONE_NEWNET);

	if (drop_user() != 0)
		return -1;
	/* Beside the system-call list, so its refusal by a profile is no end. */
	if (unshare(spaces) != 0)
		log_info("no namespaces of its own: %s", strerror(errno));
	if (drop_capabilities() != 0 || tie_to_monitor() != 0)
		return -1;
	return landlock_apply(rows[role].files);
}

int
isolate_last(enum role role)
{
	return seccomp_apply(role);
}
