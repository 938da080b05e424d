/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a sandbox's side: sums that the kernel takes for right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ns/frame.h"

#define ETHERNET 14

/* RFC 1071, written otherwise: over what is right it is 0xffff. */
static uint16_t
sum(const uint8_t *p, size_t n, uint64_t total)
{
	for (size_t i = 0; i < n; i++)
		total += (uint64_t)p[i] << (i % 2 == 0 ? 8 : 0);
	while (total >> 16 != 0)
		total = (total >> 16) + (total & 0xffff);
	return (uint16_t)total;
}

static struct frame
make(const char *from, const char *to)
{
	struct frame f = { .from_mac = { 2, 0, 0, 0, 0, 7 },
		.to_mac = { 2, 0, 0, 0, 0, 1 },
		.from_port = 49151,
		.to_port = 9 };

	assert_true(ip_parse(slice_of_str(from), &f.from));
	assert_true(ip_parse(slice_of_str(to), &f.to));
	return f;
}

/* A sum of odd length needs its last byte as a high one. */
static void
frame_udp_over_ipv4_has_right_sums(void **state)
{
	struct frame f = make("10.0.0.2", "192.0.2.1");
	uint8_t out[FRAME_SIZE];
	size_t n = frame_udp(&f, out);

	(void)state;
	assert_int_equal(n, ETHERNET + 20 + 9);
	assert_memory_equal(out, f.to_mac, 6);
	assert_memory_equal(out + 6, f.from_mac, 6);
	assert_int_equal(out[12] << 8 | out[13], 0x0800);
	assert_int_equal(out[ETHERNET + 2] << 8 | out[ETHERNET + 3], 29);
	assert_int_equal(sum(out + ETHERNET, 20, 0), 0xffff);
	assert_int_equal(sum(out + ETHERNET + 20, 9,
			     sum(out + ETHERNET + 12, 8, 17 + 9)),
	    0xffff);
	assert_int_equal(out[ETHERNET + 20 + 3], 9);
}

static void
frame_tcp_over_ipv6_has_right_sums(void **state)
{
	struct frame f = make("fd00::2", "2001:db8::1");
	uint8_t out[FRAME_SIZE];
	size_t n = frame_tcp(&f, FRAME_SYN, 0x01020304, out);

	(void)state;
	assert_int_equal(n, ETHERNET + 40 + 20);
	assert_int_equal(out[12] << 8 | out[13], 0x86dd);
	assert_int_equal(out[ETHERNET] >> 4, 6);
	assert_int_equal(out[ETHERNET + 5], 20);
	assert_int_equal(out[ETHERNET + 6], 6);
	assert_int_equal(sum(out + ETHERNET + 40, 20,
			     sum(out + ETHERNET + 8, 32, 6 + 20)),
	    0xffff);
	assert_int_equal(out[ETHERNET + 40 + 13], FRAME_SYN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_udp_over_ipv4_has_right_sums),
		cmocka_unit_test(frame_tcp_over_ipv6_has_right_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
