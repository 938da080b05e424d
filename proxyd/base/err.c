/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/err.h"

const char *
err_text(enum err e)
{
	static const char *const text[ERR_COUNT] = {
		[ERR_NONE] = "no error",
		[ERR_MEMORY] = "out of memory",
		[ERR_AGAIN] = "not ready yet",
		[ERR_CLOSED] = "the other end is closed",
		[ERR_MESSAGE] = "malformed message",
		[ERR_SYSTEM] = "system call failed",
		[ERR_DENIED] = "not permitted",
		[ERR_EXISTS] = "exists already",
		[ERR_MISSING] = "does not exist",
		[ERR_FULL] = "no space left",
		[ERR_INTEGRITY] = "integrity check failed",
		[ERR_CRYPTO] = "cryptographic operation failed",
	};

	return e < ERR_COUNT ? text[e] : "unknown error";
}

enum err
err_from_errno(int number)
{
	switch (number) {
	case 0:
		return ERR_NONE;
	case EAGAIN:
		return ERR_AGAIN;
	case ENOMEM:
		return ERR_MEMORY;
	case EPIPE:
	case ECONNRESET:
	case ENOTCONN:
		return ERR_CLOSED;
	case EPERM:
	case EACCES:
		return ERR_DENIED;
	case EEXIST:
		return ERR_EXISTS;
	case ENOENT:
		return ERR_MISSING;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case EMFILE:
	case ENFILE:
		return ERR_FULL;
	default:
		return ERR_SYSTEM;
	}
}
