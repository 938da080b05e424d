/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closed table of request methods that a rule can name: those of RFC 9110
 * and 5789 but TRACE and CONNECT, and WebDAV's (RFC 4918, 3253 3.6, 5323).
 * Methods are compared whole and in upper case.
 * Pure.
 */
#ifndef POLICY_METHOD_H
#define POLICY_METHOD_H

#include "base/slice.h"

/* clang-format off */
#define METHOD_LIST(X) \
	X(GET) X(HEAD) X(POST) X(PUT) X(PATCH) X(DELETE) X(OPTIONS)            \
	X(PROPFIND) X(PROPPATCH) X(MKCOL) X(COPY) X(MOVE) X(LOCK) X(UNLOCK)    \
	X(REPORT) X(SEARCH)
/* clang-format on */

enum method {
#define X(name) METHOD_##name,
	METHOD_LIST(X)
#undef X
	METHOD_COUNT
};

#define METHOD_BIT(method) (1U << (method))
#define METHODS_DEFAULT (METHOD_BIT(METHOD_GET) | METHOD_BIT(METHOD_HEAD))
#define METHODS_ANY ((1U << METHOD_COUNT) - 1)

/* The bit of the method of that name, or 0. */
uint32_t method_bit(struct slice name);

const char *method_name(enum method method);

#endif
