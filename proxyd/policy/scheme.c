/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/scheme.h"

static const struct {
	const char *name;
	uint16_t port;
} rows[SCHEME_COUNT] = {
	[SCHEME_HTTP] = { "http", 80 },
	[SCHEME_HTTPS] = { "https", 443 },
	[SCHEME_TLS] = { "tls", 443 },
	[SCHEME_TCP] = { "tcp", 0 },
	[SCHEME_WS] = { "ws", 80 },
	[SCHEME_WSS] = { "wss", 443 },
	[SCHEME_GIT] = { "git+https", 443 },
};

const char *
scheme_name(enum scheme s)
{
	return rows[s].name;
}

enum scheme
scheme_find(struct slice name)
{
	for (unsigned s = 0; s < SCHEME_COUNT; s++)
		if (slice_eq_str(name, rows[s].name))
			return (enum scheme)s;
	return SCHEME_COUNT;
}

uint16_t
scheme_port(enum scheme s)
{
	return rows[s].port;
}
