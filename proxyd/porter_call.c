/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of the control socket.  Every callback ends in conn_run(),
 * which takes steps while there is news; the table of phases is in the header.
 *
 * What a caller sends may be a secret: its bytes stand in `head` (what came
 * with the head), in `body`, which never moves, in jansson's memory and in
 * `form`; all of them are wiped when the request is at the monitor.
 */
#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/limits.h"
#include "base/log.h"
#include "control/content.h"
#include "control/reply.h"
#include "priv/control_carry.h"
#include "priv/ops.h"
#include "proxyd/porter_state.h"

#define DRAIN_MS 2000	/* what a caller still sends is read and dropped */
#define COPY_SIZE 65536 /* of an answer, before the caller has to read */
#define OUT_MAX (REPLY_MAX + COPY_SIZE + 64)

enum step {
	STEP_WAIT,
	STEP_AGAIN,
};

static enum step
enter(struct conn *c, enum conn_phase phase, uint32_t limit_ms)
{
	c->phase = phase;
	if (limit_ms == 0)
		timer_stop(&c->limit);
	else
		timer_set(&c->limit, limit_ms);
	return STEP_AGAIN;
}

static void
free_conn(struct loop_item *item)
{
	struct conn *c = (struct conn *)item;

	if (c->readable != NULL)
		event_free(c->readable);
	if (c->writable != NULL)
		event_free(c->writable);
	timer_release(&c->limit);
	close(c->fd);
	buf_wipe(&c->head);
	buf_wipe(&c->body);
	buf_wipe(&c->out);
	free(c);
}

static void
drop_content(struct conn *c)
{
	if (c->content >= 0)
		close(c->content);
	c->content = -1;
}

void
conn_close(struct conn *c)
{
	if (c->phase == CONN_CLOSED)
		return;
	c->phase = CONN_CLOSED;
	channel_cancel(c->porter->monitor, c->ask);
	c->ask = 0;
	drop_content(c);
	timer_stop(&c->limit);
	if (c->readable != NULL)
		event_del(c->readable);
	if (c->writable != NULL)
		event_del(c->writable);
	LIST_REMOVE(c, entry);
	c->porter->n_conns--;
	c->dead.free = free_conn;
	loop_reap(c->porter->loop, &c->dead);
}

static enum step
answer_problem(struct conn *c, const struct problem *why)
{
	struct control_answer a = { why->code, slice_of_str(why->detail) };

	reply_put_problem(&c->out, &a, why->where, c->call.allow, c->close);
	return enter(c, CONN_ANSWER, LIMIT_CONTROL_IDLE_MS);
}

static enum step
answer_code(struct conn *c, enum control_code code)
{
	struct problem why = { .code = code };

	return answer_problem(c, &why);
}

/* More bytes into `b`, at most `n`.  False: none now, or none ever. */
static bool
read_more(struct conn *c, struct buf *b, size_t n)
{
	uint8_t *room = buf_room(b, n);

	if (room == NULL) {
		conn_close(c);
		return false;
	}
	ssize_t got = read(c->fd, room, n);
	if (got > 0) {
		buf_added(b, (size_t)got);
		return true;
	}
	if (got == 0 || (errno != EAGAIN && errno != EINTR))
		conn_close(c);
	return false;
}

/* The body's whole room, and what of it came with the head. */
static bool
begin_body(struct conn *c, size_t used)
{
	size_t behind = c->head.n - used;
	size_t n = behind < c->call.length ? behind : c->call.length;

	buf_init(&c->body, c->call.length + 1);
	if (buf_room(&c->body, c->call.length) == NULL)
		return false;
	buf_put(&c->body, slice_of(c->head.p + used, n));
	buf_drop(&c->head, used + n);
	explicit_bzero(c->head.p + c->head.n, c->head.cap - c->head.n);
	return true;
}

static enum step
step_head(struct conn *c)
{
	size_t used = 0;
	enum parse part = call_take(buf_slice(&c->head), &c->call, &used);

	if (part == PARSE_MORE) {
		bool first = c->head.n == 0;
		if (!read_more(c, &c->head, c->head.max - c->head.n))
			return STEP_WAIT;
		if (first)
			timer_set(&c->limit, LIMIT_CONTROL_MS);
		return STEP_AGAIN;
	}
	c->close = part == PARSE_BAD || !c->call.keep_alive;
	if (part == PARSE_BAD)
		return answer_problem(c, &c->call.problem);
	if (!begin_body(c, used)) {
		c->close = true;
		return answer_code(c, CONTROL_BUSY);
	}
	if (c->call.expects && c->body.n < c->call.length)
		buf_put_str(&c->out, REPLY_CONTINUE);
	c->phase = CONN_BODY; /* in the time of the head */
	return STEP_AGAIN;
}

static void on_answer(struct msg *m, void *arg);

/* The request in our own form, on its way. */
static enum step
ask_monitor(struct conn *c, const struct control_request *req)
{
	static uint8_t form[LIMIT_CONTROL_SIZE + 65536];
	struct wr w = wr_of(form, sizeof(form));
	struct msg m = { .op = OP_REQUEST };
	enum err err = ERR_NONE;

	control_request_write(&w, req);
	if (!w.bad && control_carry_put(&m, wr_slice(&w), &err) == 0)
		c->ask =
		    channel_ask(c->porter->monitor, &m, on_answer, c, &err);
	explicit_bzero(form, w.n);
	msg_close_fds(&m);
	if (w.bad)
		return answer_code(c, CONTROL_REQUEST_LARGE);
	if (c->ask == 0)
		return answer_code(c, CONTROL_BUSY);
	return enter(c, CONN_WAIT, 0);
}

/* Attaches are large, and there is one at a time. */
static enum step
handle(struct conn *c)
{
	static struct control_request req;
	struct content content = { NULL };
	struct problem why = { 0 };
	bool good = true;

	memset(&req, 0, sizeof(req));
	if (c->call.route->has_body)
		good = content_read(&content, buf_slice(&c->body),
		    c->call.route->verb, slice_of_str(c->call.name), &req,
		    &why);
	req.verb = c->call.route->verb;
	req.name = slice_of_str(c->call.name);
	req.uid = c->uid;
	req.rights = c->rights;
	enum step step = good ? ask_monitor(c, &req) : answer_problem(c, &why);
	content_release(&content);
	buf_wipe(&c->body);
	return step;
}

/* What is in `out`; false: the caller has to read first, or is gone. */
static bool
flush(struct conn *c)
{
	while (c->out.n != 0) {
		ssize_t n = write(c->fd, c->out.p, c->out.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			conn_close(c);
		if (n <= 0)
			return false;
		buf_drop(&c->out, (size_t)n);
		if (c->phase == CONN_ANSWER)
			timer_set(&c->limit, LIMIT_CONTROL_IDLE_MS);
	}
	return true;
}

static enum step
step_body(struct conn *c)
{
	if (!flush(c)) /* 100 Continue */
		return STEP_WAIT;
	if (c->body.n == c->call.length)
		return handle(c);
	if (!read_more(c, &c->body, c->call.length - c->body.n))
		return STEP_WAIT;
	return STEP_AGAIN;
}

/* The next piece of the content.  False: it is shorter than it was. */
static bool
copy_content(struct conn *c)
{
	size_t left = c->content_end - c->content_at;
	size_t n = left < COPY_SIZE ? left : COPY_SIZE;
	uint8_t *room = buf_room(&c->out, n);
	ssize_t got = room == NULL ?
	    -1 :
	    pread(c->content, room, n, (off_t)c->content_at);

	if (got <= 0)
		return false;
	buf_added(&c->out, (size_t)got);
	c->content_at += (size_t)got;
	return true;
}

static enum step
step_answer(struct conn *c)
{
	if (c->out.failed) {
		conn_close(c);
		return STEP_WAIT;
	}
	if (!flush(c))
		return STEP_WAIT;
	if (c->content >= 0 && c->content_at < c->content_end) {
		if (copy_content(c))
			return STEP_AGAIN;
		conn_close(c);
		return STEP_WAIT;
	}
	drop_content(c);
	if (c->close) {
		shutdown(c->fd, SHUT_WR);
		return enter(c, CONN_DRAIN, DRAIN_MS);
	}
	c->call = (struct call){ 0 };
	buf_clear(&c->out);
	return enter(c, CONN_HEAD,
	    c->head.n == 0 ? LIMIT_CONTROL_IDLE_MS : LIMIT_CONTROL_MS);
}

/*
 * Closed with bytes unread, the caller's next write would be an error to it
 * before it has read why.
 */
static enum step
step_drain(struct conn *c)
{
	buf_clear(&c->head);
	return read_more(c, &c->head, c->head.max) ? STEP_AGAIN : STEP_WAIT;
}

static enum step
step_wait(struct conn *c UNUSED)
{
	return STEP_WAIT;
}

/* What to wait for is computed here, and nowhere else. */
static void
watch(struct conn *c)
{
	bool reads = c->phase == CONN_HEAD || c->phase == CONN_DRAIN ||
	    (c->phase == CONN_BODY && c->out.n == 0);
	bool writes = c->out.n != 0;

	if (c->phase == CONN_CLOSED)
		return;
	if (!(reads ? event_add(c->readable, NULL) == 0 :
		      event_del(c->readable) == 0) ||
	    !(writes ? event_add(c->writable, NULL) == 0 :
		       event_del(c->writable) == 0))
		conn_close(c);
}

static void
conn_run(struct conn *c)
{
	static enum step (*const steps[CONN_CLOSED])(struct conn *) = {
		[CONN_HEAD] = step_head,
		[CONN_BODY] = step_body,
		[CONN_WAIT] = step_wait,
		[CONN_ANSWER] = step_answer,
		[CONN_DRAIN] = step_drain,
	};

	c->again = true;
	if (c->running)
		return;
	c->running = true;
	while (c->again && c->phase != CONN_CLOSED) {
		c->again = false;
		if (steps[c->phase](c) == STEP_AGAIN)
			c->again = true;
	}
	c->running = false;
	watch(c);
}

static void
on_event(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	conn_run(arg);
}

static void
on_limit(void *arg)
{
	conn_close(arg);
}

/* The content of an answer; false: none that can be sent. */
static bool
take_content(struct conn *c, struct msg *m)
{
	struct stat st;
	int fd = msg_take_fd(m, 0);

	if (fd < 0)
		return true;
	c->content = fd;
	if (fstat(fd, &st) != 0 || st.st_size < 0 ||
	    st.st_size > LIMIT_CONTROL_ANSWER_SIZE)
		return false;
	c->content_at = 0;
	c->content_end = (size_t)st.st_size;
	return true;
}

static void
put_answer(struct conn *c, struct msg *m)
{
	struct control_answer a;

	if (m == NULL || !control_answer_read(m->body, &a) ||
	    !take_content(c, m)) {
		drop_content(c);
		answer_code(c, CONTROL_FAULT);
		return;
	}
	if (control_code_status(a.code) >= 400) {
		drop_content(c);
		reply_put_problem(&c->out, &a, "", "", c->close);
	} else if (c->content >= 0) {
		reply_put_head(&c->out, c->call.route, a.code, c->content_end,
		    c->close);
	} else {
		reply_put_done(&c->out, &a, c->close);
	}
	enter(c, CONN_ANSWER, LIMIT_CONTROL_IDLE_MS);
}

static void
on_answer(struct msg *m, void *arg)
{
	struct conn *c = arg;

	c->ask = 0;
	put_answer(c, m);
	conn_run(c);
}

static bool
set_up(struct conn *c)
{
	struct loop *l = c->porter->loop;
	int flags = fcntl(c->fd, F_GETFL);

	buf_init(&c->head, LIMIT_CONTROL_HEAD_SIZE + 1);
	buf_init(&c->out, OUT_MAX);
	c->readable = loop_event(l, c->fd, EV_READ, on_event, c);
	c->writable = loop_event(l, c->fd, EV_WRITE, on_event, c);
	return c->readable != NULL && c->writable != NULL && flags >= 0 &&
	    fcntl(c->fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
	    /* Its whole room at once: what is in it never moves. */
	    buf_room(&c->head, LIMIT_CONTROL_HEAD_SIZE + 1) != NULL;
}

/* No room for another: say so, if it can be said at once. */
static void
send_away(int fd)
{
	struct control_answer a = { CONTROL_BUSY,
		SLICE("too many connections of this user") };
	struct buf out;

	buf_init(&out, OUT_MAX);
	reply_put_problem(&out, &a, "", "", true);
	if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0 || write(fd, out.p, out.n) < 0)
		log_info("a caller was sent away unheard");
	buf_release(&out);
	close(fd);
}

void
conn_begin(struct porter *p, int fd, uint32_t uid, uint8_t rights)
{
	struct conn *c = p->n_conns < LIMIT_CONTROL_CONNECTIONS ?
	    calloc(1, sizeof(*c)) :
	    NULL;
	enum err err = ERR_NONE;

	if (c == NULL ||
	    timer_init(&c->limit, p->loop, on_limit, c, &err) != 0) {
		free(c);
		send_away(fd);
		return;
	}
	c->porter = p;
	c->fd = fd;
	c->uid = uid;
	c->rights = rights;
	c->content = -1;
	LIST_INSERT_HEAD(&p->conns, c, entry);
	p->n_conns++;
	if (!set_up(c)) {
		conn_close(c);
		return;
	}
	enter(c, CONN_HEAD, LIMIT_CONTROL_IDLE_MS);
	conn_run(c);
}
