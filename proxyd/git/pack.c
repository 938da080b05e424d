/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/rd.h"
#include "git/pack_inside.h"

#define HEAD 12	    /* "PACK", version, count */
#define MORE 0x80   /* another byte of a number follows */
#define NUMBER 9    /* bytes of a number: at most 63 bits, so no sum can wrap */
#define OFS_DELTA 6 /* kinds of entries that are no kinds of objects */
#define REF_DELTA 7

struct pack *
pack_new(const struct pack_cfg *cfg, enum err *err)
{
	struct pack *p = calloc(1, sizeof(*p));
	bool is_sha1 = cfg->id_size == OID_SHA1;

	if (p == NULL) {
		*err = ERR_MEMORY;
		return NULL;
	}
	p->cfg = *cfg;
	if (cfg->max_objects == 0 || cfg->max_objects > LIMIT_PACK_OBJECTS)
		p->cfg.max_objects = LIMIT_PACK_OBJECTS;
	spool_init(&p->spool, cfg);
	p->sum = is_sha1 ? digest_new_sha1(err) : digest_new(err);
	p->name = is_sha1 ? digest_new_sha1(err) : digest_new(err);
	p->has_z = inflateInit(&p->z) == Z_OK;
	if (!p->has_z)
		*err = ERR_MEMORY;
	if (p->sum == NULL || p->name == NULL || !p->has_z) {
		pack_free(p);
		return NULL;
	}
	return p;
}

void
pack_forget(struct pack *p)
{
	for (size_t i = 0; i < p->n_waiting; i++)
		free(p->waiting[i].data);
	free(p->waiting);
	p->waiting = NULL;
	p->n_waiting = p->waiting_cap = p->waiting_used = 0;
	entries_release(&p->entries);
}

void
pack_free(struct pack *p)
{
	if (p == NULL)
		return;
	pack_forget(p);
	free(p->e.data);
	spool_release(&p->spool);
	if (p->has_z)
		inflateEnd(&p->z);
	digest_free(p->name);
	digest_free(p->sum);
	free(p);
}

enum parse
pack_bad(const struct pack *p, const char *detail, struct parse_fail *fail)
{
	*fail = (struct parse_fail){ REASON_GIT_PACK, detail, (size_t)p->at };
	return PARSE_BAD;
}

enum parse
pack_over(const struct pack *p, const char *detail, struct parse_fail *fail)
{
	*fail =
	    (struct parse_fail){ REASON_LIMIT_BYTES, detail, (size_t)p->at };
	return PARSE_BAD;
}

bool
pack_count(struct pack *p, uint64_t n)
{
	p->facts.inflated += n;
	return p->facts.inflated <=
	    LIMIT_PACK_FREE_SIZE + LIMIT_PACK_RATIO * p->at;
}

/* One byte of a head that may come in pieces. */
static bool
take_byte(struct pack *p, struct slice *in)
{
	if (in->n == 0)
		return false;
	p->small[p->n_small++] = in->p[0];
	*in = slice_from(*in, 1);
	p->at++;
	return true;
}

static void
enter(struct pack *p, enum pack_phase phase)
{
	p->phase = phase;
	p->n_small = 0;
}

static void
next_entry(struct pack *p)
{
	enter(p, p->left == 0 ? PACK_TRAILER : PACK_ENTRY);
	p->e = (struct entry){ .at = p->at };
}

static enum parse
step_head(struct pack *p, struct slice *in, struct parse_fail *fail)
{
	static const uint8_t begins[] = { 'P', 'A', 'C', 'K', 0, 0, 0, 2 };

	while (p->n_small < HEAD) {
		size_t i = p->n_small;
		if (in->n != 0 && i < sizeof(begins) && in->p[0] != begins[i])
			return pack_bad(p, "no pack of version 2", fail);
		if (!take_byte(p, in))
			return PARSE_MORE;
	}
	struct rd r = rd_of(slice_of(p->small + sizeof(begins), 4));
	p->left = p->facts.n_objects = rd_u32(&r);
	if (p->left > p->cfg.max_objects)
		return pack_over(p, "too many objects", fail);
	next_entry(p);
	return PARSE_DONE;
}

static enum parse
step_entry(struct pack *p, struct slice *in, struct parse_fail *fail)
{
	uint8_t c;

	do {
		if (p->n_small == NUMBER)
			return pack_bad(p, "size of an entry", fail);
		if (!take_byte(p, in))
			return PARSE_MORE;
		c = p->small[p->n_small - 1];
	} while ((c & MORE) != 0);
	unsigned kind = p->small[0] >> 4 & 7;
	p->e.size = p->small[0] & 0xf;
	for (size_t i = 1; i < p->n_small; i++)
		p->e.size |= (uint64_t)(p->small[i] & 0x7f)
		    << (4 + 7 * (i - 1));
	p->e.is_delta = kind == OFS_DELTA || kind == REF_DELTA;
	p->e.is_by_name = kind == REF_DELTA;
	if (kind == 0 || kind == 5)
		return pack_bad(p, "kind of an entry", fail);
	p->left--;
	if (p->e.is_delta) {
		enter(p, PACK_BASE);
		return PARSE_DONE;
	}
	p->e.kind = (enum object_kind)kind;
	enter(p, PACK_DATA);
	return pack_entry_begin(p, fail);
}

/* How far before the entry its base begins, big end first. */
static enum parse
take_distance(struct pack *p, struct slice *in, struct parse_fail *fail)
{
	uint64_t distance = 0;
	uint8_t c;

	do {
		if (p->n_small == NUMBER)
			return pack_bad(p, "offset of a base", fail);
		if (!take_byte(p, in))
			return PARSE_MORE;
		c = p->small[p->n_small - 1];
	} while ((c & MORE) != 0);
	for (size_t i = 0; i < p->n_small; i++)
		/* each further byte counts on from where fewer would end */
		distance = (distance << 7 | (p->small[i] & 0x7f)) +
		    (i + 1 < p->n_small);
	if (distance == 0 || distance > p->e.at)
		return pack_bad(p, "offset of a base", fail);
	p->e.base_at = p->e.at - distance;
	return PARSE_DONE;
}

static enum parse
step_base(struct pack *p, struct slice *in, struct parse_fail *fail)
{
	if (!p->e.is_by_name) {
		enum parse answer = take_distance(p, in, fail);
		if (answer != PARSE_DONE)
			return answer;
	} else {
		while (p->n_small < p->cfg.id_size) {
			if (!take_byte(p, in))
				return PARSE_MORE;
		}
		p->e.base = oid_of(p->small, p->cfg.id_size);
	}
	enter(p, PACK_DATA);
	return pack_entry_begin(p, fail);
}

/* Note the first bytes of a delta, which say what it makes. */
static void
note_head(struct entry *e, const uint8_t *made, size_t n)
{
	for (size_t i = 0;
	     e->is_delta && i < n && e->done + i < sizeof(e->head); i++)
		e->head[e->done + i] = made[i];
}

/*
 * Inflate once.  Where the data is kept it goes to its place; behind its last
 * byte one scratch buffer finds out whether there is more than was promised.
 */
static int
inflate_once(struct pack *p, struct slice *in, size_t *made)
{
	struct entry *e = &p->e;
	bool is_kept = e->data != NULL && e->done < e->size;
	uint8_t *out = is_kept ? e->data + e->done : p->scratch;
	size_t room = is_kept ? (size_t)(e->size - e->done) : PACK_SCRATCH;
	size_t given = in->n < UINT_MAX ? in->n : UINT_MAX;

	p->z.next_in = in->p;
	p->z.avail_in = (uInt)given;
	p->z.next_out = out;
	p->z.avail_out = (uInt)room;
	int rc = inflate(&p->z, Z_NO_FLUSH);
	*made = room - p->z.avail_out;
	*in = slice_from(*in, given - p->z.avail_in);
	p->at += given - p->z.avail_in;
	note_head(e, out, *made);
	if (e->is_hashed)
		pack_entry_hash(p, slice_of(out, *made));
	e->done += *made;
	return rc;
}

/*
 * Refused for what its data is: told by where the entry begins, since how far
 * inflate() went ahead depends on the pieces that it got.
 */
static enum parse
bad_data(const struct pack *p, const char *detail, struct parse_fail *fail)
{
	*fail = (struct parse_fail){ REASON_GIT_PACK, detail, (size_t)p->e.at };
	return PARSE_BAD;
}

static enum parse
step_data(struct pack *p, struct slice *in, struct parse_fail *fail)
{
	size_t made, sum = 0;

	do {
		if (sum >= LIMIT_PACK_STEP_SIZE)
			return PARSE_MORE;
		int rc = inflate_once(p, in, &made);
		sum += made;
		if (p->e.done > p->e.size)
			return bad_data(p, "entry is longer than it says",
			    fail);
		if (!pack_count(p, made))
			return pack_over(p, "inflates to too much", fail);
		if (rc == Z_STREAM_END) {
			if (p->e.done != p->e.size)
				return pack_bad(p,
				    "entry is shorter than it says", fail);
			enum parse answer = pack_entry_end(p, fail);
			inflateReset(&p->z);
			next_entry(p);
			return answer;
		}
		if (rc != Z_OK && rc != Z_BUF_ERROR)
			return bad_data(p, "entry does not inflate", fail);
		/* a full buffer may hide more output, whatever is left of in */
	} while (in->n != 0 || p->z.avail_out == 0);
	return PARSE_MORE;
}

static enum parse
step_trailer(struct pack *p, struct slice *in, struct parse_fail *fail)
{
	uint8_t sum[DIGEST_SIZE];

	while (p->n_small < p->cfg.id_size) {
		if (!take_byte(p, in))
			return PARSE_MORE;
	}
	digest_end(p->sum, sum);
	if (memcmp(sum, p->small, p->cfg.id_size) != 0)
		return pack_bad(p, "checksum of the pack", fail);
	p->phase = PACK_WHOLE;
	return pack_settle(p, fail);
}

/* What the present phase can do; PARSE_DONE: go on with the next one. */
static enum parse
step(struct pack *p, struct slice *in, struct parse_fail *fail)
{
	switch (p->phase) {
	case PACK_HEAD:
		return step_head(p, in, fail);
	case PACK_ENTRY:
		return step_entry(p, in, fail);
	case PACK_BASE:
		return step_base(p, in, fail);
	case PACK_DATA:
		return step_data(p, in, fail);
	case PACK_TRAILER:
		return step_trailer(p, in, fail);
	case PACK_WHOLE:
		return pack_bad(p, "bytes behind the pack", fail);
	case PACK_BROKEN:
		break;
	}
	return pack_bad(p, "pack was refused", fail);
}

/* What was taken of `in` belongs to the head and the entries. */
static void
sum_up(struct pack *p, struct slice in, struct slice rest, size_t *pass)
{
	*pass = in.n - rest.n;
	digest_put(p->sum, slice_first(in, *pass));
}

enum parse
pack_take(struct pack *p, struct slice in, size_t *used, size_t *pass,
    struct parse_fail *fail)
{
	uint64_t inflated = p->facts.inflated;
	bool is_open = p->phase < PACK_TRAILER;
	enum parse answer = PARSE_DONE;
	struct slice rest = in;

	*pass = 0;
	while (answer == PARSE_DONE && rest.n != 0 &&
	    p->facts.inflated - inflated < LIMIT_PACK_STEP_SIZE) {
		answer = step(p, &rest, fail);
		if (is_open && p->phase >= PACK_TRAILER) {
			sum_up(p, in, rest, pass);
			is_open = false;
		}
	}
	if (is_open)
		sum_up(p, in, rest, pass);
	*used = in.n - rest.n;
	p->facts.bytes = p->at;
	if (answer == PARSE_BAD) {
		*pass = 0; /* nothing more goes on */
		p->phase = PACK_BROKEN;
		return PARSE_BAD;
	}
	return pack_is_done(p) && rest.n == 0 ? PARSE_DONE : PARSE_MORE;
}

bool
pack_is_done(const struct pack *p)
{
	return p->phase == PACK_WHOLE;
}

struct slice
pack_trailer(const struct pack *p)
{
	return slice_of(p->small, pack_is_done(p) ? p->cfg.id_size : 0);
}

const struct pack_facts *
pack_facts(const struct pack *p)
{
	return &p->facts;
}

struct pack_kept
pack_kept(const struct pack *p)
{
	return spool_kept(&p->spool);
}

struct object *
pack_find(const struct pack *p, const struct oid *id)
{
	return spool_find(&p->spool, id);
}

struct object *
pack_nth(const struct pack *p, size_t i)
{
	return i < p->spool.n ? &p->spool.objects[i] : NULL;
}
