/* SPDX-License-Identifier: Apache-2.0 */
/* Packs made by hand, for the tests of git/. */
#ifndef TESTS_UNIT_PACK_BED_H
#define TESTS_UNIT_PACK_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "git/pack.h"

#define BED_ENTRIES 1024
#define BED_OFS 6 /* kinds of entries */
#define BED_REF 7

struct bed {
	struct buf out;
	size_t id_size;
	uint32_t n;
	uint64_t at[BED_ENTRIES]; /* where entry i begins */
};

void bed_init(struct bed *b, size_t id_size);

/* The entry's head, as `kind` and `size` say it. */
void bed_head(struct bed *b, unsigned kind, uint64_t size);

/* Bytes, deflated. */
void bed_deflate(struct bed *b, struct slice s);

/* An object; its name. */
struct oid bed_put(struct bed *b, enum object_kind kind, struct slice s);

/* Deltas against entry `base`, against a name. */
void bed_put_ofs(struct bed *b, uint32_t base, struct slice delta);
void bed_put_ref(struct bed *b, const struct oid *base, struct slice delta);

/* A delta that makes `to` of `from`, by one insert of all: below 128 bytes a
 * piece. */
struct slice bed_delta(struct buf *out, struct slice from, struct slice to);

/* Count and checksum; the whole pack, until bed_release(). */
struct slice bed_end(struct bed *b);
void bed_release(struct bed *b);

struct oid bed_name(size_t id_size, enum object_kind kind, struct slice s);

/* A commit's text: its tree's and parents' names.  Until the next call. */
struct slice bed_commit(const struct oid *tree, const struct oid *parents,
    size_t n, const char *rest);

/* Read the whole pack at once and want `answer`; the pack is the caller's. */
struct pack *bed_read(struct slice in, size_t id_size, bool strict,
    enum parse answer, struct parse_fail *fail);

#endif
