/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An origin with a lenient parser: libevent's, which takes two lengths, bare
 * LF, folded lines, and more that nobody should.
 *
 * usage: lenient SOCKET.  Listens there; writes `METHOD,TARGET,BODY` in hex for
 * each request that it read, a line each.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

static void
print(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", p[i]);
}

static const char *
name_of(enum evhttp_cmd_type type)
{
	switch (type) {
	case EVHTTP_REQ_GET:
		return "GET";
	case EVHTTP_REQ_POST:
		return "POST";
	case EVHTTP_REQ_HEAD:
		return "HEAD";
	case EVHTTP_REQ_PUT:
		return "PUT";
	case EVHTTP_REQ_DELETE:
		return "DELETE";
	case EVHTTP_REQ_OPTIONS:
		return "OPTIONS";
	case EVHTTP_REQ_TRACE:
		return "TRACE";
	case EVHTTP_REQ_CONNECT:
		return "CONNECT";
	case EVHTTP_REQ_PATCH:
		return "PATCH";
	}
	return "?";
}

static void
on_request(struct evhttp_request *req, void *arg)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(req);
	const char *method = name_of(evhttp_request_get_command(req));
	const char *target = evhttp_request_get_uri(req);

	(void)arg;
	print((const unsigned char *)method, strlen(method));
	printf(",");
	print((const unsigned char *)target, strlen(target));
	printf(",");
	print(evbuffer_pullup(in, -1), evbuffer_get_length(in));
	printf("\n");
	fflush(stdout);
	evhttp_send_reply(req, 200, "OK", NULL);
}

int
main(int argc, char **argv)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct event_base *base = event_base_new();
	struct evhttp *http = base == NULL ? NULL : evhttp_new(base);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (argc != 2 || http == NULL || fd < 0)
		return 2;
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", argv[1]);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0 ||
	    listen(fd, 16) != 0 || evhttp_accept_socket(http, fd) != 0)
		return 2;
	evhttp_set_gencb(http, on_request, NULL);
	event_base_dispatch(base);
	return 0;
}
