/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that come and go, in a network namespace of the test's own. */
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "dial/network.h"

static struct loop *loop;
static int control; /* a socket for ioctl(2) */
static unsigned n_changes;

static void
on_change(void *arg)
{
	(void)arg;
	n_changes++;
}

static void
turn(void)
{
	for (int i = 0; i < 10; i++)
		event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
}

static void
set_up_or_down(bool up)
{
	struct ifreq r = { .ifr_name = "lo" };

	assert_int_equal(ioctl(control, SIOCGIFFLAGS, &r), 0);
	r.ifr_flags =
	    (short)(up ? r.ifr_flags | IFF_UP : r.ifr_flags & ~IFF_UP);
	assert_int_equal(ioctl(control, SIOCSIFFLAGS, &r), 0);
}

static void
add_address(const char *link, in_addr_t address)
{
	struct ifreq r = { 0 };
	const struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(address) };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", link);
	memcpy(&r.ifr_addr, &at, sizeof(at));
	assert_int_equal(ioctl(control, SIOCSIFADDR, &r), 0);
}

static void
network_tells_of_addresses_that_come_and_go(void **state)
{
	enum err err;
	struct network *n = network_new(loop, on_change, NULL, &err);
	(void)state;

	assert_non_null(n);
	turn();
	assert_int_equal(n_changes, 0);
	set_up_or_down(true); /* 127.0.0.1 */
	turn();
	assert_int_equal(n_changes, 1);
	add_address("lo:1", 0xc0000207);
	turn();
	assert_int_equal(n_changes, 2);
	/* The same again is said by the kernel, and is none. */
	add_address("lo:1", 0xc0000207);
	turn();
	assert_int_equal(n_changes, 2);
	set_up_or_down(false);
	turn();
	assert_int_equal(n_changes, 3);
	network_free(n);
	network_free(NULL);
}

/* Each virtual link has one, and they are many. */
static void
network_does_not_count_what_is_link_local(void **state)
{
	struct {
		struct in6_addr address;
		uint32_t bits;
		int link;
	} r = { .bits = 64, .link = (int)if_nametoindex("lo") };
	int v6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	enum err err;
	(void)state;

	set_up_or_down(true);
	struct network *n = network_new(loop, on_change, NULL, &err);
	assert_non_null(n);
	if (v6 < 0)
		skip();
	n_changes = 0;
	r.address.s6_addr[0] = 0xfe;
	r.address.s6_addr[1] = 0x80;
	r.address.s6_addr[15] = 1;
	assert_int_equal(ioctl(v6, SIOCSIFADDR, &r), 0);
	turn();
	assert_int_equal(n_changes, 0);
	r.address.s6_addr[0] = 0x20;
	r.address.s6_addr[1] = 0x01;
	assert_int_equal(ioctl(v6, SIOCSIFADDR, &r), 0);
	turn();
	assert_int_equal(n_changes, 1);
	network_free(n);
	close(v6);
}

static int
set_up(void **state)
{
	enum err err;
	(void)state;

	/* Root, or an ordinary user who may make namespaces. */
	if (unshare(CLONE_NEWNET) != 0 &&
	    unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return -1;
	loop = loop_new(&err);
	control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return loop == NULL || control < 0 ? -1 : 0;
}

static int
tear_down(void **state)
{
	(void)state;
	loop_free(loop);
	close(control);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(network_tells_of_addresses_that_come_and_go),
		cmocka_unit_test(network_does_not_count_what_is_link_local),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
