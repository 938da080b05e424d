/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that we do not call: unbounded, locale-dependent, or racy.  The
 * build forces this header into every file.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* clang's _FORTIFY_SOURCE makes macros of them. */
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets strtok
#pragma GCC poison atoi atol atoll sscanf asctime ctime gmtime localtime
#pragma GCC poison tmpnam tempnam mktemp

#endif
