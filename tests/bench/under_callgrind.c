/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into `duenna run` by tests/bench: its worker runs under callgrind.
 *
 * In the monitor: the exec of the worker becomes that of valgrind, and nobody
 * kills it for being slow.  In the worker: nothing is given up, since valgrind
 * would lose it too.  For counting instructions, never for a measure of safety.
 *
 *	DUENNA_BENCH_OUT   where callgrind writes
 *	DUENNA_BENCH_PATH  a folder with a link to the program called by the
 *			   worker's title
 */
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <unistd.h>

#include <seccomp.h>

#define VALGRIND "/usr/bin/valgrind"
#define TITLE "duenna: worker"
#define IN_WORKER "DUENNA_BENCH_WORKER" /* set for the worker alone */

/* The function that this one stands before. */
#define NEXT(function) (__extension__(__typeof__(function) *) next(#function))

static void *
next(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name);

	if (p == NULL)
		abort();
	return p;
}

static bool
is_worker(void)
{
	return getenv(IN_WORKER) != NULL;
}

int
execve(const char *path, char *const argv[], char *const envp[])
{
	static char out[512], where[512], self[512];
	const char *to = getenv("DUENNA_BENCH_OUT");

	if (to == NULL || argv[0] == NULL || strcmp(argv[0], TITLE) != 0)
		return NEXT(execve)(path, argv, envp);
	snprintf(out, sizeof(out), "--callgrind-out-file=%s", to);
	snprintf(where, sizeof(where), "PATH=%s", getenv("DUENNA_BENCH_PATH"));
	snprintf(self, sizeof(self), "LD_PRELOAD=%s", getenv("LD_PRELOAD"));
	char *args[] = { (char[]){ VALGRIND }, (char[]){ "--tool=callgrind" },
		(char[]){ "--quiet" }, (char[]){ "--vgdb=no" }, out,
		(char[]){ TITLE }, NULL };
	char *env[] = { where, self, (char[]){ IN_WORKER "=1" }, NULL };
	return NEXT(execve)(VALGRIND, args, env);
}

int
kill(pid_t pid, int sig)
{
	/* The sandbox's own processes are in another namespace. */
	if (!is_worker() && sig == SIGKILL && getpid() != 1)
		return 0;
	return NEXT(kill)(pid, sig);
}

/* valgrind 3.19 does not know the call that libseccomp begins with. */
scmp_filter_ctx
seccomp_init(uint32_t action)
{
	static char none;

	return is_worker() ? &none : NEXT(seccomp_init)(action);
}

int
seccomp_rule_add_array(scmp_filter_ctx ctx, uint32_t action, int call,
    unsigned n, const struct scmp_arg_cmp *args)
{
	if (is_worker())
		return 0;
	return NEXT(seccomp_rule_add_array)(ctx, action, call, n, args);
}

void
seccomp_release(scmp_filter_ctx ctx)
{
	if (!is_worker())
		NEXT(seccomp_release)(ctx);
}

int
seccomp_load(const scmp_filter_ctx ctx)
{
	return is_worker() ? 0 : NEXT(seccomp_load)(ctx);
}

int
unshare(int flags)
{
	return is_worker() ? 0 : NEXT(unshare)(flags);
}

int
setgroups(size_t n, const gid_t *list)
{
	return is_worker() ? 0 : NEXT(setgroups)(n, list);
}

int
setresgid(gid_t r, gid_t e, gid_t s)
{
	return is_worker() ? 0 : NEXT(setresgid)(r, e, s);
}

int
setresuid(uid_t r, uid_t e, uid_t s)
{
	return is_worker() ? 0 : NEXT(setresuid)(r, e, s);
}

int
prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (size_t i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	/* What it writes comes after the monitor's end. */
	if (is_worker() && option == PR_SET_PDEATHSIG)
		return 0;
	return NEXT(prctl)(option, a[0], a[1], a[2], a[3]);
}

long
syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (size_t i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (is_worker() && number == SYS_close_range)
		return 0;
	if (is_worker() && number == SYS_landlock_create_ruleset) {
		errno = ENOSYS;
		return -1;
	}
	return NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
