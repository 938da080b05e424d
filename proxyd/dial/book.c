/* SPDX-License-Identifier: Apache-2.0 */
#include "dial/book.h"
#include "base/clock.h"
#include "policy/same.h"

void
book_init(struct book *b)
{
	*b = (struct book){ 0 };
	ids_init(&b->pages);
}

static void
tear_out(struct book *b, struct page *p)
{
	ids_remove(&b->pages, &p->by_id);
	program_free(p->program);
	names_release(&p->names);
	names_list_release(&p->names_of_rules);
	free(p);
}

void
book_release(struct book *b)
{
	struct page *p;

	while ((p = ids_any(&b->pages)) != NULL)
		tear_out(b, p);
}

struct page *
book_find(struct book *b, uint32_t sandbox)
{
	return ids_find(&b->pages, sandbox);
}

struct page *
book_get(struct book *b, uint32_t sandbox, enum err *err)
{
	struct page *p = book_find(b, sandbox);

	if (p != NULL)
		return p;
	*err = ERR_FULL;
	if (b->pages.n >= BOOK_MAX)
		return NULL;
	*err = ERR_MEMORY;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return NULL;
	*err = ERR_NONE;
	p->sandbox = sandbox;
	ids_put(&b->pages, &p->by_id, sandbox, p);
	return p;
}

void
book_forget(struct book *b, struct page *p)
{
	ids_gone_put(&b->gone, p->sandbox, clock_ms());
	tear_out(b, p);
}

bool
book_is_gone(const struct book *b, uint32_t sandbox)
{
	return ids_gone_has(&b->gone, sandbox, clock_ms());
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

/* Two programs, and where the next rule may be found. */
struct change {
	const struct program *was, *now;
	uint32_t near;
};

static uint32_t
number_now(uint32_t rule, void *arg)
{
	struct change *c = arg;

	return same_rule(c->was, rule, c->now, &c->near);
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
	struct change change = { .was = p->program, .now = program };
	names_list_renumber(&p->names_of_rules, number_now, &change);
	program_free(p->program);
	p->program = program;
	p->generation = generation;
	memcpy(p->digest, digest.p, digest.n);
	p->n_digest = (uint8_t)digest.n;
	return 0;
}
