/* SPDX-License-Identifier: Apache-2.0 */
#include "git/push_caps.h"
#include "git/put.h"
#include "wire/pktline.h"

/* The lines before the commands: their ids were checked, and are in place. */
static void
put_shallow(const struct push *p, struct buf *out)
{
	struct slice rest = buf_slice(&p->list);
	struct parse_fail fail;
	struct pktline line;
	size_t n;

	while (pktline_take(rest, &line, &n, &fail) == PARSE_DONE &&
	    slice_has_prefix(line.data, SLICE("shallow "))) {
		put_line(out, pktline_chomp(line.data));
		rest = slice_from(rest, n);
	}
}

static void
put_command(const struct push *p, size_t i, struct buf *out)
{
	struct git_command c = push_command(p, i);
	size_t at = put_begin(out);

	buf_put(out, c.old_id);
	buf_put_byte(out, ' ');
	buf_put(out, c.new_id);
	buf_put_byte(out, ' ');
	buf_put(out, c.ref);
	if (i == 0) {
		buf_put_byte(out, 0);
		push_caps_write(p, out);
	}
	put_end(out, at);
}

bool
push_write(const struct push *p, struct buf *out)
{
	if (p->state != PUSH_WHOLE)
		return false;
	if (p->has_shallow)
		put_shallow(p, out);
	for (size_t i = 0; i < p->n_commands; i++)
		put_command(p, i, out);
	put_flush(out);
	if ((p->caps & PUSH_OPTIONS) != 0) {
		for (size_t i = 0; i < p->n_options; i++)
			put_line(out, push_option(p, i));
		put_flush(out);
	}
	return !out->failed;
}
