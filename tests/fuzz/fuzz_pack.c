/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/digest.h"
#include "fuzz.h"
#include "fuzz_stored.h"
#include "git/pack.h"

#define ROOM 65536

/*
 * A pack as written here: entries are given by the input in the clear and are
 * deflated, count and checksum are made right, so that what is behind them is
 * reached.  A byte before each says its kind and length.
 */
struct made {
	uint8_t p[ROOM];
	size_t n;
};

static void
put(struct made *m, const void *p, size_t n)
{
	if (n > ROOM - m->n)
		return;
	memcpy(m->p + m->n, p, n);
	m->n += n;
}

static void
put_entry(struct made *m, uint8_t what, struct slice s)
{
	uint8_t head[] = { (uint8_t)(0x80 | (what & 7) << 4 | (s.n & 15)),
		(uint8_t)(s.n >> 4) };
	uint8_t out[512];

	put(m, head, sizeof(head));
	if ((what & 7) == 6) {
		put(m, s.n == 0 ? (const uint8_t *)"\1" : s.p, 1);
	} else if ((what & 7) == 7) {
		uint8_t id[OID_SHA1] = { 0 };
		memcpy(id, s.p, s.n < sizeof(id) ? s.n : sizeof(id));
		put(m, id, sizeof(id));
	}
	put(m, out, stored_put(s, out));
}

static void
make(struct made *m, struct slice in)
{
	uint8_t count = 0, sum[DIGEST_SIZE];
	enum err err;

	put(m, "PACK\0\0\0\2\0\0\0\0", 12);
	while (in.n >= 2 && count < 100 && m->n < ROOM / 2) {
		struct slice s = slice_first(slice_from(in, 2), in.p[1]);
		put_entry(m, in.p[0], s);
		in = slice_from(in, 2 + s.n);
		count++;
	}
	m->p[11] = count;
	struct digest *d = digest_new_sha1(&err);
	CHECK(d != NULL);
	digest_put(d, slice_of(m->p, m->n));
	digest_end(d, sum);
	digest_free(d);
	put(m, sum, OID_SHA1);
}

struct result {
	enum parse answer;
	const char *detail;
	size_t at, kept;
	struct pack_facts facts;
};

static size_t
count_kept(const struct pack *p)
{
	const struct object *o;
	size_t n = 0;

	for (; (o = pack_nth(p, n)) != NULL; n++) {
		CHECK(pack_find(p, &o->id) == o);
		CHECK(o->kind != OBJECT_BLOB && o->kind != OBJECT_UNKNOWN);
	}
	return n;
}

static struct result
feed(struct slice in, size_t step, bool strict)
{
	struct pack_cfg cfg = { .id_size = OID_SHA1,
		.strict = strict,
		.names = true };
	struct result r = { 0 };
	struct parse_fail fail = { 0 };
	enum err err;
	struct pack *p = pack_new(&cfg, &err);
	size_t total = 0, passed = 0, used, pass;

	CHECK(p != NULL);
	do {
		struct slice piece = slice_first(slice_from(in, total), step);
		r.answer = pack_take(p, piece, &used, &pass, &fail);
		CHECK(pass <= used && used <= piece.n);
		total += used;
		passed += pass;
		/* Bytes behind the pack are refused, whatever the pieces. */
	} while (r.answer != PARSE_BAD && total < in.n);
	if (r.answer == PARSE_DONE)
		CHECK(passed + OID_SHA1 == total && pack_trailer(p).n != 0);
	r.detail = fail.detail;
	r.at = fail.at;
	r.kept = count_kept(p);
	r.facts = *pack_facts(p);
	CHECK(r.answer == PARSE_BAD || r.facts.bytes == total);
	pack_free(p);
	return r;
}

static void
check(struct slice in, size_t step, bool strict)
{
	struct result a = feed(in, in.n == 0 ? 1 : in.n, strict);
	struct result b = feed(in, step, strict);

	CHECK(a.answer == b.answer && a.detail == b.detail);
	CHECK(a.kept == b.kept && a.at == b.at);
	if (a.answer == PARSE_DONE)
		CHECK(memcmp(&a.facts, &b.facts, sizeof(a.facts)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made m;

	if (size < 1)
		return 0;
	struct slice in = { data + 1, size - 1 };
	bool strict = (data[0] & 1) != 0;
	size_t step = 1 + data[0] % 64;

	check(in, step, strict);
	m.n = 0;
	make(&m, in);
	check(slice_of(m.p, m.n), step, strict);
	return 0;
}
