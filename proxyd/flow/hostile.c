/* SPDX-License-Identifier: Apache-2.0 */
/* Never part of a product: see hostile.h. */
#include <sys/socket.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include "flow/hostile.h"
#include "flow/step.h"

#define ACTION_MAX 32

/* A role that is asked with a head that is not this worker's. */
struct lie {
	const char *action;
	enum {
		ASK_DIAL,
		ASK_RELEASE,
		ASK_LEAF,
	} what;
	bool digest; /* another program's; else another generation */
};

static const struct lie lies[] = {
	{ "dial-digest", ASK_DIAL, true },
	{ "dial-generation", ASK_DIAL, false },
	{ "release-digest", ASK_RELEASE, true },
	{ "release-generation", ASK_RELEASE, false },
	{ "leaf-digest", ASK_LEAF, true },
	{ "leaf-generation", ASK_LEAF, false },
};

static void
answer(struct flow *f, const char *action, bool done, const char *more)
{
	char body[256], text[512];

	snprintf(body, sizeof(body), "%s: %s %s\n", action,
	    done ? "done" : "refused", more);
	snprintf(text, sizeof(text),
	    "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n"
	    "Connection: close\r\n\r\n%s",
	    strlen(body), body);
	if (!stream_put(f->client, slice_of_str(text)))
		f->reset = true;
	f->obeyed = true;
}

static void
on_dialled(const struct dial_answer *a, void *arg)
{
	struct flow *f = arg;

	f->asked = NULL;
	answer(f, "dial", a->stream != NULL, reason_name(a->reason));
	stream_close(a->stream);
	flow_run(f);
}

static struct stream *shown; /* owned; a dial that is another rule's */

static void
on_released(enum reason reason, struct slice value, void *arg)
{
	struct flow *f = arg;

	f->asked = NULL;
	stream_close(shown);
	shown = NULL;
	answer(f, "release", value.n != 0, reason_name(reason));
	flow_run(f);
}

static void
on_shaken(struct stream *s, enum reason reason, void *arg)
{
	struct flow *f = arg;

	f->asked = NULL;
	if (s != NULL)
		flow_set_client(f, s);
	answer(f, "leaf", s != NULL, reason_name(reason));
	flow_run(f);
}

/* A dial for a rule's place that is not the rule's. */
static void
dial_denied(struct flow *f)
{
	struct sandbox *sb = f->sandbox;
	struct host host;
	struct parse_fail fail;

	if (host_from_http(SLICE("evil.test"), &host, &fail) != PARSE_DONE)
		return;
	const struct dial_ask ask = { .generation = f->generation,
		.host = &host,
		.name_it = true,
		.port = 80,
		.flow = f->name };
	f->asked = sb->asks->dial(sb->asks_arg, sb, &ask, on_dialled, f);
}

/* A credential for a socket that no dialer told of: the client's own. */
static void
release_forged(struct flow *f)
{
	struct sandbox *sb = f->sandbox;
	const struct release_ask ask = { .generation = f->generation,
		.upstream = f->client,
		.flow = f->name };

	f->asked = sb->asks->release(sb->asks_arg, sb, &ask, on_released, f);
}

/* The first rule's credential, for the dial of the second rule's host. */
static void
on_dialled_elsewhere(const struct dial_answer *a, void *arg)
{
	struct flow *f = arg;
	struct sandbox *sb = f->sandbox;
	const struct release_ask ask = { .generation = f->generation,
		.upstream = a->stream,
		.flow = f->name };

	f->asked = NULL;
	if (a->stream == NULL) {
		on_dialled(a, arg);
		return;
	}
	shown = a->stream;
	f->asked = sb->asks->release(sb->asks_arg, sb, &ask, on_released, f);
}

static void
release_elsewhere(struct flow *f)
{
	struct sandbox *sb = f->sandbox;
	struct host host;
	struct parse_fail fail;

	if (host_from_http(SLICE("ok.test"), &host, &fail) != PARSE_DONE)
		return;
	const struct dial_ask ask = { .generation = f->generation,
		.rule = 1,
		.host = &host,
		.port = 443,
		.tls = true,
		.flow = f->name };
	f->asked =
	    sb->asks->dial(sb->asks_arg, sb, &ask, on_dialled_elsewhere, f);
}

/* Files without end, each of which is kept. */
static unsigned n_spooled;

static void
on_spooled(int fd, struct slice why, void *arg)
{
	struct flow *f = arg;
	struct sandbox *sb = f->sandbox;
	char more[128];

	f->asked = NULL;
	if (fd >= 0 && ++n_spooled < 100) {
		f->asked = sb->asks->spool(sb->asks_arg, sb, on_spooled, f);
		return;
	}
	snprintf(more, sizeof(more), "after %u: %.*s", n_spooled,
	    SLICE_ARG(why));
	answer(f, "spool", fd >= 0, more);
	flow_run(f);
}

static void
dial_as(struct flow *f, const struct generation *g)
{
	struct sandbox *sb = f->sandbox;
	const struct dial_ask ask = { .generation = g,
		.host = &f->sni,
		.port = f->port,
		.flow = f->name };

	f->asked = sb->asks->dial(sb->asks_arg, sb, &ask, on_dialled, f);
}

static void
release_as(struct flow *f, const struct generation *g)
{
	struct sandbox *sb = f->sandbox;
	const struct release_ask ask = { .generation = g,
		.upstream = f->client,
		.flow = f->name };

	f->asked = sb->asks->release(sb->asks_arg, sb, &ask, on_released, f);
}

static void
leaf_as(struct flow *f, const struct generation *g)
{
	struct sandbox *sb = f->sandbox;
	const struct shake_ask ask = { .generation = g,
		.name = SLICE("leaf.test"),
		.client = f->client,
		.flow = f->name };

	f->asked = sb->asks->shake(sb->asks_arg, sb, &ask, on_shaken, f);
}

/* Ask what would be right, were it not for the head; false: no such lie. */
static bool
tell_lie(struct flow *f, const char *action)
{
	struct generation g = *f->generation;

	for (size_t i = 0; i < COUNT_OF(lies); i++) {
		if (strcmp(action, lies[i].action) != 0)
			continue;
		if (lies[i].digest)
			g.digest[strlen(g.digest) - 1] ^= 1;
		else
			g.number++;
		if (lies[i].what == ASK_DIAL)
			dial_as(f, &g);
		else if (lies[i].what == ASK_RELEASE)
			release_as(f, &g);
		else
			leaf_as(f, &g);
		return true;
	}
	return false;
}

/* What needs no other role; true: it worked. */
static bool
try_alone(struct flow *f, const char *action, char *more, size_t max)
{
	const struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_port = htons(80),
		.sin_addr.s_addr = htonl(0xcb007142) /* 203.0.113.66 */ };
	char program[] = "/bin/true";
	char *argv[] = { program, NULL }, *env[] = { NULL };

	if (strcmp(action, "nothing") == 0)
		return true;
	if (strcmp(action, "socket") == 0)
		return socket(AF_INET, SOCK_STREAM, 0) >= 0;
	if (strcmp(action, "connect") == 0)
		return connect(stream_fd(f->client),
			   (const struct sockaddr *)&sa, sizeof(sa)) == 0;
	if (strcmp(action, "exec") == 0)
		return execve(program, argv, env) == 0;
	if (strcmp(action, "open") != 0)
		return false;
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, more, max - 1);
	more[n < 0 ? 0 : n] = '\0';
	return n >= 0;
}

static bool
take_action(struct flow *f, char action[ACTION_MAX])
{
	const struct slice prefix = SLICE("GET /.hostile/");
	struct slice in = stream_peek(f->client);
	size_t n = 0;

	if (!slice_has_prefix(in, prefix) || memchr(in.p, '\n', in.n) == NULL)
		return false;
	in = slice_from(in, prefix.n);
	while (n < in.n && n < ACTION_MAX - 1 && in.p[n] != ' ') {
		action[n] = (char)in.p[n];
		n++;
	}
	action[n] = '\0';
	stream_take(f->client, stream_peek(f->client).n);
	return true;
}

enum hostile
hostile_obey(struct flow *f)
{
	char action[ACTION_MAX], more[64] = "";

	if (f->obeyed)
		return HOSTILE_DONE;
	if (f->asked != NULL)
		return HOSTILE_WAIT;
	if (!take_action(f, action))
		return HOSTILE_NO;
	if (strcmp(action, "dial-denied") == 0)
		dial_denied(f);
	else if (strcmp(action, "release-forged") == 0)
		release_forged(f);
	else if (strcmp(action, "release-elsewhere") == 0)
		release_elsewhere(f);
	else if (strcmp(action, "spool") == 0)
		f->asked = f->sandbox->asks->spool(f->sandbox->asks_arg,
		    f->sandbox, on_spooled, f);
	else if (!tell_lie(f, action))
		answer(f, action, try_alone(f, action, more, sizeof(more)),
		    more);
	return f->obeyed ? HOSTILE_DONE : HOSTILE_WAIT;
}
