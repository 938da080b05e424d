/* SPDX-License-Identifier: Apache-2.0 */
/* What an owner has a connection do, beside its beginning and its end. */
#include "http/h2_alive.h"
#include "http/h2_part.h"

void
h2_narrow(struct h2_conn *c)
{
	c->windows = LIMIT_H2_NARROW_WINDOWS;
}

void
h2_offer_connect(struct h2_conn *c)
{
	c->offer_connect = true;
}

struct stream *
h2_open(struct h2_conn *c, enum err *err)
{
	if (!h2_may_open(c)) {
		*err = ERR_FULL;
		return NULL;
	}
	struct h2_stream *s = h2_alive_watch(c) ? h2_stream_new(c) : NULL;
	if (s == NULL) {
		*err = ERR_MEMORY;
		return NULL;
	}
	h2_stream_count(s);
	return &s->base;
}

void
h2_shut(struct h2_conn *c)
{
	static const uint8_t opaque[8] = "duenna.";

	if (c->we_left || c->broken || c->closed)
		return;
	c->we_left = true;
	if (c->is_server) {
		c->pinged = true;
		(void)nghttp2_submit_shutdown_notice(c->session);
		(void)nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE,
		    opaque);
	}
	h2_wake(c);
}

void
h2_end_abuse(struct h2_conn *c, const char *text)
{
	(void)h2_note_fault(c, H2_ENHANCE_YOUR_CALM, REASON_H2_ABUSE, text);
	h2_fail(c, REASON_H2_ABUSE, text);
}
