/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/ssh.h"
#include "base/buf.h"
#include "wire/ssh.h"

/* A place in such words: its name and its port, where no rule knows it. */
static void
put_place(const struct flow *f, struct slice name, struct buf *out)
{
	if (name.n == 0)
		buf_putf(out, "this name, port %u", f->port);
	else
		buf_putf(out, "%.*s:%u", SLICE_ARG(name), f->port);
}

static void
put_why(const struct flow *f, const struct program *p, struct buf *out)
{
	struct slice name = policy_destination(p, &f->dst);
	uint16_t port;

	if (name.n != 0 && policy_is_git(p, &f->dst, &port)) {
		buf_putf(out,
		    "git over SSH has no branch rules; use https://%.*s",
		    SLICE_ARG(name));
		if (port != 443)
			buf_putf(out, ":%u", port);
		buf_put_str(out, "/...");
		return;
	}
	buf_put_str(out, "no rule allows SSH to ");
	put_place(f, name, out);
	if (name.n != 0 && name.p[0] != '*')
		buf_putf(out, "; it would be `allow: tcp://%.*s:%u`",
		    SLICE_ARG(name), f->port);
}

bool
ssh_refuse(struct flow *f)
{
	const struct generation *g = f->generation;
	uint8_t bytes[SSH_GOODBYE_MAX];
	struct wr w = wr_of(bytes, sizeof(bytes));
	struct buf text;

	if (f->is_tls || f->verdict.allow ||
	    ssh_look(stream_peek(f->client)) != PARSE_DONE)
		return false;
	buf_init(&text, 2 * SSH_TEXT_MAX);
	buf_put_str(&text, "duenna: ");
	if (g != NULL && !program_shows_code_alone(g->program)) {
		put_why(f, g->program, &text);
		buf_put_byte(&text, ' ');
	}
	buf_putf(&text, "[%s %s]", reason_name(f->verdict.reason), f->name);
	ssh_put_goodbye(&w, buf_slice(&text));
	buf_release(&text);
	return stream_put(f->client, wr_slice(&w));
}
