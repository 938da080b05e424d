/* SPDX-License-Identifier: Apache-2.0 */
#include "git/proof.h"

struct object *
packs_find(const struct packs *p, const struct oid *id)
{
	struct object *o = NULL;

	/* The upstream's own first: it keeps what it has, whatever is pushed. */
	for (size_t i = 0; o == NULL && i < p->n_answers; i++)
		o = pack_find(p->answers[i], id);
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

void
beyond_clear(struct beyond *b)
{
	b->n = b->depth = 0;
	b->is_cut = false;
}

struct beyond_mark
beyond_mark(const struct beyond *b)
{
	return (struct beyond_mark){ b->n, b->depth, b->is_cut };
}

enum proof
beyond_end(struct beyond *b, struct beyond_mark mark, enum proof p)
{
	if (p != PROOF_OPEN) {
		b->n = mark.n;
		b->depth = mark.depth;
		b->is_cut = mark.is_cut;
	}
	return p;
}
