/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/queue.h>

#include "base/siphash.h"
#include "policy/inside.h"
#include "policy/shelf.h"

#define BUCKETS 256	    /* a power of two */
#define SHELF_DIGEST_MAX 80 /* bytes of "sha256:" and its digits */

struct book {
	LIST_ENTRY(book) neighbour; /* in its bucket */
	struct program *program;    /* owned: one share */
	size_t n_digest;
	uint8_t digest[SHELF_DIGEST_MAX];
};

LIST_HEAD(bucket, book);

struct shelf {
	struct bucket buckets[BUCKETS];
	size_t n;
};

struct shelf *
shelf_new(enum err *err)
{
	struct shelf *s = calloc(1, sizeof(*s));

	if (s == NULL)
		*err = ERR_MEMORY;
	for (size_t i = 0; s != NULL && i < BUCKETS; i++)
		LIST_INIT(&s->buckets[i]);
	return s;
}

static void
take_down(struct shelf *s, struct book *b)
{
	LIST_REMOVE(b, neighbour);
	program_free(b->program);
	free(b);
	s->n--;
}

void
shelf_free(struct shelf *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (!LIST_EMPTY(&s->buckets[i]))
			take_down(s, LIST_FIRST(&s->buckets[i]));
	free(s);
}

void
shelf_sweep(struct shelf *s)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		struct book *b = LIST_FIRST(&s->buckets[i]);
		for (struct book *after; b != NULL; b = after) {
			after = LIST_NEXT(b, neighbour);
			if (!program_is_shared(b->program))
				take_down(s, b);
		}
	}
}

/* A digest is as even as any hash; nobody but the owner chooses it. */
static struct bucket *
bucket_of(struct shelf *s, struct slice digest)
{
	static const uint8_t key[SIPHASH_KEY_SIZE];

	return &s->buckets[siphash(key, digest) % BUCKETS];
}

struct program *
shelf_map(struct shelf *s, struct slice digest, int fd, enum err *err)
{
	struct bucket *bucket = bucket_of(s, digest);
	struct program *p;
	struct book *b;

	LIST_FOREACH(b, bucket, neighbour)
		if (slice_eq(slice_of(b->digest, b->n_digest), digest))
			return program_ref(b->program);
	shelf_sweep(s);
	p = program_map(fd, err);
	b = digest.n == 0 || digest.n > SHELF_DIGEST_MAX ?
	    NULL :
	    calloc(1, sizeof(*b));
	/* Without a place on the shelf it is the caller's alone. */
	if (p == NULL || b == NULL) {
		free(b);
		return p;
	}
	memcpy(b->digest, digest.p, digest.n);
	b->n_digest = digest.n;
	b->program = program_ref(p);
	LIST_INSERT_HEAD(bucket, b, neighbour);
	s->n++;
	return p;
}

size_t
shelf_n(const struct shelf *s)
{
	return s->n;
}
