/* SPDX-License-Identifier: Apache-2.0 */
#include "git/put.h"
#include "wire/pktline.h"

size_t
put_begin(struct buf *out)
{
	size_t at = out->n;

	buf_put_str(out, "0000");
	return at;
}

void
put_end(struct buf *out, size_t at)
{
	if (out->failed)
		return;
	if (out->n - at > PKTLINE_MAX) {
		out->failed = true;
		return;
	}
	pktline_head(out->n - at - PKTLINE_HEAD, out->p + at);
}

void
put_line(struct buf *out, struct slice data)
{
	size_t at = put_begin(out);

	buf_put(out, data);
	put_end(out, at);
}

void
put_flush(struct buf *out)
{
	buf_put_str(out, "0000");
}

void
put_clean(struct buf *out, struct slice text, size_t max, bool blank)
{
	for (size_t i = 0; i < text.n && i < max; i++) {
		uint8_t c = text.p[i];
		bool plain = c > ' ' && c < 0x7f;
		buf_put_byte(out, plain || (c == ' ' && blank) ? c : '?');
	}
}
