/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small files that the sandbox may have made: no link is followed, no
 * pipe or device is opened. */
#ifndef NS_READFILE_H
#define NS_READFILE_H

#include "base/attr.h"
#include "base/buf.h"

/* Append a regular file below `folder` to `out`.  -1: there is none, it could
 * not be read, or it is over the ceiling of `out`. */
MUST_USE int readfile(int folder, const char *path, struct buf *out);

/* Put `data` in its place, as a new file with the mode of the old one. */
MUST_USE int readfile_replace(int folder, const char *path, struct slice data);

#endif
