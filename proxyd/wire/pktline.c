/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/ascii.h"
#include "wire/pktline.h"

static enum parse
bad(struct parse_fail *fail, const char *detail, size_t at)
{
	*fail = (struct parse_fail){ REASON_GIT_MALFORMED, detail, at };
	return PARSE_BAD;
}

enum parse
pktline_take(struct slice in, struct pktline *line, size_t *used,
    struct parse_fail *fail)
{
	static const enum pktline_kind special[] = { PKTLINE_FLUSH,
		PKTLINE_DELIM, PKTLINE_RESPONSE_END };
	size_t n = 0;

	/* A wrong digit is wrong now; do not wait for the other three. */
	for (size_t i = 0; i < PKTLINE_HEAD; i++) {
		if (i == in.n)
			return PARSE_MORE;
		int v = ascii_hex(in.p[i]);
		if (v < 0)
			return bad(fail, "length is not hex", i);
		n = n * 16 + (size_t)v;
	}

	if (n < COUNT_OF(special)) {
		*line = (struct pktline){ .kind = special[n] };
		*used = PKTLINE_HEAD;
		return PARSE_DONE;
	}
	if (n < PKTLINE_HEAD)
		return bad(fail, "reserved length", 0);
	/* git's own reader takes three bytes more, others four. */
	if (n > PKTLINE_MAX)
		return bad(fail, "length over the limit", 0);
	if (in.n < n)
		return PARSE_MORE;

	*line = (struct pktline){
		.kind = PKTLINE_DATA,
		.data = { .p = in.p + PKTLINE_HEAD, .n = n - PKTLINE_HEAD },
	};
	*used = n;
	return PARSE_DONE;
}

void
pktline_head(size_t n, uint8_t out[PKTLINE_HEAD])
{
	static const char digits[] = "0123456789abcdef";

	assert(n <= PKTLINE_MAX - PKTLINE_HEAD);
	n += PKTLINE_HEAD;
	for (size_t i = PKTLINE_HEAD; i-- > 0; n /= 16)
		out[i] = (uint8_t)digits[n % 16];
}

struct slice
pktline_chomp(struct slice data)
{
	if (data.n != 0 && data.p[data.n - 1] == '\n')
		return slice_first(data, data.n - 1);
	return data;
}
