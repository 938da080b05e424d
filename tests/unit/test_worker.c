/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker has of one sandbox: how it comes, and how it goes. */
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/wr.h"
#include "policy/shelf.h"
#include "policy_bed.h"
#include "priv/ops.h"
#include "proxyd/worker.h"

#define POLICY         \
	"version: 1\n" \
	"policies:\n"  \
	"  p:\n"       \
	"    rules:\n" \
	"      - allow: https://ok.test/**\n"

#define IDLE 50
#define IDLE_SIZE 8192 /* bytes of it in a worker */

struct fixture {
	struct worker worker;
	struct bed bed;
	int client; /* -1: none */
};

/* Everything that can happen now, what is dead reaped. */
static void
turn(struct fixture *f)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(loop_base(f->worker.loop), EVLOOP_NONBLOCK);
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct worker *w = &f->worker;
	enum err err;

	bed_load(&f->bed, NULL, POLICY);
	assert_non_null(f->bed.program);
	f->client = -1;
	LIST_INIT(&w->sandboxes);
	ids_init(&w->by_id);
	w->programs = shelf_new(&err);
	assert_non_null(w->programs);
	w->loop = loop_new(&err);
	assert_non_null(w->loop);
	w->roles.loop = w->loop;
	w->roles.server = ctx_server_new(&err);
	assert_non_null(w->roles.server);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	if (f->client >= 0)
		close(f->client);
	assert_true(LIST_EMPTY(&f->worker.sandboxes));
	turn(f);
	shelf_sweep(f->worker.programs);
	assert_int_equal(shelf_n(f->worker.programs), 0);
	shelf_free(f->worker.programs);
	loop_free(f->worker.loop);
	ctx_server_free(f->worker.roles.server);
	ctx_client_free(f->worker.roles.client);
	owner_free(f->worker.owner);
	free(f->worker.roots);
	bed_release(&f->bed);
	free(f);
	return 0;
}

static int
sealed(struct slice image)
{
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(write(fd, image.p, image.n), image.n);
	assert_int_equal(fcntl(fd, F_ADD_SEALS,
			     F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
				 F_SEAL_WRITE),
	    0);
	return fd;
}

static void
give_program(struct fixture *f, uint32_t id, uint32_t generation)
{
	uint8_t body[64];
	struct wr w = wr_of(body, sizeof(body));
	int fd = sealed(buf_slice(&f->bed.image));

	wr_u32(&w, id);
	wr_u32(&w, generation);
	wr_slice8(&w, SLICE("sha256:00"));
	struct msg m = { .op = OP_PROGRAM,
		.body = wr_slice(&w),
		.fds = { fd },
		.n_fds = 1 };
	assert_true(worker_take_program(&f->worker, &m));
	close(fd);
}

static int
tcp_listener(struct sockaddr_in *at)
{
	socklen_t n = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(fd, (struct sockaddr *)at, n), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &n), 0);
	return fd;
}

/* Its listeners and its answerer; where it listens for connections. */
static void
give_sandbox(struct fixture *f, uint32_t id, struct sockaddr_in *at)
{
	struct sockaddr_in other;
	uint8_t body[64];
	struct wr w = wr_of(body, sizeof(body));

	wr_u32(&w, id);
	wr_slice8(&w, SLICE("box"));
	wr_u16(&w, 0);
	int fds[] = { tcp_listener(at), tcp_listener(&other),
		socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
		socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
		tcp_listener(&other), tcp_listener(&other) };
	struct msg m = { .op = OP_SANDBOX,
		.body = wr_slice(&w),
		.n_fds = COUNT_OF(fds) };
	memcpy(m.fds, fds, sizeof(fds));
	assert_true(worker_take_sandbox(&f->worker, &m));
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		assert_int_equal(m.fds[i], -1); /* all of them taken */
}

static bool
forget(struct fixture *f, uint32_t id)
{
	uint8_t body[4];
	struct wr w = wr_of(body, sizeof(body));

	wr_u32(&w, id);
	struct msg m = { .op = OP_FORGET, .body = wr_slice(&w) };
	return worker_take_forget(&f->worker, &m);
}

/* Where there is no IPv6 three sockets come, of IPv4. */
static void
worker_takes_a_sandbox_without_ipv6(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_in at, other;
	uint8_t body[64];
	struct wr w = wr_of(body, sizeof(body));

	give_program(f, 7, 1);
	wr_u32(&w, 7);
	wr_slice8(&w, SLICE("box"));
	wr_u16(&w, 0);
	struct msg m = { .op = OP_SANDBOX,
		.body = wr_slice(&w),
		.n_fds = 3,
		.fds = { tcp_listener(&at),
		    socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0),
		    tcp_listener(&other) } };
	assert_true(worker_take_sandbox(&f->worker, &m));
	for (size_t i = 0; i < m.n_fds; i++)
		assert_int_equal(m.fds[i], -1); /* all of them taken */
	struct worker_sandbox *s = ids_find(&f->worker.by_id, 7);
	assert_non_null(s->listeners[0]);
	assert_null(s->listeners[1]);
	assert_non_null(s->dns);
	f->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(f->client, (struct sockaddr *)&at, sizeof(at)),
	    0);
	turn(f);
	assert_int_equal(s->flows->n_flows, 1);
	assert_true(forget(f, 7));
	turn(f);
}

static void
worker_forgets_a_sandbox_with_all_that_it_had(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_in at;
	char c;

	give_program(f, 7, 1);
	give_sandbox(f, 7, &at);
	f->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(f->client, (struct sockaddr *)&at, sizeof(at)),
	    0);
	turn(f);
	struct worker_sandbox *s = ids_find(&f->worker.by_id, 7);
	assert_int_equal(s->flows->n_flows, 1);

	assert_true(forget(f, 7));
	assert_null(ids_find(&f->worker.by_id, 7));
	assert_true(LIST_EMPTY(&f->worker.sandboxes));
	turn(f);
	/* The connection ended, and nobody listens there any more. */
	assert_true(read(f->client, &c, 1) <= 0);
	close(f->client);
	f->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(f->client, (struct sockaddr *)&at, sizeof(at)),
	    -1);
	/* Once more is no fault, and its number may be given again. */
	assert_true(forget(f, 7));
	give_program(f, 7, 1);
	give_sandbox(f, 7, &at);
	assert_true(forget(f, 7));
	turn(f);
}

static void
worker_keeps_a_thousand_sandboxes_apart(void **state)
{
	struct fixture *f = *state;
	struct worker_sandbox *s;

	for (uint32_t i = 1; i <= 1000; i++)
		give_program(f, i, i);
	for (uint32_t i = 2; i <= 1000; i += 2)
		assert_true(forget(f, i));
	turn(f);
	for (uint32_t i = 1; i <= 1000; i++) {
		s = ids_find(&f->worker.by_id, i);
		assert_int_equal(s != NULL, i % 2 == 1);
		if (s != NULL)
			assert_int_equal(s->flows->generation->number, i);
		assert_true(forget(f, i));
	}
}

/* An idle one costs little, listeners, answerer, program and all. */
static void
worker_needs_little_for_an_idle_sandbox(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_in at;
	size_t before;

	give_program(f, 1, 1);
	give_sandbox(f, 1, &at);
	before = mallinfo2().uordblks;
	for (uint32_t i = 2; i <= 1 + IDLE; i++) {
		give_program(f, i, 1);
		give_sandbox(f, i, &at);
	}
	/* All of them map it once. */
	assert_int_equal(shelf_n(f->worker.programs), 1);
	size_t each = (mallinfo2().uordblks - before) / IDLE;
	print_message("# %zu bytes each\n", each);
	assert_true(each < IDLE_SIZE);
	for (uint32_t i = 1; i <= 1 + IDLE; i++)
		assert_true(forget(f, i));
}

static bool
give_owner(struct fixture *f, struct slice image)
{
	int fd = sealed(image);
	struct msg m = { .op = OP_OWNER, .fds = { fd }, .n_fds = 1 };
	bool taken = worker_take_owner(&f->worker, &m);

	close(fd);
	return taken;
}

/* Another configuration takes its place; one that is no good changes nothing. */
static void
worker_takes_another_configuration(void **state)
{
	struct fixture *f = *state;
	struct bed other;

	bed_load(&other, "version: 1\n", POLICY);
	assert_true(give_owner(f, buf_slice(&other.owner_image)));
	const struct ctx_client *client = f->worker.roles.client;
	assert_non_null(client);
	assert_false(give_owner(f, SLICE("no image")));
	assert_ptr_equal(f->worker.roles.client, client);
	assert_true(give_owner(f, buf_slice(&other.owner_image)));
	assert_non_null(f->worker.roles.client);
	assert_ptr_equal(f->worker.roles.owner, f->worker.owner);
	bed_release(&other);
}

static void
worker_takes_no_other_body(void **state)
{
	struct fixture *f = *state;
	struct msg m = { .op = OP_FORGET, .body = SLICE("abc") };

	assert_false(worker_take_forget(&f->worker, &m));
	m.body = SLICE("abcde");
	assert_false(worker_take_forget(&f->worker, &m));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(worker_takes_a_sandbox_without_ipv6),
		TEST(worker_forgets_a_sandbox_with_all_that_it_had),
		TEST(worker_keeps_a_thousand_sandboxes_apart),
		TEST(worker_needs_little_for_an_idle_sandbox),
		TEST(worker_takes_another_configuration),
		TEST(worker_takes_no_other_body),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
