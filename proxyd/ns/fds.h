/* SPDX-License-Identifier: Apache-2.0 */
/* What a process that we fork must not keep of the monitor. */
#ifndef NS_FDS_H
#define NS_FDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

/*
 * Close all but 0 to 2 and those in `keep`, which may stand in any order.
 *
 * at_exec  mark them close-on-exec instead
 *
 * -1 with errno.
 */
MUST_USE int fds_keep(const int *keep, size_t n, bool at_exec);

/* Forget the monitor's signal handlers, which would act for the monitor. */
void fds_reset_signals(void);

#endif
