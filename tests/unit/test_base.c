/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/asan.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/ip.h"
#include "base/rd.h"
#include "base/reason.h"
#include "base/secret.h"
#include "base/siphash.h"
#include "base/utf8.h"
#include "base/wr.h"

/* RFC 4648 section 10. */
static void
base64_writes_and_reads_the_vectors_of_the_rfc(void **state)
{
	static const char *const pairs[][2] = { { "", "" }, { "f", "Zg==" },
		{ "fo", "Zm8=" }, { "foo", "Zm9v" }, { "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" } };

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char text[32];
		uint8_t back[32];
		size_t n = base64_encode(slice_of_str(pairs[i][0]), text);
		assert_true(slice_eq_str(slice_of(text, n), pairs[i][1]));
		assert_true(base64_decode(slice_of(text, n), back, &n));
		assert_true(slice_eq_str(slice_of(back, n), pairs[i][0]));
	}
}

static void
base64_refuses_what_is_not_canonical(void **state)
{
	static const char *const bad[] = { "Z", "Zg",
		"Zg=", "Zh==", "Zm9=", "Z===", "====", "Zm9v\n", "Zm 9",
		"Zg==Zg==", "Zm9-" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint8_t out[32];
		size_t n;
		print_message("# %s\n", bad[i]);
		assert_false(base64_decode(slice_of_str(bad[i]), out, &n));
	}
}

/* The first and the last vector of the reference implementation. */
static void
siphash_gives_the_reference_vectors(void **state)
{
	uint8_t key[SIPHASH_KEY_SIZE], in[63];

	(void)state;
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)i;
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)i;
	assert_true(siphash(key, slice_of(in, 0)) == 0x726fdb47dd0e0e31ULL);
	assert_true(siphash(key, slice_of(in, 15)) == 0xa129ca6149be45e5ULL);
	assert_true(siphash(key, slice_of(in, 63)) == 0x958a324ceb064572ULL);
}

static void
ip_reads_what_inet_pton_reads_and_nothing_looser(void **state)
{
	static const char *const good[] = { "127.0.0.1", "0.9.10.99",
		"100.101.199.255", "::1", "2001:db8::5", "::ffff:10.0.0.1" };
	static const char *const bad[] = { "127.1", "2130706433", "0x7f.1",
		"0177.0.0.1", "1.2.3.4 ", "::1%lo", "[::1]", "", "1.2.3.4.5" };
	struct ip ip;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char text[IP_TEXT_SIZE];
		assert_true(ip_parse(slice_of_str(good[i]), &ip));
		ip_text(&ip, text);
		assert_string_equal(text, good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(ip_parse(slice_of_str(bad[i]), &ip));
	assert_false(ip_parse(SLICE("1.2.3.4\0"), &ip));
}

static void
ip_goes_to_the_kernel_and_back(void **state)
{
	static const char *const texts[] = { "198.18.0.1", "fd64::1" };
	struct sockaddr_storage sa;
	struct ip ip, back, v4;
	uint16_t port = 0;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_true(ip_parse(slice_of_str(texts[i]), &ip));
		assert_true(ip_sockaddr(&ip, 443, &sa) != 0);
		assert_true(
		    ip_from_sockaddr((struct sockaddr *)&sa, &back, &port));
		assert_true(ip_eq(&ip, &back));
		assert_int_equal(port, 443);
	}
	assert_true(ip_parse(SLICE("::ffff:1.2.3.4"), &ip));
	assert_true(ip_is_mapped(&ip, &v4));
	struct ip want = ip_v4(1, 2, 3, 4);
	assert_true(ip_eq(&v4, &want));
	assert_false(ip_is_mapped(&want, &v4));
}

static void
rd_and_wr_are_each_others_half_and_errors_stick(void **state)
{
	uint8_t bytes[32];
	struct wr w = wr_of(bytes, sizeof(bytes));

	(void)state;
	wr_u8(&w, 1);
	wr_u16(&w, 0x203);
	wr_u32(&w, 0x4050607);
	wr_u64(&w, 8);
	wr_slice8(&w, SLICE("abc"));
	struct rd r = rd_of(wr_slice(&w));
	assert_int_equal(rd_u8(&r), 1);
	assert_int_equal(rd_u16(&r), 0x203);
	assert_int_equal(rd_u32(&r), 0x4050607);
	assert_int_equal(rd_u64(&r), 8);
	assert_true(slice_eq(rd_slice8(&r), SLICE("abc")));
	assert_true(rd_is_done(&r));
	assert_int_equal(rd_u8(&r), 0);
	assert_true(r.bad);
	assert_false(rd_is_done(&r));
	wr_slice16(&w, slice_of(bytes, 30));
	assert_true(w.bad);
	assert_int_equal(wr_slice(&w).n, 0);
}

static void
rd_refuses_a_length_past_the_end(void **state)
{
	struct rd r = rd_of(SLICE("\xff\xff\xff\xff"
				  "x"));

	(void)state;
	assert_int_equal(rd_slice32(&r).n, 0);
	assert_true(r.bad);
}

static void
reason_names_are_unique_and_found_again(void **state)
{
	(void)state;
	for (int i = 0; i < REASON_COUNT; i++) {
		enum reason r = (enum reason)i;
		assert_int_equal(reason_find(slice_of_str(reason_name(r))), r);
		assert_true(strlen(reason_meaning(r)) > 5);
		assert_true(reason_status(r) == 0 ||
		    (reason_status(r) >= 400 && reason_status(r) < 600));
	}
	assert_int_equal(reason_find(SLICE("no.such")), REASON_COUNT);
}

static void
clock_text_is_rfc_3339(void **state)
{
	char text[CLOCK_TEXT_SIZE];

	(void)state;
	clock_text(1796029687123456ULL, text);
	assert_string_equal(text, "2026-11-30T09:08:07.123456Z");
	clock_set(7, 8);
	assert_int_equal(clock_ms(), 7);
	assert_int_equal(clock_wall_us(), 8);
	clock_set(0, 0);
	assert_true(clock_wall_us() > 8);
}

static void
err_has_a_text_for_each_member(void **state)
{
	(void)state;
	for (int i = 0; i < ERR_COUNT; i++)
		assert_non_null(err_text((enum err)i));
	assert_int_equal(err_from_errno(ENOSPC), ERR_FULL);
	assert_int_equal(err_from_errno(EPERM), ERR_DENIED);
}

static void
secret_holds_a_copy_and_has_a_ceiling(void **state)
{
	static uint8_t big[SECRET_MAX + 1];
	struct secret s;
	enum err err = ERR_NONE;

	(void)state;
	assert_int_equal(secret_init(&s, SLICE("canary"), &err), 0);
	assert_true(slice_eq(secret_slice(&s), SLICE("canary")));
	secret_release(&s);
	assert_null(s.p);
	/* The page of one that is gone has nothing of it. */
	assert_int_equal(secret_init(&s, SLICE("x"), &err), 0);
	asan_allow(s.p, s.size);
	for (size_t i = 1; i < s.size; i++)
		assert_int_equal(s.p[i], 0);
	secret_release(&s);
	assert_int_equal(s.n, 0);
	assert_int_equal(secret_init(&s, slice_of(big, sizeof(big)), &err), -1);
	assert_int_equal(err, ERR_MEMORY);
}

/* A day after another, through leap years and centuries. */
static void
clock_read_brings_back_what_clock_text_wrote(void **state)
{
	static const char *const bad[] = { "", "2026-11-30T09:08:07.123456",
		"2026-02-29T09:08:07.123456Z", "2026-11-31T09:08:07.123456Z",
		"2026-13-01T09:08:07.123456Z", "2026-00-01T09:08:07.123456Z",
		"1969-12-31T23:59:59.999999Z", "2026-11-30T24:08:07.123456Z",
		"2026-11-30T09:60:07.123456Z", "2026-11-30T09:08:60.123456Z",
		"2026-11-30 09:08:07.123456Z", "2026-11-30T09:08:07,123456Z",
		"+026-11-30T09:08:07.123456Z" };
	uint64_t back = 0;

	(void)state;
	for (uint64_t day = 0; day < 200000; day++) {
		uint64_t us = day * 86400000000ULL + day % 86400 * 1000001;
		char text[CLOCK_TEXT_SIZE], want[32];
		time_t s = (time_t)(us / 1000000);
		struct tm tm;
		clock_text(us, text);
		assert_non_null(gmtime_r(&s, &tm));
		strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S.", &tm);
		assert_memory_equal(text, want, 20);
		assert_true(clock_read(slice_of_str(text), &back));
		assert_true(back == us);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_false(clock_read(slice_of_str(bad[i]), &back));
}

static void
utf8_tames_what_would_steer_a_terminal(void **state UNUSED)
{
	static const struct {
		const char *text, *tame;
	} rows[] = {
		{ "plain \xc3\xbc \xf0\x9f\x98\x80", NULL },
		{ "a\x1b[31m\n\x7f", "a?[31m?\?" },
		{ "\xc2\x9b", "?\?" },
		{ "\xe2\x80\xae|\xe2\x81\xa6|\xe2\x80\xa8", "??\?|??\?|???" },
		{ "\xf3\xa0\x81\x81", "????" },
		{ "\xc3|\x80|\xe2\x80", "?|?|?\?" },
		{ "\xed\xa0\x80|\xc0\x80", "??\?|??" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[64];
		snprintf(text, sizeof(text), "%s", rows[i].text);
		utf8_tame((uint8_t *)text, strlen(text), 0);
		assert_string_equal(text,
		    rows[i].tame == NULL ? rows[i].text : rows[i].tame);
	}
	uint8_t kept[] = { '\n', '\r', '\n' };
	utf8_tame(kept, sizeof(kept), '\n');
	assert_memory_equal(kept, "\n?\n", 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    base64_writes_and_reads_the_vectors_of_the_rfc),
		cmocka_unit_test(base64_refuses_what_is_not_canonical),
		cmocka_unit_test(siphash_gives_the_reference_vectors),
		cmocka_unit_test(
		    ip_reads_what_inet_pton_reads_and_nothing_looser),
		cmocka_unit_test(ip_goes_to_the_kernel_and_back),
		cmocka_unit_test(
		    rd_and_wr_are_each_others_half_and_errors_stick),
		cmocka_unit_test(rd_refuses_a_length_past_the_end),
		cmocka_unit_test(reason_names_are_unique_and_found_again),
		cmocka_unit_test(clock_text_is_rfc_3339),
		cmocka_unit_test(clock_read_brings_back_what_clock_text_wrote),
		cmocka_unit_test(utf8_tames_what_would_steer_a_terminal),
		cmocka_unit_test(err_has_a_text_for_each_member),
		cmocka_unit_test(secret_holds_a_copy_and_has_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
