/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/limits.h"
#include "net/pipes.h"

void
pipes_init(struct pipes *p)
{
	*p = (struct pipes){ .n = 0 };
}

static void
pipes_close(struct pipes *p, struct pipe *pipe)
{
	close(pipe->in);
	close(pipe->out);
	*pipe = PIPE_NONE;
	p->n--;
}

void
pipes_release(struct pipes *p)
{
	while (p->n_kept != 0)
		pipes_close(p, &p->kept[--p->n_kept]);
	assert(p->n == 0);
}

bool
pipes_take(struct pipes *p, struct pipe *pipe)
{
	int fds[2];

	if (p->n_kept != 0) {
		*pipe = p->kept[--p->n_kept];
		return true;
	}
	if (p->n == LIMIT_PIPES || pipe2(fds, O_NONBLOCK | O_CLOEXEC) != 0)
		return false;
	*pipe = (struct pipe){ .in = fds[1], .out = fds[0] };
	p->n++;
	return true;
}

void
pipes_put(struct pipes *p, struct pipe *pipe)
{
	if (!pipe_is_open(pipe))
		return;
	if (pipe->n != 0 || p->n_kept == PIPES_KEPT) {
		pipes_close(p, pipe);
		return;
	}
	p->kept[p->n_kept++] = *pipe;
	*pipe = PIPE_NONE;
}
