/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "seen.h"

static void
count(struct seen *n, const struct peer *peers, size_t n_peers)
{
	for (size_t i = 0; i < n_peers; i++) {
		n->sends += peers[i].sends.n;
		n->got += peers[i].got.n;
	}
}

struct seen
seen_now(const struct world *w)
{
	struct seen n = { .records = w->records.n,
		.asked = w->n_asked,
		.flows = w->sandbox->n_flows };

	count(&n, w->clients, w->n_clients);
	count(&n, w->upstream, w->n_upstreams);
	return n;
}

void
seen_same(const struct world *w, struct seen before)
{
	struct seen now = seen_now(w);

	assert(before.sends == now.sends && before.got == now.got);
	assert(before.records == now.records && before.asked == now.asked);
	assert(before.flows == now.flows);
}
