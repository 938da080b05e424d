/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/ssh.h"

#define BLOCK 8	      /* bytes: a packet is some of these */
#define PADDING_MIN 4 /* bytes */

enum {
	MSG_DISCONNECT = 1,
	HOST_NOT_ALLOWED_TO_CONNECT = 1,
};

enum parse
ssh_look(struct slice in)
{
	const struct slice wanted = SLICE("SSH-");
	size_t n = in.n < wanted.n ? in.n : wanted.n;

	if (!slice_eq(slice_first(in, n), slice_first(wanted, n)))
		return PARSE_BAD;
	return n == wanted.n ? PARSE_DONE : PARSE_MORE;
}

void
ssh_put_goodbye(struct wr *out, struct slice text)
{
	uint8_t zeros[BLOCK + PADDING_MIN] = { 0 };

	text = slice_first(text, SSH_TEXT_MAX);
	/* The message, its reason, two strings: a text, and no language. */
	size_t payload = 1 + 4 + 4 + text.n + 4;
	size_t padding = BLOCK - (4 + 1 + payload) % BLOCK;
	if (padding < PADDING_MIN)
		padding += BLOCK;
	wr_bytes(out, SLICE("SSH-2.0-duenna\r\n"));
	wr_u32(out, (uint32_t)(1 + payload + padding));
	wr_u8(out, (uint8_t)padding);
	wr_u8(out, MSG_DISCONNECT);
	wr_u32(out, HOST_NOT_ALLOWED_TO_CONNECT);
	wr_slice32(out, text);
	wr_u32(out, 0);
	wr_bytes(out, slice_of(zeros, padding));
}
