/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why something about namespaces could not be had, as a text for the person
 * who called us, with the remedy; it travels from the processes that work
 * inside the namespaces to the monitor.
 */
#ifndef NS_FAIL_H
#define NS_FAIL_H

#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"

#define FAIL_TEXT_SIZE 1024 /* bytes with the NUL; a line or a few */

struct fail {
	enum err err;		   /* ERR_NONE: nothing failed */
	char text[FAIL_TEXT_SIZE]; /* whole sentences without "duenna:" */
};

/* What a kernel, profile or container may refuse: each has its remedy. */
enum fail_what {
	FAIL_USER,  /* a user namespace */
	FAIL_ROOT,  /* to be root there, for one without capabilities */
	FAIL_NET,   /* a network namespace, or its loopback */
	FAIL_MOUNT, /* a mount, or a mount namespace */
	FAIL_OVERLAY,
	FAIL_PROC, /* a new /proc */
	FAIL_NFT,
	FAIL_KERNEL, /* sealed memory, lists of system calls */
};

/* Set `fail`; the return value is always -1, for `return fail_set(...)`. */
int fail_set(struct fail *fail, enum err err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* As fail_set for the system call that just set errno; its text is added. */
int fail_errno(struct fail *fail, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * As fail_errno, and say how this system can be made to allow it: looks at the
 * sysctls of Debian and Ubuntu, the limits, and whether this is a container.
 */
int fail_refused(struct fail *fail, enum fail_what what, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/*
 * Look at them now, and for the rest of this process go by that: for one that
 * soon sees the host's files no more.
 */
void fail_keep_facts(void);

/*
 * The remedy alone, as fail_refused would add it; "" if there is none to tell.
 *
 * number  the errno of the refusal
 */
void fail_remedy(enum fail_what what, int number, char *text, size_t size);

#endif
