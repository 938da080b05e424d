/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <jansson.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "cmd/ctl.h"
#include "priv/control.h"
#include "wire/h1_head.h"

static const char *
socket_of(const struct ctl *c)
{
	return c->socket == NULL ? CTL_PATH : c->socket;
}

static int
fault(const struct ctl *c, const char *what)
{
	fprintf(stderr, "duenna: %s: %s: %s\n", c->of, socket_of(c), what);
	return CMD_FAULT;
}

/* What to do about it, if that can be told. */
static int
cannot_connect(const struct ctl *c, int why)
{
	const char *hint = "";

	if (why == ENOENT || why == ECONNREFUSED)
		hint = "; is `duenna serve` running?  Another one has its "
		       "socket where --control says";
	else if (why == EACCES)
		hint = "; who may use it are the groups that `control:` of the "
		       "configuration names";
	fprintf(stderr, "duenna: %s: cannot reach %s: %s%s\n", c->of,
	    socket_of(c), strerror(why), hint);
	return CMD_FAULT;
}

/* The connected socket, or -1: it was said. */
static int
reach(const struct ctl *c)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = strlen(socket_of(c));

	if (n >= sizeof(to.sun_path)) {
		(void)fault(c, "this path is too long for a socket");
		return -1;
	}
	memcpy(to.sun_path, socket_of(c), n);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0) {
		(void)cannot_connect(c, errno);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

/* A call that is refused early is answered all the same: read that. */
static void
send_all(int fd, struct slice bytes)
{
	while (bytes.n != 0) {
		ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		bytes = slice_from(bytes, (size_t)n);
	}
}

static void
send_call(int fd, const char *method, const char *path, struct slice body)
{
	struct buf head;

	buf_init(&head, 4096);
	buf_putf(&head,
	    "%s %s HTTP/1.1\r\n"
	    "Host: localhost\r\n"
	    "Connection: close\r\n",
	    method, path);
	if (body.n != 0)
		buf_putf(&head,
		    "Content-Type: application/json\r\n"
		    "Content-Length: %zu\r\n",
		    body.n);
	buf_put_str(&head, "\r\n");
	send_all(fd, buf_slice(&head));
	send_all(fd, body);
	buf_release(&head);
}

/* Until the other end closes: it was asked to.  False: it failed. */
static bool
read_all(int fd, struct buf *all)
{
	for (;;) {
		uint8_t *room = buf_room(all, 65536);
		ssize_t n = room == NULL ? -1 : read(fd, room, 65536);
		if (room != NULL && n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		buf_added(all, (size_t)n);
	}
}

/* Head and content apart; what was sent is all that was announced. */
static bool
take_answer(struct ctl *c, struct slice all, const char *method)
{
	static struct http_response res;
	struct parse_fail fail;
	size_t used = 0;

	if (h1_response_take(all, &h1_limits, slice_of_str(method), &res, &used,
		&fail) != PARSE_DONE)
		return false;
	struct slice content = slice_from(all, used);
	c->status = res.status;
	return res.body == HTTP_BODY_LENGTH && res.length == content.n &&
	    buf_put(&c->answer, content);
}

static void
put_text(const json_t *v)
{
	uint8_t text[4096];
	size_t n = json_string_length(v);

	if (n > sizeof(text))
		n = sizeof(text);
	if (n != 0)
		memcpy(text, json_string_value(v), n);
	utf8_tame(text, n, '\n');
	fprintf(stderr, "%.*s", (int)n, (const char *)text);
}

/* "duenna: attach: CODE: DETAIL (at WHERE)", and the exit status. */
static int
complain(const struct ctl *c)
{
	json_t *root = ctl_read(c);
	const json_t *code = json_object_get(root, "code");
	const json_t *detail = json_object_get(root, "detail");
	const json_t *where = json_object_get(root, "where");

	if (root == NULL)
		return CMD_FAULT;
	fprintf(stderr, "duenna: %s: ", c->of);
	put_text(code);
	fputs(": ", stderr);
	put_text(detail);
	if (where != NULL) {
		fputs(" (at ", stderr);
		put_text(where);
		fputc(')', stderr);
	}
	fputc('\n', stderr);
	json_decref(root);
	return c->status >= 500 ? CMD_FAULT : CMD_NO;
}

int
ctl_call(struct ctl *c, const char *method, const char *path, struct slice body)
{
	struct buf all;
	int fd = reach(c);

	buf_init(&c->answer, LIMIT_CONTROL_ANSWER_SIZE);
	if (fd < 0)
		return CMD_FAULT;
	buf_init(&all, LIMIT_CONTROL_ANSWER_SIZE + 65536);
	send_call(fd, method, path, body);
	bool good =
	    read_all(fd, &all) && take_answer(c, buf_slice(&all), method);
	close(fd);
	buf_release(&all);
	if (!good)
		return fault(c, "it ended before its answer was whole");
	if (c->status >= 300 && c->json)
		fputs(buf_text(&c->answer), stdout);
	return c->status < 300 ? 0 : complain(c);
}

void
ctl_release(struct ctl *c)
{
	buf_release(&c->answer);
}

const char *
ctl_name(const struct ctl *c, int argc, char **argv)
{
	if (optind + 1 == argc && control_is_name(slice_of_str(argv[optind])))
		return argv[optind];
	fprintf(stderr,
	    optind + 1 == argc ?
		"duenna: %s: a sandbox's name is 1 to 40 of a-z, 0-9 and "
		"'-': not '%s'\n" :
		"duenna: %s: expected the name of one sandbox%s\n",
	    c->of, optind + 1 == argc ? argv[optind] : "");
	return NULL;
}

json_t *
ctl_read(const struct ctl *c)
{
	json_error_t error;
	json_t *root = json_loadb((const char *)c->answer.p, c->answer.n,
	    JSON_REJECT_DUPLICATES, &error);

	if (root == NULL)
		(void)fault(c, "what it answered is no JSON");
	return root;
}
