/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world's errors: what can go wrong outside of us, one enum for the whole
 * program.  Wrong input has reasons instead (base/reason.h).
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err {
	ERR_NONE,
	ERR_MEMORY,  /* an allocation failed, or a ceiling was met */
	ERR_AGAIN,   /* would block: wait for the descriptor */
	ERR_CLOSED,  /* the other end is gone */
	ERR_MESSAGE, /* a message between roles was malformed or not allowed */
	ERR_SYSTEM,  /* a system call failed; errno was logged where it did */
	ERR_DENIED,  /* EPERM or EACCES */
	ERR_EXISTS,  /* it is there already */
	ERR_MISSING, /* it is not there */
	ERR_FULL,    /* no space left, or a limit of the system */
	ERR_INTEGRITY, /* a digest, seal or signature does not fit */
	ERR_CRYPTO,    /* OpenSSL refused */
	ERR_COUNT
};

/* A short English phrase for `e`; never NULL. */
const char *err_text(enum err e);

/* The enum for an errno value; ERR_SYSTEM for those without one of their own. */
enum err err_from_errno(int number);

#endif
