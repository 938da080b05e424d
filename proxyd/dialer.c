/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Role: alone resolves and connects.  It holds the compiled programs and
 * c-ares; it reads nothing of what flows, and hands each socket over before the
 * first byte.
 */
#include <sys/queue.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/rd.h"
#include "dial/ask.h"
#include "dial/network.h"
#include "net/timer.h"
#include "policy/shelf.h"
#include "priv/dispatch.h"
#include "priv/owners.h"
#include "priv/role.h"
#include "proxyd/roles.h"

#define RESOLV_CONF "/etc/resolv.conf"
#define RESOLV_CONF_MAX 65536 /* bytes of it that are read */
#define WORKERS_MAX 64	      /* channels to workers */
#define LAST_WORDS_MS 500     /* for records after the monitor went */

/* A channel to another role. */
struct link {
	LIST_ENTRY(link) entry;
	struct dialer *dialer; /* borrowed */
	enum role role;
	uint32_t number;	 /* of a worker */
	struct channel *channel; /* owned */
};

struct dialer {
	struct loop *loop; /* owned, as all below */
	struct resolver *resolver;
	struct network *network; /* NULL: changes are not seen */
	struct recorder *recorder;
	struct asks *asks;
	struct owners *owners;
	struct shelf *programs;
	struct channel *monitor;
	LIST_HEAD(, link) links;
	size_t n_workers;
	struct timer last; /* until we end */
};

/* The other end is gone: whatever was asked there is, too. */
static void
link_end(struct link *k)
{
	struct dialer *d = k->dialer;

	if (k->role == ROLE_KEEPER)
		asks_set_keeper(d->asks, NULL);
	if (k->role == ROLE_SCRIBE)
		recorder_set_channel(d->recorder, NULL);
	if (k->role == ROLE_WORKER) {
		asks_forget(d->asks, k->channel);
		d->n_workers--;
	}
	LIST_REMOVE(k, entry);
	channel_free(k->channel);
	free(k);
}

static void
on_link_msg(struct channel *c, struct msg *m, void *arg)
{
	struct link *k = arg;
	struct dialer *d = k->dialer;

	if (k->role == ROLE_SCRIBE)
		recorder_take_msg(d->recorder, m);
	if (m == NULL) {
		link_end(k);
		return;
	}
	if (!dispatch_may(k->role, ROLE_DIALER, m->op))
		log_warn("%s sent %s, which it may not", role_name(k->role),
		    dispatch_op_name(m->op));
	else if (!owners_may(d->owners, k->number, m->body))
		asks_alarm_foreign(d->asks);
	else if (m->op == OP_DIAL)
		ask_take(d->asks, c, m);
}

/* A role has one channel only, but for workers. */
static void
end_old_links(struct dialer *d, enum role role)
{
	struct link *k = LIST_FIRST(&d->links);

	for (struct link *after; k != NULL; k = after) {
		after = LIST_NEXT(k, entry);
		if (k->role == role ||
		    (k->role == ROLE_WORKER && !channel_is_open(k->channel)))
			link_end(k);
	}
}

static bool
take_channel(struct dialer *d, struct msg *m)
{
	struct rd in = rd_of(m->body);
	uint8_t role = rd_u8(&in);
	uint32_t number = rd_u32(&in);
	enum err err = ERR_NONE;

	if (!rd_is_done(&in) ||
	    (role != ROLE_WORKER && role != ROLE_KEEPER && role != ROLE_SCRIBE))
		return false;
	end_old_links(d, role == ROLE_WORKER ? ROLE_COUNT : role);
	if (role == ROLE_WORKER && d->n_workers >= WORKERS_MAX)
		return false;
	struct link *k = calloc(1, sizeof(*k));
	int fd = msg_take_fd(m, 0);
	if (k == NULL || fd < 0) {
		free(k);
		if (fd >= 0)
			close(fd);
		return false;
	}
	k->dialer = d;
	k->role = (enum role)role;
	k->number = number;
	k->channel = channel_new(d->loop, fd, on_link_msg, k, &err);
	if (k->channel == NULL) {
		free(k);
		return false;
	}
	LIST_INSERT_HEAD(&d->links, k, entry);
	d->n_workers += role == ROLE_WORKER;
	if (role == ROLE_KEEPER)
		asks_set_keeper(d->asks, k->channel);
	if (role == ROLE_SCRIBE)
		recorder_set_channel(d->recorder, k->channel);
	return true;
}

static bool
take_owner(struct dialer *d, struct msg *m)
{
	enum err err = ERR_NONE;

	if (m->n_fds != 1 || m->body.n != 0)
		return false;
	struct owner *o = owner_map(m->fds[0], &err);
	if (o == NULL) {
		log_error("cannot use the configuration: %s", err_text(err));
		return false;
	}
	asks_set_owner(d->asks, o);
	return true;
}

static bool
take_program(struct dialer *d, struct msg *m)
{
	struct rd in = rd_of(m->body);
	uint32_t sandbox = rd_u32(&in), generation = rd_u32(&in);
	struct slice digest = rd_slice8(&in);
	enum err err = ERR_NONE;

	if (!rd_is_done(&in) || m->n_fds != 1)
		return false;
	struct program *p = shelf_map(d->programs, digest, m->fds[0], &err);
	/* The one in force stays in force; none means: nothing is dialled. */
	if (p == NULL) {
		log_error("cannot use the program: %s", err_text(err));
		return false;
	}
	return asks_set_program(d->asks, sandbox, generation, digest, p,
		   &err) == 0;
}

static bool
take_name(struct dialer *d, struct msg *m)
{
	enum err err = ERR_NONE;
	struct slice name;
	uint32_t sandbox;

	return owners_take(d->owners, m->body, &sandbox, &name, &err) == 0 &&
	    asks_set_name(d->asks, sandbox, name, &err) == 0;
}

static bool
take_forget(struct dialer *d, struct msg *m)
{
	struct rd in = rd_of(m->body);
	uint32_t sandbox = rd_u32(&in);

	if (!rd_is_done(&in))
		return false;
	asks_forget_sandbox(d->asks, sandbox);
	owners_forget(d->owners, sandbox);
	shelf_sweep(d->programs);
	return true;
}

static bool
take_resolvers(struct dialer *d, struct msg *m)
{
	struct rd in = rd_of(m->body);
	struct slice text = rd_slice16(&in);

	if (!rd_is_done(&in))
		return false;
	struct servers s = servers_read(text);
	resolver_set_host(d->resolver, &s);
	return true;
}

static bool
pong(struct dialer *d, const struct msg *ping)
{
	const struct msg m = { .op = OP_PONG, .id = ping->id };
	enum err err = ERR_NONE;

	/* If it cannot be said, the monitor draws its own conclusion. */
	(void)!channel_send(d->monitor, &m, &err);
	return true;
}

static void
on_monitor_msg(struct channel *c UNUSED, struct msg *m, void *arg)
{
	struct dialer *d = arg;
	bool valid = false;

	if (m == NULL) {
		/* The run is over. */
		recorder_flush(d->recorder);
		timer_set(&d->last, LAST_WORDS_MS);
		return;
	}
	if (!dispatch_may(ROLE_MONITOR, ROLE_DIALER, m->op))
		valid = false;
	else if (m->op == OP_PING)
		valid = pong(d, m);
	else if (m->op == OP_CHANNEL)
		valid = take_channel(d, m);
	else if (m->op == OP_OWNER)
		valid = take_owner(d, m);
	else if (m->op == OP_PROGRAM)
		valid = take_program(d, m);
	else if (m->op == OP_NAME)
		valid = take_name(d, m);
	else if (m->op == OP_FORGET)
		valid = take_forget(d, m);
	else if (m->op == OP_RESOLVERS)
		valid = take_resolvers(d, m);
	if (!valid)
		log_warn("the monitor's %s cannot be used",
		    dispatch_op_name(m->op));
}

/* The host's resolvers, read while files can still be opened. */
static void
read_resolv_conf(struct resolver *r)
{
	static char text[RESOLV_CONF_MAX];
	int fd = open(RESOLV_CONF, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (n < 0)
		log_warn(RESOLV_CONF ": %s", strerror(errno));
	struct servers s = servers_read(slice_of(text, n < 0 ? 0 : (size_t)n));
	resolver_set_host(r, &s);
	if (fd >= 0)
		close(fd);
}

static void
on_network(void *arg)
{
	struct dialer *d = arg;

	resolver_network_changed(d->resolver);
}

static void
on_last(void *arg)
{
	struct dialer *d = arg;

	loop_stop(d->loop);
}

static int
set_up(struct dialer *d)
{
	enum err err = ERR_NONE;

	LIST_INIT(&d->links);
	if ((d->loop = loop_new(&err)) == NULL ||
	    (d->resolver = resolver_new(d->loop, &err)) == NULL ||
	    (d->recorder = recorder_new(d->loop, NULL, NULL, &err)) == NULL ||
	    (d->owners = owners_new(&err)) == NULL ||
	    (d->asks = asks_new(d->loop, d->resolver, d->recorder, &err)) ==
		NULL ||
	    (d->programs = shelf_new(&err)) == NULL ||
	    timer_init(&d->last, d->loop, on_last, d, &err) != 0 ||
	    (d->monitor = channel_new(d->loop, ROLE_MONITOR_FD, on_monitor_msg,
		 d, &err)) == NULL) {
		log_error("cannot start: %s", err_text(err));
		return -1;
	}
	read_resolv_conf(d->resolver);
	/* A comfort: without it questions to a network that is gone run into
	 * their limit. */
	d->network = network_new(d->loop, on_network, d, &err);
	if (d->network == NULL)
		log_warn("changes of the network are not seen");
	return 0;
}

int
dialer_main(void)
{
	static struct dialer dialer;
	const struct msg ready = { .op = OP_READY };
	enum err err = ERR_NONE;

	/* The resolver's ids are seeded from a file: before the first stage. */
	if (set_up(&dialer) != 0 || isolate_role(ROLE_DIALER) != 0 ||
	    isolate_last(ROLE_DIALER) != 0)
		return 1;
	if (channel_send(dialer.monitor, &ready, &err) != 0)
		return 1;
	loop_run(dialer.loop);
	return 0;
}
