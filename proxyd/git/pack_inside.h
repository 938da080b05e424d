/* SPDX-License-Identifier: Apache-2.0 */
/* A pack's own state; for git/pack*.c alone. */
#ifndef GIT_PACK_INSIDE_H
#define GIT_PACK_INSIDE_H

#define ZLIB_CONST
#include <zlib.h>

#include "crypto/digest.h"
#include "git/delta.h"
#include "git/entries.h"
#include "git/pack.h"
#include "git/spool.h"

#define PACK_SMALL 32	   /* bytes of a head that comes in pieces */
#define PACK_SCRATCH 16384 /* bytes that are inflated and forgotten at once */

enum pack_phase {
	PACK_HEAD,    /* "PACK", version, count */
	PACK_ENTRY,   /* kind and size of an entry */
	PACK_BASE,    /* what it is a delta against */
	PACK_DATA,    /* its deflated bytes */
	PACK_TRAILER, /* the checksum of all that */
	PACK_WHOLE,   /* nothing more */
	PACK_BROKEN,  /* refused; stays so */
};

struct entry {
	uint64_t at;   /* where it begins */
	uint64_t size; /* bytes that it inflates to, as its head says */
	uint64_t done; /* bytes inflated so far */
	enum object_kind kind;
	bool is_delta, is_by_name;
	uint64_t base_at; /* of its base, if that is known */
	struct oid base;  /* name of its base, if is_by_name */
	uint8_t *data;	  /* owned; what was inflated; NULL: not looked at */
	bool is_hashed;	  /* a blob whose name is computed as it passes */
	uint8_t head[DELTA_HEAD_MAX]; /* of a delta: its first bytes */
};

/* A delta whose base was not there. */
struct waiting {
	size_t entry; /* its number */
	uint64_t at, base_at;
	struct oid base; /* n is 0: by base_at */
	uint8_t *data;	 /* owned; NULL: settled */
	size_t n;
};

struct pack {
	struct pack_cfg cfg;
	enum pack_phase phase;
	uint32_t left;		   /* entries that are still to come */
	uint64_t at;		   /* bytes taken */
	uint64_t late;		   /* bytes made of waiting deltas */
	struct digest *sum, *name; /* owned; of the pack, of an object */
	z_stream z;
	bool has_z;
	uint8_t small[PACK_SMALL];
	size_t n_small;
	struct entry e;
	struct entries entries;
	struct spool spool;
	struct waiting *waiting; /* owned */
	size_t n_waiting, waiting_cap, waiting_used;
	struct pack_facts facts;
	uint8_t scratch[PACK_SCRATCH];
};

/* Set `fail` for the byte at p->at; returns PARSE_BAD. */
enum parse pack_bad(const struct pack *p, const char *detail,
    struct parse_fail *fail);

/* The same for a ceiling. */
enum parse pack_over(const struct pack *p, const char *detail,
    struct parse_fail *fail);

/* Count `n` bytes that were made; false if those are too many. */
MUST_USE bool pack_count(struct pack *p, uint64_t n);

/* The head of p->e is known: say what it is, and whether to keep its data. */
MUST_USE enum parse pack_entry_begin(struct pack *p, struct parse_fail *fail);

/* Bytes of a blob whose name is wanted. */
void pack_entry_hash(struct pack *p, struct slice in);

/* All of p->e was inflated. */
MUST_USE enum parse pack_entry_end(struct pack *p, struct parse_fail *fail);

/* What only reading it needs. */
void pack_forget(struct pack *p);

/* The last entry has ended: deltas that came before their bases. */
MUST_USE enum parse pack_settle(struct pack *p, struct parse_fail *fail);

#endif
