/* SPDX-License-Identifier: Apache-2.0 */
#include "git/proof.h"

struct object *
packs_find(const struct packs *p, const struct oid *id)
{
	struct object *o = NULL;

	/* The upstream's own first: it keeps what it has, whatever is pushed. */
	if (p->answer != NULL)
		o = pack_find(p->answer, id);
	if (o == NULL && p->pushed != NULL)
		o = pack_find(p->pushed, id);
	return o;
}

void
beyond_add(struct beyond *b, const struct oid *id)
{
	for (size_t i = 0; i < b->n; i++) {
		if (oid_eq(&b->ids[i], id))
			return;
	}
	if (b->n == LIMIT_PROOF_ASKS)
		b->is_cut = true;
	else
		b->ids[b->n++] = *id;
}
