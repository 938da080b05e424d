/* SPDX-License-Identifier: Apache-2.0 */
/* Files without a name: with the last descriptor they are gone, whatever ends
 * the processes that have it. */
#ifndef NS_NAMELESS_H
#define NS_NAMELESS_H

#include "base/attr.h"

/*
 * An empty one on the file system of `folder`, to be read and written, which can
 * get no name later.  A file system that knows none such gives one that has a
 * name for a moment.  -1 with errno.
 */
MUST_USE int nameless_file(const char *folder);

#endif
