/* SPDX-License-Identifier: Apache-2.0 */
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <fcntl.h>
#include <unistd.h>

#include "base/rd.h"
#include "base/wr.h"
#include "policy/shelf.h"
#include "priv/ops.h"
#include "priv/spawn.h"
#include "reload_bed.h"

static const char *const rules[RELOAD_IMAGES] = {
	"      - {allow: 'http://127.0.0.1:PORT/**', methods: any}\n"
	"      - allow: tcp://127.0.0.2:PORT\n",
	"      - deny: http://127.0.0.1:PORT/no/**\n"
	"      - allow: tcp://127.0.0.2:PORT\n"
	"      - {name: same, allow: 'http://127.0.0.1:PORT/**'}\n",
	"      - allow: http://other.test/**\n",
};
static const char *const digests[RELOAD_IMAGES] = { "sha256:00", "sha256:01",
	"sha256:02" };

/* --- roles --------------------------------------------------------------- */

static void
on_dial(struct channel *c, struct msg *m, void *arg)
{
	struct reload_bed *b = arg;

	reload_step(b);
	if (m != NULL)
		ask_take(b->asks, c, m);
}

static void
on_keeper(struct channel *c, struct msg *m, void *arg)
{
	struct reload_bed *b = arg;

	reload_step(b);
	if (m != NULL && m->op == OP_TELL)
		issue_tell(b->issue, c, m);
}

static void
count_alarm(struct reload_bed *b, struct slice body)
{
	struct event e;

	b->n_alarms += event_decode(body, &e) && e.kind == EVENT_ALARM ? 1 : 0;
}

/* A scribe that writes everything at once. */
static void
on_scribe(struct channel *c, struct msg *m, void *arg)
{
	uint8_t yes = 1;
	enum err err;

	reload_step(arg);
	if (m == NULL)
		return;
	const struct msg written = { .op = OP_WRITTEN,
		.id = m->id,
		.body = slice_of(&yes, 1) };
	struct rd in = rd_of(m->body);
	if (m->op == OP_EVENT)
		count_alarm(arg, m->body);
	while (m->op == OP_EVENTS && !rd_is_done(&in) && !in.bad)
		count_alarm(arg, rd_slice16(&in));
	if (m->id != 0)
		assert_int_equal(channel_send(c, &written, &err), 0);
}

static void
on_role(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)m;
	(void)arg;
}

static void
on_status(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	recorder_take_msg(arg, m);
}

static struct channel *
link_up(struct reload_bed *b, channel_on_msg *on_ours, void *our_arg,
    channel_on_msg *on_theirs, struct channel **theirs)
{
	enum err err;
	int pair[2];

	assert_int_equal(spawn_pair(pair, &err), 0);
	struct channel *ours =
	    channel_new(b->worker.loop, pair[0], on_ours, our_arg, &err);
	*theirs = channel_new(b->worker.loop, pair[1], on_theirs, b, &err);
	assert_true(ours != NULL && *theirs != NULL);
	b->channels[b->n_channels++] = ours;
	b->channels[b->n_channels++] = *theirs;
	return ours;
}

static void
give_scribe(struct reload_bed *b, struct recorder *r)
{
	uint8_t yes = 1;
	struct channel *scribe;
	const struct msg status = { .op = OP_STATUS,
		.body = slice_of(&yes, 1) };
	enum err err;

	recorder_set_channel(r, link_up(b, on_status, r, on_scribe, &scribe));
	assert_int_equal(channel_send(scribe, &status, &err), 0);
}

static size_t
image_of(const struct reload_bed *b, uint32_t n)
{
	return b->forbids && n == b->issued ? 2 : n % 2;
}

static struct program *
own_program(const struct reload_bed *b, size_t i)
{
	enum err err;
	struct program *p = program_open(buf_slice(&b->beds[i].image), &err);

	assert_non_null(p);
	return p;
}

static void
give_worker(struct reload_bed *b, uint32_t n)
{
	size_t i = image_of(b, n);
	struct slice image = buf_slice(&b->beds[i].image);
	uint8_t body[64];
	struct wr w = wr_of(body, sizeof(body));
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(write(fd, image.p, image.n), image.n);
	assert_int_equal(fcntl(fd, F_ADD_SEALS,
			     F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE),
	    0);
	wr_u32(&w, RELOAD_SANDBOX);
	wr_u32(&w, n + 1);
	wr_slice8(&w, slice_of_str(digests[i]));
	struct msg m = { .op = OP_PROGRAM,
		.body = wr_slice(&w),
		.fds = { fd },
		.n_fds = 1 };
	assert_true(worker_take_program(&b->worker, &m));
	close(fd);
}

static void
give(struct reload_bed *b, int role, uint32_t n)
{
	size_t i = image_of(b, n);
	struct slice digest = slice_of_str(digests[i]);
	enum err err;

	if (role == RELOAD_WORKER)
		give_worker(b, n);
	else if (role == RELOAD_DIALER)
		assert_int_equal(asks_set_program(b->asks, RELOAD_SANDBOX,
				     n + 1, digest, own_program(b, i), &err),
		    0);
	else
		assert_int_equal(store_set_program(b->store, RELOAD_SANDBOX,
				     n + 1, digest, own_program(b, i), &err),
		    0);
}

void
reload_role(struct reload_bed *b, int role)
{
	if (b->applied[role] < b->issued)
		give(b, role, ++b->applied[role]);
}

uint32_t
reload_applied(const struct reload_bed *b)
{
	uint32_t least = UINT32_MAX;

	for (int i = 0; i < RELOAD_ROLES; i++)
		if (b->applied[i] < least)
			least = b->applied[i];
	return least;
}

void
reload_turn(struct reload_bed *b)
{
	reload_clients_go_on(b);
	event_base_loop(loop_base(b->worker.loop), EVLOOP_NONBLOCK);
}

/* --- the whole ----------------------------------------------------------- */

static void
compile(struct reload_bed *b, size_t i)
{
	char text[512], port[8];
	size_t n = (size_t)snprintf(text, sizeof(text),
	    "version: 1\npolicies:\n  p:\n    rules:\n%s", rules[i]);

	snprintf(port, sizeof(port), "%u", b->port);
	for (char *at; (at = strstr(text, "PORT")) != NULL;) {
		memmove(at + strlen(port), at + 4, n - (size_t)(at - text) - 3);
		memcpy(at, port, strlen(port));
		n -= 4 - strlen(port);
	}
	bed_load_trusted(&b->beds[i], "version: 1\nprivate: [127.0.0.0/8]\n",
	    text);
	if (b->beds[i].program == NULL)
		print_error("%s", buf_text(&b->beds[i].text));
	assert_non_null(b->beds[i].program);
}

static void
make_worker(struct reload_bed *b)
{
	struct worker *w = &b->worker;
	enum err err;

	LIST_INIT(&w->sandboxes);
	ids_init(&w->by_id);
	w->programs = shelf_new(&err);
	w->loop = w->roles.loop = loop_new(&err);
	w->roles.server = ctx_server_new(&err);
	w->roles.client = ctx_client_new(NULL, 0, &err);
	assert_true(w->roles.server != NULL && w->roles.client != NULL);
}

static struct owner *
own_owner(const struct reload_bed *b)
{
	enum err err;
	struct owner *o = owner_open(buf_slice(&b->beds[0].owner_image), &err);

	assert_non_null(o);
	return o;
}

static void
make_others(struct reload_bed *b)
{
	struct loop *l = b->worker.loop;
	struct channel *theirs;
	enum err err;

	for (int i = 0; i < RELOAD_ROLES; i++) {
		b->recorders[i] = recorder_new(l, NULL, NULL, &err);
		give_scribe(b, b->recorders[i]);
	}
	b->resolver = resolver_new(l, &err);
	b->asks = asks_new(l, b->resolver, b->recorders[RELOAD_DIALER], &err);
	b->store = store_new(&err);
	b->issue = issue_new(b->store, b->recorders[RELOAD_KEEPER], &err);
	asks_set_owner(b->asks, own_owner(b));
	assert_int_equal(store_set_owner(b->store, own_owner(b), &err), 0);
	asks_set_keeper(b->asks, link_up(b, on_role, b, on_keeper, &theirs));
	b->worker.roles.dialer = link_up(b, on_role, b, on_dial, &theirs);
	b->worker.roles.keeper = link_up(b, on_role, b, on_keeper, &theirs);
	b->worker.roles.recorder = b->recorders[RELOAD_WORKER];
	b->worker.roles.owner = b->worker.owner = own_owner(b);
}

int
reload_set_up(void **state)
{
	struct reload_bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	*state = b;
	LIST_INIT(&b->clients);
	make_worker(b);
	reload_listen(b);
	for (size_t i = 0; i < RELOAD_IMAGES; i++)
		compile(b, i);
	make_others(b);
	for (int i = 0; i < RELOAD_ROLES; i++)
		give(b, i, 0);
	for (int i = 0; i < 20; i++)
		reload_turn(b);
	return 0;
}

static void
forget_sandbox(struct reload_bed *b)
{
	uint8_t body[4];
	struct wr w = wr_of(body, sizeof(body));

	wr_u32(&w, RELOAD_SANDBOX);
	struct msg m = { .op = OP_FORGET, .body = wr_slice(&w) };
	assert_true(worker_take_forget(&b->worker, &m));
	asks_forget_sandbox(b->asks, RELOAD_SANDBOX);
	issue_forget_sandbox(b->issue, RELOAD_SANDBOX);
}

int
reload_tear_down(void **state)
{
	struct reload_bed *b = *state;
	struct client *c;

	b->step = NULL;
	b->forbids = true; /* what ends now is no failure */
	LIST_FOREACH(c, &b->clients, entry)
		c->is_due = false;
	forget_sandbox(b);
	for (int i = 0; i < 100; i++)
		reload_turn(b);
	while ((c = LIST_FIRST(&b->clients)) != NULL) {
		LIST_REMOVE(c, entry);
		if (c->fd >= 0)
			reload_client_end(c);
		free(c);
	}
	event_free(b->accepts);
	close(b->listener);
	asks_free(b->asks);
	issue_free(b->issue);
	store_free(b->store);
	resolver_free(b->resolver);
	for (int i = 0; i < RELOAD_ROLES; i++)
		recorder_free(b->recorders[i]);
	for (size_t i = 0; i < b->n_channels; i++)
		channel_free(b->channels[i]);
	ctx_server_free(b->worker.roles.server);
	ctx_client_free(b->worker.roles.client);
	owner_free(b->worker.owner);
	shelf_free(b->worker.programs);
	loop_free(b->worker.loop);
	for (size_t i = 0; i < RELOAD_IMAGES; i++)
		bed_release(&b->beds[i]);
	free(b);
	return 0;
}
