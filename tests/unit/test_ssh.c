/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "wire/ssh.h"

static void
ssh_is_known_by_four_bytes(void **state)
{
	static const struct {
		const char *in;
		enum parse want;
	} rows[] = {
		{ "", PARSE_MORE },
		{ "S", PARSE_MORE },
		{ "SSH", PARSE_MORE },
		{ "SSH-", PARSE_DONE },
		{ "SSH-2.0-x\r\n", PARSE_DONE },
		{ "SSX", PARSE_BAD },
		{ "ssh-", PARSE_BAD },
		{ "GET ", PARSE_BAD },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(ssh_look(slice_of_str(rows[i].in)),
		    rows[i].want);
}

/* RFC 4253 6: whole blocks of eight, four bytes of padding at least. */
static void
ssh_goodbye_is_a_whole_packet_at_every_length(void **state)
{
	const char id[] = "SSH-2.0-duenna\r\n";
	uint8_t out[SSH_GOODBYE_MAX];
	char text[SSH_TEXT_MAX + 9];

	(void)state;
	memset(text, 'x', sizeof(text));
	for (size_t n = 0; n <= sizeof(text); n++) {
		struct wr w = wr_of(out, sizeof(out));
		size_t shown = n < SSH_TEXT_MAX ? n : SSH_TEXT_MAX;
		ssh_put_goodbye(&w, slice_of(text, n));
		assert_false(w.bad);
		const uint8_t *p = out + sizeof(id) - 1;
		size_t size = w.n - (sizeof(id) - 1);
		assert_memory_equal(out, id, sizeof(id) - 1);
		assert_int_equal(size % 8, 0);
		assert_int_equal((size_t)p[2] << 8 | p[3], size - 4);
		assert_true(p[4] >= 4);
		const uint8_t head[] = { 1, 0, 0, 0, 1, 0, 0,
			(uint8_t)(shown >> 8), (uint8_t)shown };
		assert_memory_equal(p + 5, head, sizeof(head));
		assert_int_equal(5 + sizeof(head) + shown + 4 + p[4], size);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ssh_is_known_by_four_bytes),
		cmocka_unit_test(ssh_goodbye_is_a_whole_packet_at_every_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
