/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pack, read as it passes: where each entry begins and ends, what kind it is
 * of, the checksum; and of what it holds the commits, the annotated tags and
 * the trees, by name.
 *
 * An entry does not say how long it is: each one is inflated to find the next.
 * Nothing else tells where a pack ends (git ignores what stands behind it), so
 * nothing else decides which bytes are its trailer.  The trailer is kept back
 * here: a pack without it changes no ref on a server that needs it.
 *
 * Contents of commits, tags and trees are kept as long as there is room, also
 * of those that are sent as a delta against another object of this pack.  What
 * is not kept is "not shown": it proves nothing, and whoever asks is told how
 * much there is of it (struct pack_facts).  Blobs are inflated and forgotten.
 *
 * Ceilings: base/limits.h, PACK_*.  With all of them reached a pack takes 32
 * MiB; with PACK_RATIO it does work in proportion to the bytes that it got.
 *
 * Source: gitformat-pack(5).  Pure, but for memory; no clock, no I/O.
 */
#ifndef GIT_PACK_H
#define GIT_PACK_H

#include "base/err.h"
#include "base/parse.h"
#include "base/siphash.h"
#include "git/oid.h"

enum object_kind {	    /* the numbers of an entry's head */
	OBJECT_UNKNOWN = 0, /* a delta whose base is not known */
	OBJECT_COMMIT = 1,
	OBJECT_TREE = 2,
	OBJECT_BLOB = 3,
	OBJECT_TAG = 4,
	OBJECT_KINDS
};

/* A commit, tag or tree that is kept. */
struct object {
	struct oid id; /* computed from its bytes */
	enum object_kind kind;
	uint64_t at;   /* offset of its entry in the pack */
	uint8_t *p;    /* owned; its content */
	size_t n;      /* bytes of it */
	uint64_t mark; /* of the walk that met it last; 0 at first */
};

static inline struct slice
object_content(const struct object *o)
{
	return (struct slice){ o->p, o->n };
}

/* Bytes, with what goes with each object. */
struct pack_kept {
	size_t commits; /* and tags; at most PACK_COMMITS_SIZE */
	size_t trees;	/* at most PACK_TREES_SIZE */
};

struct pack_cfg {
	size_t id_size;	      /* OID_SHA1 or OID_SHA256 */
	uint32_t max_objects; /* 0: PACK_OBJECTS */
	bool strict; /* refuse a pack with a commit or tag that fsck refuses */
	bool names;  /* remember which names are blobs': see n_unknown */
	uint8_t key[SIPHASH_KEY_SIZE]; /* random: names are chosen by a peer */
	struct pack_kept before;       /* what others keep of the same room */
};

struct pack_facts {
	uint32_t n_objects; /* as its head says */
	uint64_t bytes;	    /* taken so far */
	uint64_t inflated;  /* made so far, of entries and of deltas */
	uint64_t largest;   /* bytes of the largest file, as entries say */
	uint32_t n_unknown; /* at its end: deltas of unknown kind.  Bases
				   that come by name are blobs for certain
				   only with pack_cfg.names */
	uint32_t unread[OBJECT_KINDS]; /* of known kind, but not kept */
};

struct pack;

/* NULL with ERR_MEMORY or ERR_CRYPTO. */
MUST_USE struct pack *pack_new(const struct pack_cfg *cfg, enum err *err);
void pack_free(struct pack *p);

/*
 * Take bytes of the pack, from its "PACK" on.
 *
 * used	  bytes of `in` that were taken; on PARSE_MORE fewer than all mean
 *	  that much was done for this once: call again with the rest
 * pass	  bytes at the front of `in` that belong to the head and the entries,
 *	  at most `used`; what is between the two is trailer.  0 on PARSE_BAD
 * fail	  on PARSE_BAD; `at` counts from the pack's first byte; reason
 *	  REASON_GIT_PACK, or REASON_LIMIT_BYTES for a ceiling
 *
 * PARSE_DONE when the trailer is whole and right.  Any byte behind it is
 * PARSE_BAD, and so is everything after PARSE_BAD.
 */
MUST_USE enum parse pack_take(struct pack *p, struct slice in, size_t *used,
    size_t *pass, struct parse_fail *fail);

/* Was the whole pack taken?  A body that ends before is cut. */
bool pack_is_done(const struct pack *p);

/* The trailer, which alone was not passed; empty before PARSE_DONE. */
struct slice pack_trailer(const struct pack *p);

const struct pack_facts *pack_facts(const struct pack *p);

/* What it keeps, and what others did before. */
struct pack_kept pack_kept(const struct pack *p);

/* The kept object of that name, or NULL.  Valid until the next pack_take(). */
struct object *pack_find(const struct pack *p, const struct oid *id);

/* The kept object number `i`, or NULL behind the last. */
struct object *pack_nth(const struct pack *p, size_t i);

#endif
