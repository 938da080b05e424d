/* SPDX-License-Identifier: Apache-2.0 */
/* Compiler attributes by readable names.  No code. */
#ifndef BASE_ATTR_H
#define BASE_ATTR_H

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define UNUSED __attribute__((unused))
#define NORETURN __attribute__((noreturn))
#define NOINLINE __attribute__((noinline))
/* A large array of a function that a count beside it says how far it is filled:
 * not set to zero first, as all other variables are. */
#define COUNTED __attribute__((uninitialized))

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
