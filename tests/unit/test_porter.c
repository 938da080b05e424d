/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The porter as the monitor and a caller meet it: a process, isolated as in the
 * product, connections handed over.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "priv/control.h"
#include "priv/control_answer.h"
#include "priv/control_carry.h"
#include "priv/ops.h"
#include "priv/role.h"
#include "proxyd/roles.h"

#define UID 1234
#define HOST "Host: duenna\r\n"
#define GET_STATUS "GET /v1/status HTTP/1.1\r\n" HOST "\r\n"

struct porter {
	pid_t pid;
	int fd; /* the monitor's end */
	uint8_t packet[MSG_SIZE_MAX];
	struct msg msg;
	struct buf form;
	struct control_request req;
};

static void
hear(struct porter *p, uint16_t op)
{
	struct pollfd f = { .fd = p->fd, .events = POLLIN };
	enum err err = ERR_NONE;

	msg_close_fds(&p->msg);
	assert_int_equal(poll(&f, 1, 20000), 1);
	assert_int_equal(msg_recv(p->fd, p->packet, &p->msg, &err), 0);
	assert_int_equal(p->msg.op, op);
}

static void
start(struct porter *p)
{
	int ends[2];

	*p = (struct porter){ 0 };
	buf_init(&p->form, 2 << 20);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			     ends),
	    0);
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0) {
		close(ends[0]);
		if (dup2(ends[1], ROLE_MONITOR_FD) < 0)
			_exit(99);
		if (isolate_start(ROLE_PORTER) != 0)
			_exit(98);
		_exit(porter_main());
	}
	close(ends[1]);
	p->fd = ends[0];
	hear(p, OP_READY);
}

static void
end(struct porter *p)
{
	int status = 0;

	msg_close_fds(&p->msg);
	buf_release(&p->form);
	close(p->fd);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	assert_int_equal(status, 0);
}

/* A caller's end of a connection that the porter has the other of. */
static int
call(struct porter *p, uint32_t uid, uint8_t rights)
{
	uint8_t body[8];
	struct wr w = wr_of(body, sizeof(body));
	enum err err = ERR_NONE;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
			     ends),
	    0);
	wr_u32(&w, uid);
	wr_u8(&w, rights);
	struct msg m = { .op = OP_CONTROL,
		.body = wr_slice(&w),
		.fds = { ends[1] },
		.n_fds = 1 };
	assert_int_equal(msg_send(p->fd, &m, &err), 0);
	close(ends[1]);
	return ends[0];
}

static void
say(int fd, struct slice bytes)
{
	while (bytes.n != 0) {
		ssize_t n = write(fd, bytes.p, bytes.n);
		assert_true(n > 0);
		bytes = slice_from(bytes, (size_t)n);
	}
}

/* The next REQUEST, into p->req. */
static void
hear_request(struct porter *p)
{
	enum err err = ERR_NONE;

	hear(p, OP_REQUEST);
	buf_clear(&p->form);
	assert_int_equal(control_carry_take(&p->msg, &p->form, &err), 0);
	assert_true(control_request_read(buf_slice(&p->form), &p->req));
}

static void
answer(struct porter *p, enum control_code code, const char *detail, int fd)
{
	uint8_t body[1024];
	struct wr w = wr_of(body, sizeof(body));
	struct control_answer a = { code, slice_of_str(detail) };
	enum err err = ERR_NONE;

	control_answer_write(&w, &a);
	struct msg m = { .op = OP_ANSWER,
		.id = p->msg.id,
		.body = wr_slice(&w),
		.fds = { fd },
		.n_fds = fd < 0 ? 0 : 1 };
	assert_int_equal(msg_send(p->fd, &m, &err), 0);
	if (fd >= 0)
		close(fd);
}

/* All that comes until the answer has `end` in it, or ends. */
static const char *
answered(int fd, const char *end)
{
	static char text[1 << 20];
	struct pollfd f = { .fd = fd, .events = POLLIN };
	size_t n = 0;
	ssize_t got = 1;

	text[0] = '\0';
	while (got > 0 && (end == NULL || strstr(text, end) == NULL)) {
		assert_int_equal(poll(&f, 1, 20000), 1);
		assert_true(n < sizeof(text) - 1);
		got = read(fd, text + n, sizeof(text) - 1 - n);
		n += got > 0 ? (size_t)got : 0;
		text[n] = '\0';
	}
	return text;
}

static void
wants(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		print_message("# no '%s' in: %.600s\n", part, text);
	assert_non_null(strstr(text, part));
}

static int
memory(const char *text, size_t n)
{
	int fd = memfd_create("content", MFD_CLOEXEC);

	assert_true(fd >= 0);
	say(fd, slice_of(text, n));
	return fd;
}

static void
a_call_becomes_a_request_and_its_answer_comes_back(void **state)
{
	(void)state;
	static struct porter p;

	start(&p);
	int fd = call(&p, UID, CONTROL_MAY_VIEW);
	for (int i = 0; i < 2; i++) { /* the connection stays */
		say(fd, SLICE(GET_STATUS));
		hear_request(&p);
		assert_int_equal(p.req.verb, CONTROL_STATUS);
		assert_int_equal(p.req.uid, UID);
		assert_int_equal(p.req.rights, CONTROL_MAY_VIEW);
		answer(&p, CONTROL_DONE, "", memory("{\"x\": 1}\n", 9));
		const char *got = answered(fd, "}\n");
		wants(got, "HTTP/1.1 200 OK\r\n");
		wants(got, "Content-Type: application/json\r\n");
		wants(got, "Content-Length: 9\r\n");
		wants(got, "\r\n\r\n{\"x\": 1}\n");
	}
	close(fd);
	end(&p);
}

#define ATTACH_BODY                                          \
	"{\"policy\":\"p\",\"capture\":\"netns\",\"pid\":9," \
	"\"labels\":{\"job\":\"17\"},\"secrets\":{\"github\":\"t\"}}"

static void
put_attach(char *text, size_t size, const char *body, const char *more)
{
	snprintf(text, size,
	    "PUT /v1/sandboxes/box HTTP/1.1\r\n" HOST
	    "Content-Type: application/json\r\n%sContent-Length: %zu\r\n"
	    "\r\n%s",
	    more, strlen(body), body);
}

/* Also with the head in one piece and the body byte by byte. */
static void
an_attach_comes_however_it_is_cut(void **state)
{
	(void)state;
	static struct porter p;
	char text[1024];

	start(&p);
	int fd = call(&p, UID, CONTROL_MAY_ATTACH);
	put_attach(text, sizeof(text), ATTACH_BODY, "");
	for (int cut = 0; cut < 2; cut++) {
		for (size_t i = 0; cut == 1 && text[i] != '\0'; i++)
			say(fd, slice_of(text + i, 1));
		if (cut == 0)
			say(fd, slice_of_str(text));
		hear_request(&p);
		assert_int_equal(p.req.verb, CONTROL_ATTACH);
		assert_true(slice_eq_str(p.req.attach.name, "box"));
		assert_int_equal(p.req.attach.pid, 9);
		assert_true(slice_eq_str(p.req.attach.secrets[0].value, "t"));
		answer(&p, CONTROL_ATTACHED, "", -1);
		const char *got = answered(fd, "}\n");
		wants(got, "HTTP/1.1 201 Created\r\n");
		wants(got, "\"code\":\"attached\"");
	}
	close(fd);
	end(&p);
}

static void
a_long_policy_comes_beside_the_message(void **state)
{
	(void)state;
	static struct porter p;
	static char body[200000], text[210000];
	int n = snprintf(body, sizeof(body),
	    "{\"capture\":\"netns\",\"pid\":9,\"policy_text\":\"");

	memset(body + n, 'x', 100000);
	snprintf(body + n + 100000, 100, "\"}");
	put_attach(text, sizeof(text), body, "Expect: 100-continue\r\n");
	char *behind = strstr(text, "\r\n\r\n") + 4;
	start(&p);
	int fd = call(&p, UID, CONTROL_MAY_ATTACH | CONTROL_MAY_POLICY);
	say(fd, slice_of(text, (size_t)(behind - text)));
	wants(answered(fd, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
	say(fd, slice_of_str(behind));
	hear_request(&p);
	assert_int_equal(p.req.attach.policy_text.n, 100000);
	answer(&p, CONTROL_POLICY_WRONG, "inline:1:1: expected a mapping", -1);
	const char *got = answered(fd, "}\n");
	wants(got, "HTTP/1.1 422 Unprocessable Content\r\n");
	wants(got, "Content-Type: application/problem+json\r\n");
	wants(got,
	    "\"status\":422,\"code\":\"policy.wrong\","
	    "\"detail\":\"inline:1:1: expected a mapping\"");
	close(fd);
	end(&p);
}

/* The connection ends where it is not clear what would follow. */
static void
what_is_wrong_is_answered_without_the_monitor(void **state)
{
	(void)state;
	static struct porter p;
	char text[1024];

	start(&p);
	int fd = call(&p, UID, CONTROL_MAY_VIEW);
	put_attach(text, sizeof(text), "{\"polcy\": 1}", "");
	say(fd, slice_of_str(text));
	const char *got = answered(fd, "}\n");
	wants(got, "HTTP/1.1 400 Bad Request\r\n");
	wants(got, "\"where\":\"$.polcy\"");
	say(fd, SLICE("PATCH /v1/sandboxes/box HTTP/1.1\r\n" HOST "\r\n"));
	got = answered(fd, NULL);
	wants(got, "HTTP/1.1 405 Method Not Allowed\r\n");
	wants(got, "Allow: GET, PUT, DELETE\r\n");
	wants(got, "Connection: close\r\n");
	close(fd);
	fd = call(&p, UID, CONTROL_MAY_VIEW);
	say(fd, SLICE("\0\0\0\0"));
	wants(answered(fd, NULL), "\"code\":\"request.malformed\"");
	close(fd);
	end(&p);
}

/* What a caller sends beyond a refusal does not keep it from reading that. */
static void
a_refusal_is_read_by_who_still_sends(void **state)
{
	(void)state;
	static struct porter p;
	static char much[400000];

	start(&p);
	int fd = call(&p, UID, CONTROL_MAY_VIEW);
	say(fd,
	    SLICE("PUT /v1/sandboxes/a HTTP/1.1\r\n" HOST
		  "Content-Type: application/json\r\n"
		  "Content-Length: 99999999\r\n\r\n"));
	memset(much, ' ', sizeof(much));
	say(fd, slice_of(much, sizeof(much)));
	wants(answered(fd, NULL), "HTTP/1.1 413 Content Too Large\r\n");
	close(fd);
	end(&p);
}

static void
calls_wait_for_each_other(void **state)
{
	(void)state;
	static struct porter p;

	start(&p);
	int fd = call(&p, UID, CONTROL_MAY_VIEW);
	say(fd, SLICE(GET_STATUS "GET /metrics HTTP/1.0\r\n" HOST "\r\n"));
	hear_request(&p);
	assert_int_equal(p.req.verb, CONTROL_STATUS);
	struct pollfd f = { .fd = p.fd, .events = POLLIN };
	assert_int_equal(poll(&f, 1, 50), 0);
	answer(&p, CONTROL_DONE, "", -1);
	hear_request(&p);
	assert_int_equal(p.req.verb, CONTROL_METRICS);
	answer(&p, CONTROL_DONE, "", memory("# EOF\n", 6));
	const char *got = answered(fd, NULL);
	wants(got, "Content-Type: application/openmetrics-text; version=1.0.0");
	wants(got, "Connection: close\r\n\r\n# EOF\n");
	close(fd);
	end(&p);
}

static void
a_long_answer_comes_whole(void **state)
{
	(void)state;
	static struct porter p;
	static char much[700000];

	memset(much, 'x', sizeof(much));
	much[sizeof(much) - 1] = '\n';
	start(&p);
	int fd = call(&p, UID, CONTROL_MAY_VIEW);
	say(fd,
	    SLICE("GET /v1/sandboxes HTTP/1.1\r\n" HOST
		  "Connection: close\r\n\r\n"));
	hear_request(&p);
	answer(&p, CONTROL_DONE, "", memory(much, sizeof(much)));
	const char *got = answered(fd, NULL);
	const char *body = strstr(got, "\r\n\r\n") + 4;
	assert_int_equal(strlen(body), sizeof(much));
	assert_memory_equal(body, much, sizeof(much));
	close(fd);
	end(&p);
}

/* With the bytes of one user it never speaks for another. */
static void
it_reads_for_one_user(void **state)
{
	(void)state;
	static struct porter p;

	start(&p);
	int mine = call(&p, UID, CONTROL_MAY_VIEW);
	int other = call(&p, UID + 1, CONTROL_MAY_POLICY);
	assert_string_equal(answered(other, NULL), "");
	say(mine, SLICE(GET_STATUS));
	hear_request(&p);
	assert_int_equal(p.req.uid, UID);
	close(mine);
	close(other);
	end(&p);
}

static void
connections_have_a_number(void **state)
{
	(void)state;
	static struct porter p;
	int fds[LIMIT_CONTROL_CONNECTIONS];

	start(&p);
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		fds[i] = call(&p, UID, CONTROL_MAY_VIEW);
	int more = call(&p, UID, CONTROL_MAY_VIEW);
	wants(answered(more, NULL), "\"code\":\"busy\"");
	close(more);
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		close(fds[i]);
	end(&p);
}

/* A caller that goes while the monitor works leaves nothing behind. */
static void
a_caller_may_go(void **state)
{
	(void)state;
	static struct porter p;
	const struct msg ping = { .op = OP_PING };
	enum err err = ERR_NONE;

	start(&p);
	int fd = call(&p, UID, CONTROL_MAY_VIEW);
	say(fd, SLICE(GET_STATUS));
	hear_request(&p);
	close(fd);
	answer(&p, CONTROL_DONE, "", memory("{}\n", 3));
	assert_int_equal(msg_send(p.fd, &ping, &err), 0);
	hear(&p, OP_PONG);
	end(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_call_becomes_a_request_and_its_answer_comes_back),
		cmocka_unit_test(an_attach_comes_however_it_is_cut),
		cmocka_unit_test(a_long_policy_comes_beside_the_message),
		cmocka_unit_test(what_is_wrong_is_answered_without_the_monitor),
		cmocka_unit_test(a_refusal_is_read_by_who_still_sends),
		cmocka_unit_test(calls_wait_for_each_other),
		cmocka_unit_test(a_long_answer_comes_whole),
		cmocka_unit_test(it_reads_for_one_user),
		cmocka_unit_test(connections_have_a_number),
		cmocka_unit_test(a_caller_may_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
