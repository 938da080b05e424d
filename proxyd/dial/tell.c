/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <errno.h>

#include "base/log.h"
#include "base/rd.h"
#include "base/wr.h"
#include "dial/tell.h"
#include "priv/ops.h"

#define TELL_SIZE_MAX 512 /* bytes of a body; a name has up to 253 */

int
tell_cookie(int fd, uint64_t *cookie, enum err *err)
{
	socklen_t n = sizeof(*cookie);

	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, cookie, &n) == 0 &&
	    n == sizeof(*cookie))
		return 0;
	log_error("no cookie of a socket: %s", strerror(errno));
	*err = ERR_SYSTEM;
	return -1;
}

uint32_t
tell_send(struct channel *keeper, const struct tell *t,
    channel_on_answer *on_told, void *arg, enum err *err)
{
	uint8_t body[TELL_SIZE_MAX];
	struct wr w = wr_of(body, sizeof(body));

	who_write(&w, &t->who);
	wr_u64(&w, t->cookie);
	wr_u16(&w, t->port);
	wr_slice8(&w, t->host);
	if (w.bad) {
		*err = ERR_MESSAGE;
		return 0;
	}
	struct msg m = { .op = OP_TELL, .body = wr_slice(&w) };
	return channel_ask(keeper, &m, on_told, arg, err);
}

enum reason
tell_answer(const struct msg *m)
{
	struct rd r = rd_of(m == NULL ? (struct slice){ 0 } : m->body);
	uint16_t reason = rd_u16(&r);

	if (m == NULL)
		return REASON_SHUTDOWN;
	return m->op == OP_TOLD && rd_is_done(&r) && reason < REASON_COUNT ?
	    (enum reason)reason :
	    REASON_INTERNAL;
}
