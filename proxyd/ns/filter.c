/* SPDX-License-Identifier: Apache-2.0 */
#include <asm/ioctls.h>
#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <seccomp.h>

#include "ns/filter.h"

#define LOW 0xffffffffu /* the kernel looks at these bits of an int alone */

/*
 * Families that exist: UNIX, INET, INET6, and NETLINK for rtnetlink.  VSOCK
 * reaches the host of a virtual machine whatever the network namespace.
 * Compared are all 64 bits: an odd upper half is no family of ours.
 */
static int
deny_families(scmp_filter_ctx ctx)
{
	static const int calls[] = { SCMP_SYS(socket), SCMP_SYS(socketpair) };
	static const int gaps[] = { 0, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14,
		15 };
	int rc = 0;

	_Static_assert(AF_UNIX == 1 && AF_INET == 2 && AF_INET6 == 10 &&
		AF_NETLINK == 16,
	    "what is between the gaps");
	for (size_t c = 0; rc == 0 && c < COUNT_OF(calls); c++) {
		for (size_t i = 0; rc == 0 && i < COUNT_OF(gaps); i++)
			rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT),
			    calls[c], 1,
			    SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)gaps[i]));
		if (rc == 0)
			rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT),
			    calls[c], 1, SCMP_A0(SCMP_CMP_GT, AF_NETLINK));
	}
	if (rc == 0)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPROTONOSUPPORT),
		    SCMP_SYS(socket), 2, SCMP_A0(SCMP_CMP_EQ, AF_NETLINK),
		    SCMP_A2(SCMP_CMP_NE, NETLINK_ROUTE));
	return rc;
}

/* Typing into the caller's terminal, which is the command's too. */
static int
deny_typing(scmp_filter_ctx ctx)
{
	static const unsigned requests[] = { TIOCSTI, TIOCLINUX };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < COUNT_OF(requests); i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
		    SCMP_SYS(ioctl), 1,
		    SCMP_A1(SCMP_CMP_MASKED_EQ, LOW, requests[i]));
	return rc;
}

/*
 * Keys of the user and the kernel's log are in no namespace; io_uring would go
 * round this list.  A counter of all processes (pid -1) is the machine's.
 */
static int
deny_calls(scmp_filter_ctx ctx)
{
	static const int calls[] = { SCMP_SYS(keyctl), SCMP_SYS(add_key),
		SCMP_SYS(request_key), SCMP_SYS(syslog),
		SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
		SCMP_SYS(io_uring_register) };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < COUNT_OF(calls); i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
	if (rc == 0)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
		    SCMP_SYS(perf_event_open), 1,
		    SCMP_A1(SCMP_CMP_MASKED_EQ, LOW, LOW));
	return rc;
}

/*
 * Limits of another process by its number: the first one has the same user,
 * and without memory or files it could not settle what will run outside.  The
 * own limit of cores stays 1, the sign that none is piped to a program of the
 * host's: 0 is not that sign.  Who switches its cores off is told that it did.
 */
static int
deny_limits(scmp_filter_ctx ctx)
{
	int rc =
	    seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 2,
		SCMP_A0(SCMP_CMP_NE, 0), SCMP_A2(SCMP_CMP_NE, 0));

	if (rc == 0)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(0),
		    SCMP_SYS(prlimit64), 2,
		    SCMP_A1(SCMP_CMP_MASKED_EQ, LOW, RLIMIT_CORE),
		    SCMP_A2(SCMP_CMP_NE, 0));
	if (rc == 0)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(0),
		    SCMP_SYS(setrlimit), 1,
		    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW, RLIMIT_CORE));
	return rc;
}

/*
 * In a cgroup namespace of its own it could mount the cgroups that this run,
 * and all who share them outside, are in: where their files are the caller's
 * (root's always), freeze and kill them.  clone3 has its flags in memory, which
 * is not looked at here; libraries go back to clone without it.
 */
static int
deny_cgroups(scmp_filter_ctx ctx)
{
	static const int calls[] = { SCMP_SYS(unshare), SCMP_SYS(clone) };
	int rc =
	    seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	for (size_t i = 0; rc == 0 && i < COUNT_OF(calls); i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), calls[i], 1,
		    SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWCGROUP,
			CLONE_NEWCGROUP));
	return rc;
}

int
filter_load(struct fail *fail)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int rc = -ENOMEM;

	if (ctx == NULL)
		goto end;
	/* Numbers of another ABI (i386, x32) would mean other calls. */
	rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
	    SCMP_ACT_ERRNO(EPERM));
	if (rc == 0)
		rc = deny_families(ctx);
	if (rc == 0)
		rc = deny_typing(ctx);
	if (rc == 0)
		rc = deny_calls(ctx);
	if (rc == 0)
		rc = deny_limits(ctx);
	if (rc == 0)
		rc = deny_cgroups(ctx);
	if (rc == 0)
		rc = seccomp_load(ctx);

end:
	seccomp_release(ctx);
	if (rc == 0)
		return 0;
	errno = -rc;
	return fail_errno(fail, "cannot load the list of system calls");
}
