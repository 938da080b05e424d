/* SPDX-License-Identifier: Apache-2.0 */
/* What an owner may ask of a connection; nothing changes by it. */
#include <event2/event.h>

#include "http/h2_part.h"

bool
h2_is_ready(const struct h2_conn *c)
{
	return c->ready;
}

bool
h2_may_connect(const struct h2_conn *c)
{
	return c->ready && !c->closed &&
	    nghttp2_session_get_remote_settings(c->session,
		NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) == 1;
}

bool
h2_may_open(const struct h2_conn *c)
{
	if (c->is_server || c->broken || c->closed || h2_is_draining(c))
		return false;
	uint32_t max = nghttp2_session_get_remote_settings(c->session,
	    NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
	/* Before its SETTINGS came: what RFC 9113 6.5.2 recommends. */
	if (!c->ready || max > LIMIT_H2_STREAMS)
		max = c->ready ? LIMIT_H2_STREAMS : 100;
	return c->n_begun < max &&
	    nghttp2_session_get_next_stream_id(c->session) <= INT32_MAX;
}

/*
 * What was read is announced when it is half of the window, so more than that
 * is not read yet.
 */
bool
h2_is_clogged(const struct h2_conn *c)
{
	return !c->closed &&
	    nghttp2_session_get_effective_recv_data_length(c->session) >
	    c->windows / 4 * 3;
}

unsigned
h2_n_streams(const struct h2_conn *c)
{
	return c->n_streams;
}

bool
h2_is_broken(const struct h2_conn *c)
{
	return c->broken;
}

bool
h2_is_draining(const struct h2_conn *c)
{
	return c->peer_left || c->we_left;
}

bool
h2_is_over(const struct h2_conn *c)
{
	return c->closed ||
	    (c->broken &&
		(stream_is_broken(c->bytes) ||
		    (stream_is_shut(c->bytes) && stream_is_eof(c->bytes))));
}

enum reason
h2_reason(const struct h2_conn *c)
{
	return c->reason;
}

const char *
h2_text(const struct h2_conn *c)
{
	return c->text;
}

struct stream *
h2_bytes(const struct h2_conn *c)
{
	return c->bytes;
}

int
h2_fd(const struct h2_conn *c)
{
	return c->bytes == NULL ? -1 : stream_fd(c->bytes);
}

bool
h2_is_armed(const struct h2_conn *c)
{
	return c->again || event_pending(c->kick, EV_TIMEOUT, NULL) != 0 ||
	    stream_is_armed(c->bytes);
}
