/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a sandbox is read as hostile input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serve/keep.h"

static uint8_t room[4096];
static struct control_attach asked;
static struct kept kept;

static void
begin(struct wr *w, const char *mark)
{
	*w = wr_of(room, sizeof(room));
	wr_bytes(w, slice_of_str(mark));
	wr_slice8(w, SLICE("boot"));
	wr_u8(w, 1);
	wr_u64(w, 7);
	wr_u16(w, 1001);
	wr_u16(w, 1002);
	wr_slice16(w, SLICE("places"));
}

static void
put_request(struct wr *w, bool has_secret)
{
	static struct control_attach a;

	a = (struct control_attach){ .name = SLICE("box"),
		.policy = SLICE("web"),
		.netns = SLICE("/run/netns/box"),
		.n_secrets = has_secret };
	a.secrets[0] = (struct control_pair){ SLICE("api"), SLICE("hidden") };
	control_attach_write(w, &a);
	assert_false(w->bad);
}

static void
what_was_written_is_read(void **state UNUSED)
{
	struct wr w;

	begin(&w, "duenna sandbox 1\n");
	put_request(&w, false);
	assert_true(keep_parse(wr_slice(&w), &kept, &asked));
	assert_true(slice_eq_str(asked.name, "box"));
	assert_true(slice_eq_str(kept.boot, "boot"));
	assert_true(slice_eq_str(kept.places, "places"));
	assert_true(kept.is_configured);
	assert_int_equal(kept.net, 7);
	assert_int_equal(kept.tcp_port, 1001);
	assert_int_equal(kept.dns_port, 1002);
}

static void
what_is_cut_or_longer_is_not(void **state UNUSED)
{
	struct wr w;

	begin(&w, "duenna sandbox 1\n");
	put_request(&w, false);
	for (size_t n = 0; n < w.n; n++)
		assert_false(keep_parse(slice_of(room, n), &kept, &asked));
	wr_u8(&w, 0);
	assert_false(keep_parse(wr_slice(&w), &kept, &asked));
}

static void
another_form_is_not(void **state UNUSED)
{
	struct wr w;

	begin(&w, "duenna sandbox 2\n");
	put_request(&w, false);
	assert_false(keep_parse(wr_slice(&w), &kept, &asked));
}

static void
a_secret_in_it_is_refused(void **state UNUSED)
{
	struct wr w;

	begin(&w, "duenna sandbox 1\n");
	put_request(&w, true);
	assert_false(keep_parse(wr_slice(&w), &kept, &asked));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(what_is_cut_or_longer_is_not),
		cmocka_unit_test(another_form_is_not),
		cmocka_unit_test(a_secret_in_it_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
