/* SPDX-License-Identifier: Apache-2.0 */
/* The CA that the owner gives: monitor_ca.c, and what it has of others. */
#ifndef PROXYD_MONITOR_CA_H
#define PROXYD_MONITOR_CA_H

#include "proxyd/monitor_state.h"

/* Hand it over if there is one; the answer is waited for by monitor_step(). */
MUST_USE int ca_send(struct monitor *m);

/* What the sandbox is to trust, DER: 1 or 2. */
size_t ca_published(const struct monitor *m, struct slice cas[OWNER_CA_KINDS]);

/*
 * monitor_secret.c: a file that nobody else may read or write, into `bytes`;
 * false, and `why`, if that cannot be done.
 */
MUST_USE bool secret_read_own(const char *path, uint8_t *bytes, size_t max,
    size_t *n, const char **why);

#endif
