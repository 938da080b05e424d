/* SPDX-License-Identifier: Apache-2.0 */
/* A path followed as the kernel follows it, every link on the way seen. */
#ifndef NS_TRACE_H
#define NS_TRACE_H

#include <stdbool.h>

#include "base/attr.h"

#define TRACE_LINKS_MAX 40 /* as in the kernel */

/*
 * Hand each place that is looked at to `seen`, links before they are followed:
 * absolute paths of which the last part alone may be a link, or may not be
 * there.  realpath() tells where a path ends, not through whose hands it went.
 *
 * False: `seen` said so, there are too many links, or the path is too long.
 */
MUST_USE bool trace_path(const char *path,
    bool (*seen)(const char *place, void *arg), void *arg);

#endif
