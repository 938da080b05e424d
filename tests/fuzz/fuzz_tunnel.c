/* SPDX-License-Identifier: Apache-2.0 */
/* What a proxy may answer to CONNECT, whole and cut anywhere. */
#include "base/limits.h"
#include "fuzz.h"
#include "wire/tunnel.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_response whole, piece;
	struct slice in = { data, size };
	struct parse_fail fail;
	size_t used = 0, again = 0;

	memset(&whole, 0, sizeof(whole));
	enum parse answer = tunnel_take(in, &whole, &used, &fail);
	if (answer == PARSE_MORE)
		CHECK(size <= LIMIT_PROXY_HEAD_SIZE);
	if (answer != PARSE_DONE)
		return 0;
	CHECK(used >= 4 && used <= size && used <= LIMIT_PROXY_HEAD_SIZE);
	CHECK(memcmp(data + used - 4, "\r\n\r\n", 4) == 0);
	CHECK(whole.status >= 100 && whole.status <= 999);
	/* All that is MORE is of the head: none of it is taken too early. */
	memset(&piece, 0, sizeof(piece));
	for (size_t n = 0; n < used; n += 1 + n / 8)
		CHECK(tunnel_take(slice_first(in, n), &piece, &again, &fail) ==
		    PARSE_MORE);
	CHECK(tunnel_take(in, &piece, &again, &fail) == PARSE_DONE);
	CHECK(again == used && piece.status == whole.status);
	return 0;
}
