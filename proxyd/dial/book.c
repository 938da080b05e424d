/* SPDX-License-Identifier: Apache-2.0 */
#include "dial/book.h"

void
book_init(struct book *b)
{
	LIST_INIT(&b->pages);
	b->n = 0;
}

void
book_release(struct book *b)
{
	while (!LIST_EMPTY(&b->pages)) {
		struct page *p = LIST_FIRST(&b->pages);
		LIST_REMOVE(p, entry);
		program_free(p->program);
		names_release(&p->names);
		names_list_release(&p->names_of_rules);
		free(p);
	}
	b->n = 0;
}

struct page *
book_find(struct book *b, uint32_t sandbox)
{
	struct page *p;

	LIST_FOREACH(p, &b->pages, entry)
		if (p->sandbox == sandbox)
			return p;
	return NULL;
}

struct page *
book_get(struct book *b, uint32_t sandbox, enum err *err)
{
	struct page *p = book_find(b, sandbox);

	if (p != NULL)
		return p;
	*err = ERR_FULL;
	if (b->n >= BOOK_MAX)
		return NULL;
	*err = ERR_MEMORY;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return NULL;
	*err = ERR_NONE;
	p->sandbox = sandbox;
	LIST_INSERT_HEAD(&b->pages, p, entry);
	b->n++;
	return p;
}

int
page_set_name(struct page *p, struct slice name, enum err *err)
{
	if (name.n == 0 || name.n > BOOK_NAME_MAX) {
		*err = ERR_MESSAGE;
		return -1;
	}
	memcpy(p->name, name.p, name.n);
	p->n_name = (uint8_t)name.n;
	return 0;
}

int
page_set_program(struct page *p, uint32_t generation, struct slice digest,
    struct program *program, enum err *err)
{
	if (digest.n == 0 || digest.n > BOOK_DIGEST_MAX) {
		program_free(program);
		*err = ERR_MESSAGE;
		return -1;
	}
	program_free(p->program);
	names_list_release(&p->names_of_rules); /* they are others now */
	p->program = program;
	p->generation = generation;
	memcpy(p->digest, digest.p, digest.n);
	p->n_digest = (uint8_t)digest.n;
	return 0;
}
