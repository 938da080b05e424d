/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain of an audit log.
 *
 * Records are numbered from 1 without a gap.  The hash of a record is SHA-256
 * over the 64 digits of the hash before it (64 zeros before the first) and its
 * own line from `{` up to, without, `,"hash"`; it is written as 64 lower-case
 * hexadecimal digits.
 *
 * A checkpoint is a record of the chain itself.  It has the number of the last
 * record before it ("duenna.count"), that record's hash ("duenna.covered"), and
 * an Ed25519 signature over
 *
 *	"duenna checkpoint v1" NUL  count, 8 bytes, network order  64 digits
 *
 * by the key of the last `start` record.  That record has the public key and
 * the machine key's signature over "duenna audit key v1" NUL public key.
 */
#ifndef AUDIT_CHAIN_H
#define AUDIT_CHAIN_H

#include "audit/line.h"
#include "crypto/digest.h"
#include "crypto/sign.h"

/* How far a chain has come; a value, so that a writer can go back. */
struct chain_end {
	uint64_t seq; /* of the last record; 0: none yet */
	char hash[LINE_HASH_HEX + 1];
};

struct chain {
	struct chain_end end;
	struct digest *digest; /* owned */
};

/* 0, or -1 with ERR_MEMORY. */
MUST_USE int chain_init(struct chain *c, enum err *err);
void chain_release(struct chain *c);

/* Append the next record, LF and all, and advance. */
void chain_put(struct chain *c, uint64_t wall_us, const struct event *e,
    struct buf *out);

/* The same for a checkpoint over all so far.  0, or -1 with ERR_CRYPTO. */
MUST_USE int chain_put_checkpoint(struct chain *c, uint64_t wall_us,
    const struct sign_key *key, struct buf *out, enum err *err);

/* Does the hash of `l` fit behind the end of the chain?  Changes nothing. */
MUST_USE bool chain_fits(struct chain *c, const struct line *l);

/* Go on from `l`, whether it fitted or not. */
void chain_follow(struct chain *c, const struct line *l);

/* Is the signature of this checkpoint by that key? */
MUST_USE bool chain_checkpoint_is_signed(const struct event *e,
    const uint8_t key[SIGN_PUBLIC_SIZE]);

/*
 * The key of a `start` record, whose certificate is checked.  False: it is not
 * signed by the machine key that stands there; both are set all the same if
 * they can be read.
 */
MUST_USE bool chain_start_key(const struct event *e,
    uint8_t key[SIGN_PUBLIC_SIZE], uint8_t machine[SIGN_PUBLIC_SIZE]);

#endif
