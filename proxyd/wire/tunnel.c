/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/tunnel.h"
#include "base/limits.h"

#define FIELDS 64 /* of the answer */

static void
put_authority(struct wr *w, const struct host *host, uint16_t port)
{
	uint8_t text[HOST_PUT_MAX], digits[5];
	size_t n = sizeof(digits);

	wr_bytes(w, slice_of(text, host_put(host, text)));
	wr_u8(w, ':');
	do
		digits[--n] = (uint8_t)('0' + port % 10);
	while ((port /= 10) != 0);
	wr_bytes(w, slice_of(digits + n, sizeof(digits) - n));
}

void
tunnel_write(struct wr *w, const struct host *host, uint16_t port)
{
	wr_bytes(w, SLICE("CONNECT"));
	wr_u8(w, ' ');
	put_authority(w, host, port);
	wr_bytes(w, SLICE(" HTTP/1.1\r\nHost: "));
	put_authority(w, host, port);
	wr_bytes(w, SLICE("\r\n\r\n"));
}

enum parse
tunnel_take(struct slice in, struct http_response *res, size_t *used,
    struct parse_fail *fail)
{
	static const struct h1_limits limits = {
		.head = LIMIT_PROXY_HEAD_SIZE,
		.fields = FIELDS,
	};

	/* A length in it means nothing (RFC 9110 9.3.6), but one that can be
	 * read in two ways is refused all the same. */
	return h1_response_take(in, &limits, SLICE("CONNECT"), res, used, fail);
}
