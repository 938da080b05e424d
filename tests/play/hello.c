/* SPDX-License-Identifier: Apache-2.0 */
/* How clients begin: TLS, or at a proxy. */
#include <assert.h>

#include "base/wr.h"
#include "crypto/digest.h"
#include "flow/entry.h"
#include "peer.h"

void
world_put_hello(struct buf *out, struct slice name, enum alpn_offer offer)
{
	uint8_t bytes[512];
	struct wr w = wr_of(bytes, sizeof(bytes));
	size_t sni = name.n == 0 ? 0 : 9 + name.n;
	struct slice list = alpn_offer_list(offer);
	size_t extensions = sni + (list.n != 0 ? 6 + list.n : 0);
	size_t body = 2 + 32 + 1 + 4 + 2 + 2 + extensions;

	wr_bytes(&w, SLICE("\x16\x03\x01"));
	wr_u16(&w, (uint16_t)(body + 4));
	wr_u8(&w, 1);
	wr_number(&w, body, 3);
	wr_u16(&w, 0x0303);
	for (uint8_t i = 0; i < 32; i++)
		wr_u8(&w, i);
	wr_u8(&w, 0);			       /* no session */
	wr_bytes(&w, SLICE("\0\x02\x13\x01")); /* one suite */
	wr_bytes(&w, SLICE("\x01\0"));	       /* no compression */
	wr_u16(&w, (uint16_t)extensions);
	if (name.n != 0) {
		wr_u16(&w, 0);
		wr_u16(&w, (uint16_t)(name.n + 5));
		wr_u16(&w, (uint16_t)(name.n + 3));
		wr_u8(&w, 0);
		wr_slice16(&w, name);
	}
	if (list.n != 0) {
		wr_u16(&w, 16);
		wr_u16(&w, (uint16_t)(list.n + 2));
		wr_slice16(&w, list);
	}
	buf_put(out, wr_slice(&w));
}

void
world_connect_proxy(struct world *w)
{
	assert(w->n_clients < WORLD_CLIENTS_MAX);
	w->client = &w->clients[w->n_clients++];
	entry_new(w->sandbox, peer_stream(w->client));
	world_turn(w);
}

void
world_want_token(struct world *w, struct slice token)
{
	w->sandbox->token.is_wanted = true;
	digest_sha256(token, w->sandbox->token.sha256);
}
