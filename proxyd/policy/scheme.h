/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is spoken on a connection, as a rule's URL says it.
 *
 * Three kinds: served (http, https, ws, wss, git+https: we end it and read every
 * request), tls (passed unread behind the ClientHello, whose name is judged) and
 * tcp (passed unread from the first byte).
 *
 * ws, wss and git+https are of rules alone: a connection speaks http or https,
 * and a request on it asks for the upgrade (RFC 6455) or does not, is one of
 * git's smart HTTP or is not.
 * Pure.
 */
#ifndef POLICY_SCHEME_H
#define POLICY_SCHEME_H

#include "base/slice.h"

enum scheme {
	SCHEME_HTTP,
	SCHEME_HTTPS,
	SCHEME_TLS,
	SCHEME_TCP,
	SCHEME_WS,
	SCHEME_WSS,
	SCHEME_GIT,
	SCHEME_COUNT
};

const char *scheme_name(enum scheme s);

/* The scheme of that name, in lower case, or SCHEME_COUNT. */
enum scheme scheme_find(struct slice name);

/* The port that a URL without one means; 0: it has to say one. */
uint16_t scheme_port(enum scheme s);

/* Does a rule with it speak of requests that ask for an upgrade? */
static inline bool
scheme_is_upgrade(enum scheme s)
{
	return s == SCHEME_WS || s == SCHEME_WSS;
}

/* What the connection speaks. */
static inline enum scheme
scheme_below(enum scheme s)
{
	if (s == SCHEME_WS)
		return SCHEME_HTTP;
	return s == SCHEME_WSS || s == SCHEME_GIT ? SCHEME_HTTPS : s;
}

/* What the rule has that allows an upgrade on a connection of that scheme. */
static inline enum scheme
scheme_above(enum scheme s)
{
	return s == SCHEME_HTTP ? SCHEME_WS : SCHEME_WSS;
}

/* Its kind, as one of it: SCHEME_HTTPS stands for all that are served. */
static inline enum scheme
scheme_kind(enum scheme s)
{
	return s == SCHEME_TLS || s == SCHEME_TCP ? s : SCHEME_HTTPS;
}

static inline bool
scheme_is_passed(enum scheme s)
{
	return scheme_kind(s) != SCHEME_HTTPS;
}

#endif
