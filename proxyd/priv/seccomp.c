/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>

#include <seccomp.h>

#include "base/buf.h"
#include "base/log.h"
#include "priv/seccomp.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

#define EVERY                                                           \
	(1U << ROLE_STEWARD | 1U << ROLE_CLERK | 1U << ROLE_WORKER |    \
	    1U << ROLE_DIALER | 1U << ROLE_KEEPER | 1U << ROLE_SCRIBE | \
	    1U << ROLE_PORTER)
#define STEWARD (1U << ROLE_STEWARD)
#define CLERK (1U << ROLE_CLERK)
#define WORKER (1U << ROLE_WORKER)
#define DIALER (1U << ROLE_DIALER)
#define KEEPER (1U << ROLE_KEEPER)
#define SCRIBE (1U << ROLE_SCRIBE)
#define PORTER (1U << ROLE_PORTER)

/* What an argument must be: (value & mask) == want.  mask 0: anything. */
struct argument {
	unsigned index;
	uint64_t mask, want;
};

/* clang-format off */
static const struct row {
	int call;
	unsigned roles;
	struct argument a, b;
} rows[] = {
	/* channels, sockets and files that were handed in */
	{ SCMP_SYS(read), EVERY },
	{ SCMP_SYS(write), EVERY },
	{ SCMP_SYS(readv), EVERY },
	{ SCMP_SYS(writev), EVERY },
	{ SCMP_SYS(recvmsg), EVERY },
	{ SCMP_SYS(sendmsg), EVERY },		/* an address needs a socket of
						   a kind that nobody can make */
	{ SCMP_SYS(close), EVERY },
	{ SCMP_SYS(fcntl), EVERY },
	{ SCMP_SYS(fstat), EVERY },
	{ SCMP_SYS(newfstatat), EVERY },	/* fstat() of glibc; Landlock
						   leaves no path to see */
	{ SCMP_SYS(lseek), EVERY },
	/* the worker's: files of a pack that waits (flow/hold.h) */
	{ SCMP_SYS(pread64), STEWARD | CLERK | WORKER | KEEPER | SCRIBE | PORTER },
	{ SCMP_SYS(pwrite64), WORKER | KEEPER | SCRIBE },
	{ SCMP_SYS(ftruncate), STEWARD | CLERK | WORKER | KEEPER | SCRIBE },
	{ SCMP_SYS(fdatasync), KEEPER | SCRIBE },
	{ SCMP_SYS(fsync), KEEPER | SCRIBE },
	{ SCMP_SYS(fallocate), SCRIBE },
	{ SCMP_SYS(memfd_create), STEWARD | CLERK | KEEPER | PORTER },

	/* where a file lies that the steward was handed open */
	{ SCMP_SYS(readlink), STEWARD },
	{ SCMP_SYS(readlinkat), STEWARD },
	{ SCMP_SYS(sysinfo), STEWARD | CLERK },		/* glibc's qsort() asks how
						   much memory there is */

	/* the loop */
	{ SCMP_SYS(epoll_wait), EVERY },
	{ SCMP_SYS(epoll_pwait), EVERY },
	{ SCMP_SYS(epoll_pwait2), EVERY },
	{ SCMP_SYS(epoll_ctl), EVERY },
	{ SCMP_SYS(poll), EVERY },
	{ SCMP_SYS(ppoll), EVERY },
	{ SCMP_SYS(clock_gettime), EVERY },
	{ SCMP_SYS(gettimeofday), EVERY },
	{ SCMP_SYS(time), EVERY },
	{ SCMP_SYS(clock_nanosleep), EVERY },
	{ SCMP_SYS(restart_syscall), EVERY },

	/* memory; never executable */
	{ SCMP_SYS(brk), EVERY },
	{ SCMP_SYS(mmap), EVERY, { 2, PROT_EXEC, 0 } },
	{ SCMP_SYS(mprotect), EVERY, { 2, PROT_EXEC, 0 } },
	{ SCMP_SYS(munmap), EVERY },
	{ SCMP_SYS(mremap), EVERY },
	{ SCMP_SYS(madvise), EVERY },
	{ SCMP_SYS(mlock), EVERY },
	{ SCMP_SYS(munlock), EVERY },

	/* the process itself */
	{ SCMP_SYS(futex), EVERY },
	{ SCMP_SYS(getrandom), EVERY },
	{ SCMP_SYS(getpid), EVERY },
	{ SCMP_SYS(gettid), EVERY },
	{ SCMP_SYS(getuid), EVERY },
	{ SCMP_SYS(geteuid), EVERY },
	{ SCMP_SYS(getgid), EVERY },
	{ SCMP_SYS(getegid), EVERY },
	{ SCMP_SYS(rt_sigaction), EVERY },
	{ SCMP_SYS(rt_sigprocmask), EVERY },
	{ SCMP_SYS(rt_sigreturn), EVERY },
	{ SCMP_SYS(sigaltstack), EVERY },
	{ SCMP_SYS(tgkill), EVERY },		/* abort() */
	{ SCMP_SYS(sched_yield), EVERY },
	{ SCMP_SYS(exit), EVERY },
	{ SCMP_SYS(exit_group), EVERY },

	/* sockets that exist */
	{ SCMP_SYS(getsockopt), WORKER | DIALER | KEEPER },
	{ SCMP_SYS(setsockopt), WORKER | DIALER },
	{ SCMP_SYS(getsockname), WORKER | DIALER },
	{ SCMP_SYS(getpeername), WORKER | DIALER },
	{ SCMP_SYS(shutdown), WORKER | DIALER | PORTER },
	{ SCMP_SYS(accept4), WORKER },
	{ SCMP_SYS(accept), WORKER },
	{ SCMP_SYS(recvfrom), WORKER | DIALER },
	{ SCMP_SYS(splice), WORKER },
	{ SCMP_SYS(pipe2), WORKER },		/* what splice() goes through */

	/* the dialer alone makes sockets, of the inet families and route */
	{ SCMP_SYS(socket), DIALER, { 0, ~0ULL, AF_INET } },
	{ SCMP_SYS(socket), DIALER, { 0, ~0ULL, AF_INET6 } },
	{ SCMP_SYS(socket), DIALER, { 0, ~0ULL, AF_NETLINK }, { 2, ~0ULL, NETLINK_ROUTE } },
	{ SCMP_SYS(connect), DIALER },
	{ SCMP_SYS(bind), DIALER },		/* getifaddrs' netlink socket */
	{ SCMP_SYS(sendto), DIALER },
	{ SCMP_SYS(ioctl), DIALER },		/* FIONREAD, FIONBIO of c-ares */
	/* the answerer's UDP replies and send(2): the sockets were handed in */
	{ SCMP_SYS(sendto), WORKER },
};
/* clang-format on */

/* What the sanitizers' run-time wants on top; never in a product build. */
static const int sanitizer_calls[] = { SCMP_SYS(sched_getaffinity),
	SCMP_SYS(getrlimit), SCMP_SYS(prlimit64), SCMP_SYS(readlink),
	SCMP_SYS(openat), SCMP_SYS(open), SCMP_SYS(stat), SCMP_SYS(getppid),
	SCMP_SYS(prctl), SCMP_SYS(sysinfo), SCMP_SYS(mmap), SCMP_SYS(pipe2),
	SCMP_SYS(pipe), SCMP_SYS(process_vm_readv) };

static int
add_row(scmp_filter_ctx ctx, const struct row *row)
{
	struct scmp_arg_cmp want[2];
	unsigned n = 0;

	if (row->a.mask != 0)
		want[n++] = SCMP_CMP(row->a.index, SCMP_CMP_MASKED_EQ,
		    row->a.mask, row->a.want);
	if (row->b.mask != 0)
		want[n++] = SCMP_CMP(row->b.index, SCMP_CMP_MASKED_EQ,
		    row->b.mask, row->b.want);
	return seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, row->call, n, want);
}

int
seccomp_apply(enum role role)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = ctx == NULL ? -ENOMEM : 0;

	for (size_t i = 0; r == 0 && i < COUNT_OF(rows); i++)
		if ((rows[i].roles & 1U << role) != 0)
			r = add_row(ctx, &rows[i]);
	for (size_t i = 0; SANITIZED && r == 0 && i < COUNT_OF(sanitizer_calls);
	     i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, sanitizer_calls[i],
		    0);
	if (r == 0)
		r = seccomp_load(ctx);
	if (r != 0)
		log_error("cannot load the system-call list: %s", strerror(-r));
	if (ctx != NULL)
		seccomp_release(ctx);
	return r == 0 ? 0 : -1;
}

void
seccomp_print(enum role role, struct buf *out)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if ((rows[i].roles & 1U << role) == 0)
			continue;
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE,
		    rows[i].call);
		buf_putf(out, "%s\n", name == NULL ? "?" : name);
		free(name);
	}
}
