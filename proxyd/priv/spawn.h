/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start ourselves again in a role: own address space, empty environment, a
 * process group of its own (the terminal's signals are not for it), standard
 * input and output closed off, standard error kept for the log, and one end of
 * a channel as descriptor ROLE_MONITOR_FD.
 */
#ifndef PRIV_SPAWN_H
#define PRIV_SPAWN_H

#include <sys/types.h>

#include "priv/role.h"

struct spawned {
	pid_t pid;
	int pidfd;   /* owned; readable when the role has ended */
	int channel; /* owned; the monitor's end, close-on-exec */
};

/* 0, or -1 with ERR_SYSTEM, ERR_FULL, ERR_MEMORY; nothing is left behind. */
MUST_USE int spawn_role(enum role role, struct spawned *s, enum err *err);

/* A pair of connected SOCK_SEQPACKET sockets for two roles.  0 or -1. */
MUST_USE int spawn_pair(int pair[2], enum err *err);

#endif
