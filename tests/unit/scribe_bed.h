/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of scribe have in common. */
#ifndef SCRIBE_BED_H
#define SCRIBE_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "audit/event.h"
#include "base/rd.h"
#include "base/wr.h"
#include "crypto/digest.h"
#include "crypto/sign.h"
#include "priv/msg.h"
#include "priv/ops.h"
#include "priv/role.h"
#include "priv/spawn.h"
#include "proxyd/roles.h"

/* The real role in a process of its own; the test is all the others. */
struct bed {
	pid_t pid;
	int monitor, keeper, worker, dialer, log; /* -1: none */
	uint32_t n_workers; /* channels to workers so far: their numbers */
	char path[64];
	rlim_t file_limit; /* bytes that its log may have; 0: any */
	uint8_t packet[MSG_SIZE_MAX];
	struct msg m; /* received last */
};

void start(struct bed *b);
void send_to(struct bed *b, int fd, uint16_t op, uint32_t id, struct slice body,
    int with);
/* The next message with this operation; others are passed over. */
bool receive(struct bed *b, int fd, uint16_t op);
int link_role(struct bed *b, enum role role);
void certify(struct bed *b);
void send_log(struct bed *b, uint8_t again);
void begin(struct bed *b, uint8_t again);
int set_up(void **state);
void hang_up(int *fd);
/* The exit status, once the monitor's channel is closed. */
int finish(struct bed *b);
int tear_down(void **state);
void send_event(struct bed *b, int fd, const struct event *e, uint32_t id);
void send_flow(struct bed *b, enum event_kind kind, const char *flow,
    uint32_t id);
bool is_written(struct bed *b, int fd, uint32_t id);
bool status(struct bed *b, int fd);
size_t count_lines(struct bed *b, const char *part);
void stop(struct bed *b);

#endif
