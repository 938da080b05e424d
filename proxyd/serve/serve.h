/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor of `duenna serve`: one gateway for many sandboxes, which come and
 * go by its control socket.  It parses nothing that a caller or a tenant wrote:
 * the porter reads calls, the clerk policies, the steward the configuration.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "base/attr.h"

#define SERVE_CONFIG "/etc/duenna"
#define SERVE_STATE "/var/lib/duenna"

struct serve_config {
	const char *dir;     /* the owner's *.yaml, and policies/ */
	const char *state;   /* log/, programs/, keys; 0700 */
	const char *control; /* path of the socket */
};

/* Serve until SIGTERM or SIGINT; returns the exit status. */
MUST_USE int serve_run(const struct serve_config *cfg);

#endif
