/* SPDX-License-Identifier: Apache-2.0 */
/* What the loading of configurations has in common: monitor_load.c. */
#ifndef PROXYD_MONITOR_LOAD_H
#define PROXYD_MONITOR_LOAD_H

#include "base/attr.h"
#include "base/slice.h"

#define LOAD_SYSTEM_ROOTS "/etc/ssl/certs/ca-certificates.crt"

/*
 * A file of certificates that the owner's configuration names, wherever it is.
 * A descriptor, or -1 and `why`.
 */
MUST_USE int load_open_bundle(struct slice path, const char **why);

#endif
