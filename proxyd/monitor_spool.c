/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for what waits in a worker (flow/hold.h), which can open none.  A worker
 * gets LIMIT_HOLDS of them for a sandbox in all its life and uses them again, so
 * that one which was taken over fills no disk: each is limited by RLIMIT_FSIZE
 * (priv/drop.c), and all of them are gone with it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/rd.h"
#include "base/wr.h"
#include "ns/nameless.h"
#include "proxyd/monitor_state.h"

/* The file, or -1 and why not. */
static int
make(struct monitor *m, const unsigned *n, const char **why)
{
	int fd;

	*why = "it is not asked for as it should be";
	if (n == NULL)
		return -1;
	*why = "the sandbox has all that it may have";
	if (*n == LIMIT_HOLDS)
		return -1;
	fd = nameless_file(buf_text(&m->state_dir));
	*why = fd < 0 ? strerror(errno) : "";
	return fd;
}

void
spool_send(struct role_process *worker, const struct msg *asked)
{
	struct monitor *m = worker->monitor;
	struct rd r = rd_of(asked->body);
	uint32_t sandbox = rd_u32(&r);
	unsigned *n =
	    rd_is_done(&r) ? m->ops->spools(m, worker, sandbox) : NULL;
	uint8_t body[256];
	struct wr w = wr_of(body, sizeof(body));
	enum err err = ERR_NONE;
	const char *why;
	int fd = make(m, n, &why);

	if (fd < 0)
		log_warn("no file for a pack that waits in the worker: %s",
		    why);
	wr_slice8(&w, slice_of_str(why));
	const struct msg answer = { .op = OP_SPOOLED,
		.id = asked->id,
		.body = wr_slice(&w),
		.fds = { fd },
		.n_fds = fd < 0 ? 0 : 1 };
	/* If it cannot be said the worker is gone, or as good as that. */
	if (channel_send(worker->channel, &answer, &err) == 0 && fd >= 0)
		++*n;
	if (fd >= 0)
		close(fd);
}
