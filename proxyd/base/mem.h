/* SPDX-License-Identifier: Apache-2.0 */
/* Allocate or die: for start-up code only.  Code of a flow ends the flow. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

#include "base/attr.h"

MUST_USE void *mem_alloc(size_t n); /* zeroed */
MUST_USE void *mem_array(size_t count, size_t n);
MUST_USE char *mem_strdup(const char *s);

#endif
