/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft/talk against a kernel that is played: a batch is loaded only if each of
 * its messages was answered, and answered well (LC-10).  The functions of
 * libmnl that reach the kernel are defined here, before the library's.
 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <errno.h>
#include <libmnl/libmnl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nft/talk.h"

#define STEPS_MAX 8

/* One datagram of the kernel's: so many answers, then perhaps an error. */
struct step {
	uint32_t n_good;
	int error; /* of the message behind them; 0: none */
	int fails; /* errno of the read itself */
	bool cut;  /* the last answer is not whole */
};

static struct {
	const struct step *steps;
	size_t n_steps, at;
	uint32_t seq; /* of the next answer */
	int send_fails;
	int fd[2];
	bool open;
} kernel;

struct mnl_socket *
mnl_socket_open2(int bus, int flags)
{
	(void)bus;
	(void)flags;
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, kernel.fd), 0);
	kernel.open = true;
	return (struct mnl_socket *)&kernel;
}

int
mnl_socket_bind(struct mnl_socket *nl, unsigned int groups, pid_t pid)
{
	(void)nl;
	(void)groups;
	(void)pid;
	return 0;
}

int
mnl_socket_get_fd(const struct mnl_socket *nl)
{
	(void)nl;
	return kernel.fd[0];
}

int
mnl_socket_close(struct mnl_socket *nl)
{
	(void)nl;
	close(kernel.fd[0]);
	close(kernel.fd[1]);
	kernel.open = false;
	errno = 0; /* the error that counts is the one before */
	return 0;
}

ssize_t
mnl_socket_sendto(const struct mnl_socket *nl, const void *req, size_t n)
{
	(void)nl;
	(void)req;
	errno = kernel.send_fails;
	return kernel.send_fails == 0 ? (ssize_t)n : -1;
}

static size_t
put_answer(char *at, int error, uint32_t seq)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(at);
	struct nlmsgerr *e = mnl_nlmsg_put_extra_header(h, sizeof(*e));

	h->nlmsg_type = NLMSG_ERROR;
	h->nlmsg_seq = seq;
	e->error = -error;
	return MNL_ALIGN(h->nlmsg_len);
}

ssize_t
mnl_socket_recvfrom(const struct mnl_socket *nl, void *buf, size_t size)
{
	size_t n = 0;

	(void)nl;
	if (kernel.at == kernel.n_steps) {
		errno = EAGAIN; /* the limit of time */
		return -1;
	}
	const struct step *s = &kernel.steps[kernel.at++];
	errno = s->fails;
	if (s->fails != 0)
		return -1;
	for (uint32_t i = 0; i < s->n_good; i++)
		n += put_answer((char *)buf + n, 0, kernel.seq++);
	if (s->error != 0)
		n += put_answer((char *)buf + n, s->error, kernel.seq++);
	assert_true(n <= size);
	return (ssize_t)(s->cut ? n - 8 : n);
}

/* Five messages, of which begin and end have no answer of their own. */
static int
send_batch(const struct step *steps, size_t n, int send_fails, uint32_t *at)
{
	static const struct batch batch = { .n = 100, .seq = 5 };

	kernel.steps = steps;
	kernel.n_steps = n;
	kernel.at = 0;
	kernel.seq = 1;
	kernel.send_fails = send_fails;
	int rc = talk_batch(&batch, at);
	assert_false(kernel.open);
	return rc;
}

static void
talk_loads_what_was_answered_well(void **state)
{
	static const struct step one[] = { { .n_good = 3 } };
	static const struct step each[] = { { .n_good = 1 }, { .n_good = 1 },
		{ .n_good = 1 } };
	uint32_t at;

	(void)state;
	assert_int_equal(send_batch(one, 1, 0, &at), 0);
	assert_int_equal(send_batch(each, 3, 0, &at), 0);
}

static void
talk_refuses_each_fault_and_says_which(void **state)
{
	static const struct {
		const char *name;
		struct step steps[STEPS_MAX];
		size_t n;
		int send_fails, error;
		uint32_t at;
	} faults[] = {
		{ "the first", { { .error = EPERM } }, 1, 0, EPERM, 1 },
		{ "in the middle", { { 1, .error = EEXIST }, { 1 } }, 2, 0,
		    EEXIST, 2 },
		{ "the last", { { 2, .error = ENOENT } }, 1, 0, ENOENT, 3 },
		{ "later", { { 2 }, { .error = ENOMEM } }, 2, 0, ENOMEM, 3 },
		{ "one is missing", { { 2 } }, 1, 0, EAGAIN, 0 },
		{ "none comes", { { 0 } }, 0, 0, EAGAIN, 0 },
		{ "one is not whole", { { 3, .cut = true } }, 1, 0, EAGAIN, 0 },
		{ "some were lost", { { 2 }, { .fails = ENOBUFS }, { 1 } }, 3,
		    0, ENOBUFS, 0 },
		{ "a signal", { { .fails = EINTR }, { 3 } }, 2, 0, EINTR, 0 },
		{ "not sent", { { 3 } }, 1, EINTR, EINTR, 0 },
		{ "too large", { { 3 } }, 1, EMSGSIZE, EMSGSIZE, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		uint32_t at = 99;

		print_message("# %s\n", faults[i].name);
		assert_int_equal(send_batch(faults[i].steps, faults[i].n,
				     faults[i].send_fails, &at),
		    -1);
		assert_int_equal(errno, faults[i].error);
		assert_int_equal(at, faults[i].at);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(talk_loads_what_was_answered_well),
		cmocka_unit_test(talk_refuses_each_fault_and_says_which),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
