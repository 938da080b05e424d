/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the dialer knows of each sandbox: its name, its program, what it has
 * used up.  Everything here came from the monitor.
 */
#ifndef DIAL_BOOK_H
#define DIAL_BOOK_H

#include "base/attr.h"
#include "base/err.h"
#include "base/ids.h"
#include "dial/names.h"
#include "policy/program.h"

#define BOOK_MAX 4096	   /* sandboxes */
#define BOOK_NAME_MAX 64   /* bytes of a sandbox's name */
#define BOOK_DIGEST_MAX 80 /* bytes of "sha256:" and its digits */

/* One sandbox. */
struct page {
	struct ids_entry by_id;
	uint32_t sandbox;
	uint32_t generation;
	struct program *program; /* owned; NULL: none yet */
	uint8_t n_name, n_digest;
	char name[BOOK_NAME_MAX];
	char digest[BOOK_DIGEST_MAX];
	size_t n_dials;			  /* in flight */
	struct names names;		  /* of all rules that have no number */
	struct names_list names_of_rules; /* ... and of those that have one */
};

struct book {
	struct ids pages;     /* owned, each */
	struct ids_gone gone; /* forgotten a moment ago */
};

void book_init(struct book *b);
void book_release(struct book *b);

/* NULL: no such sandbox. */
struct page *book_find(struct book *b, uint32_t sandbox);

/* The page of that sandbox, made if it is new.  NULL with ERR_MEMORY, ERR_FULL. */
MUST_USE struct page *book_get(struct book *b, uint32_t sandbox, enum err *err);

/* Nothing borrows from it any more: tear it out. */
void book_forget(struct book *b, struct page *p);

/* Was it forgotten a moment ago?  Then it may have been asked for before. */
bool book_is_gone(const struct book *b, uint32_t sandbox);

/* 0, or -1 with ERR_MESSAGE: too long. */
MUST_USE int page_set_name(struct page *p, struct slice name, enum err *err);

/*
 * `program` becomes the page's own, also on failure; an older one is freed.
 * The names that were dialled stay counted: of a rule if it has the same URLs.
 * 0, or -1 with ERR_MESSAGE: the digest is too long.
 */
MUST_USE int page_set_program(struct page *p, uint32_t generation,
    struct slice digest, struct program *program, enum err *err);

static inline struct slice
page_name(const struct page *p)
{
	return slice_of(p->name, p->n_name);
}

static inline struct slice
page_digest(const struct page *p)
{
	return slice_of(p->digest, p->n_digest);
}

#endif
