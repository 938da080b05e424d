/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Absolute paths as text, without looking at any file.
 * Pure.
 */
#ifndef NS_PATH_H
#define NS_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Is `path` `folder` itself, or below it? */
bool path_is_below(const char *path, const char *folder);

/* Absolute, no empty part, no . or .., no slash at the end (but "/"). */
bool path_is_clean(const char *path);

/* "a" and "b" as "a/b"; false if it does not fit. */
bool path_join(char *out, size_t size, const char *a, const char *b);

/* The folder that holds `path`; "/" for what stands in the root. */
bool path_folder(char *out, size_t size, const char *path);

/* Both, `folder` relative or empty; the caller frees it.  Dies without memory. */
char *path_joined(const char *folder, const char *name);

#endif
