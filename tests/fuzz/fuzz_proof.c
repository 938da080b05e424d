/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "crypto/digest.h"
#include "fuzz.h"
#include "fuzz_stored.h"
#include "git/ancestry.h"
#include "git/content.h"
#include "git/kept.h"
#include "git/prove.h"
#include "policy/pathglob.h"

#define ROOM 65536
#define MOST 32

/*
 * Objects that name each other: the input says what each is and which of those
 * before it (or which that are nowhere) it names.
 */
struct world {
	uint8_t pack[ROOM];
	size_t n;
	struct oid ids[MOST];
	size_t n_ids;
};

static struct oid
pick(const struct world *w, uint8_t i)
{
	struct oid nowhere = { .n = OID_SHA1, .b = { i } };

	return i < w->n_ids ? w->ids[i] : nowhere;
}

static void
put(struct world *w, const void *p, size_t n)
{
	CHECK(n <= ROOM - w->n);
	memcpy(w->pack + w->n, p, n);
	w->n += n;
}

static struct oid
digest_of(const struct buf *a, const struct buf *b)
{
	uint8_t sum[DIGEST_SIZE];
	enum err err;
	struct digest *d = digest_new_sha1(&err);

	CHECK(d != NULL);
	digest_put(d, buf_slice(a));
	digest_put(d, buf_slice(b));
	digest_end(d, sum);
	digest_free(d);
	return oid_of(sum, OID_SHA1);
}

static void
put_object(struct world *w, unsigned kind, const struct buf *text)
{
	static const char *const kinds[] = { "", "commit", "tree", "", "tag" };
	uint8_t out[4096],
	    head[] = { (uint8_t)(0x80 | kind << 4 | (text->n & 15)),
		    (uint8_t)(0x80 | (text->n >> 4 & 127)),
		    (uint8_t)(text->n >> 11) };
	struct buf name;

	buf_init(&name, 64);
	buf_putf(&name, "%s %zu", kinds[kind], text->n);
	buf_put_byte(&name, 0);
	struct oid id = digest_of(&name, text);
	buf_release(&name);
	for (size_t i = 0; i < w->n_ids; i++) {
		if (oid_eq(&w->ids[i], &id))
			return;
	}
	CHECK(text->n + STORED_MORE <= sizeof(out));
	put(w, head, sizeof(head));
	put(w, out, stored_put(buf_slice(text), out));
	w->ids[w->n_ids++] = id;
}

static void
put_tree(struct world *w, struct slice s, struct buf *text)
{
	static const char *const modes[] = { "100644", "100755", "120000",
		"160000", "40000" };

	for (uint8_t i = 0; i + 1U < s.n && i < 8; i += 2) {
		struct oid id = pick(w, s.p[i + 1]);
		buf_putf(text, "%s %c%c", modes[s.p[i] % 5], 'A' + i / 2,
		    s.p[i] % 2 != 0 ? 'b' : 'B');
		buf_put_byte(text, 0);
		buf_put(text, slice_of(id.b, id.n));
	}
	put_object(w, OBJECT_TREE, text);
}

static void
put_commit(struct world *w, struct slice s, struct buf *text)
{
	char digits[OID_TEXT_SIZE];
	struct oid id = pick(w, s.n == 0 ? 0 : s.p[0]);

	oid_text(&id, digits);
	buf_putf(text, "tree %s\n", digits);
	for (size_t i = 1; i < s.n && i < 5; i++) {
		id = pick(w, s.p[i]);
		oid_text(&id, digits);
		buf_putf(text, "parent %s\n", digits);
	}
	buf_putf(text, "author A <a@b> 1 +0000\ncommitter C <c@d> 1 +0000\n\n");
	put_object(w, OBJECT_COMMIT, text);
}

static void
put_tag(struct world *w, struct slice s, struct buf *text)
{
	static const char *const kinds[] = { "commit", "tree", "blob", "tag" };
	char digits[OID_TEXT_SIZE];
	struct oid id = pick(w, s.n == 0 ? 0 : s.p[0]);

	oid_text(&id, digits);
	buf_putf(text, "object %s\ntype %s\ntag t\n\n", digits,
	    kinds[s.n > 1 ? s.p[1] % 4 : 0]);
	put_object(w, OBJECT_TAG, text);
}

static void
make(struct world *w, struct slice in)
{
	w->n = w->n_ids = 0;
	put(w, "PACK\0\0\0\2\0\0\0\0", 12);
	while (in.n != 0 && w->n_ids < MOST) {
		struct slice s = slice_first(slice_from(in, 1), 6);
		struct buf text;
		buf_init(&text, 4096);
		if (in.p[0] % 4 == 0)
			put_tag(w, s, &text);
		else if (in.p[0] % 2 == 0)
			put_tree(w, s, &text);
		else
			put_commit(w, s, &text);
		buf_release(&text);
		in = slice_from(in, 1 + s.n);
	}
	w->pack[11] = (uint8_t)w->n_ids;
	struct buf all = { .p = w->pack, .n = w->n }, none = { 0 };
	struct oid sum = digest_of(&all, &none);
	put(w, sum.b, sum.n);
}

/* Each is its own ancestor; kept by itself; and no answer is out of range. */
static void
check_pair(const struct packs *packs, const struct oid *a, const struct oid *b)
{
	static const char *const paths[] = { "/a*/Bb", "/*/*/*", "/Ab/**",
		"/**" };
	static struct beyond beyond;
	uint8_t glob[16];
	const char *why;
	size_t n;

	beyond = (struct beyond){ 0 };
	CHECK(ancestry_descends(packs, a, a, &beyond) == PROOF_YES);
	CHECK(beyond.n == 0 && !beyond.is_cut);
	enum proof one = ancestry_descends(packs, a, b, &beyond);
	CHECK((one == PROOF_OPEN) == (beyond.n != 0 || beyond.is_cut));
	/* Names are digests: two cannot descend from each other. */
	if (one == PROOF_YES && !oid_eq(a, b))
		CHECK(ancestry_descends(packs, b, a, &beyond) != PROOF_YES);
	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		CHECK(pathglob_compile(slice_of_str(paths[i]), glob, &n, &why));
		struct slice g = slice_of(glob, n);
		beyond = (struct beyond){ 0 };
		CHECK(kept_same(packs, a, a, g, &beyond) == PROOF_YES);
		one = kept_same(packs, a, b, g, &beyond);
		CHECK((one == PROOF_OPEN) == (beyond.n != 0 || beyond.is_cut));
		CHECK(kept_same(packs, b, a, g, &beyond) == one);
	}
}

/* A push by a rule comes to an end, whatever the upstream says. */
static void
check_prove(struct pack *p, const struct oid *a, const struct oid *b)
{
	static const struct question_caps caps = { OID_SHA1, true, true, true,
		true, true };
	struct slice keep = SLICE("/Ab/\1");
	struct prove_rule rule = { .keep = &keep, .n_keep = 1 };
	struct prove_command commands[] = { { *a, *b },
		{ { OID_SHA1, { 0 } }, *a } };
	struct pack_cfg cfg = { .id_size = OID_SHA1 };
	struct prove *prove = prove_new(&rule, commands, 2, p, &cfg);
	enum prove_next next;
	struct buf body;
	int asked = 0;

	CHECK(prove != NULL);
	buf_init(&body, 1 << 16);
	do {
		struct prove_fail fail = { .detail = NULL };
		buf_clear(&body);
		next = prove_next(prove, &body, &fail);
		CHECK(next != PROVE_REFUSED || fail.detail != NULL);
		CHECK(next < PROVE_ASK_HEAD || body.n != 0);
		if (next == PROVE_ASK_OFFER)
			prove_offer(prove, &caps);
		else if (next == PROVE_ASK_HEAD)
			prove_head(prove, b);
		else if (next == PROVE_ASK_OBJECTS)
			CHECK(prove_answer(prove) != NULL);
	} while (next >= PROVE_ASK_OFFER && asked++ < 32);
	CHECK(next < PROVE_ASK_OFFER);
	buf_release(&body);
	prove_free(prove);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world w;
	struct pack_cfg cfg = { .id_size = OID_SHA1, .strict = true };
	struct parse_fail fail;
	struct oid stray;
	enum err err;
	size_t used, pass;

	if (size < 2)
		return 0;
	make(&w, slice_of(data + 2, size - 2));
	struct pack *p = pack_new(&cfg, &err);
	CHECK(p != NULL);
	CHECK(pack_take(p, slice_of(w.pack, w.n), &used, &pass, &fail) ==
	    PARSE_DONE);
	struct packs packs = { .pushed = p, .id_size = OID_SHA1 };
	struct oid a = pick(&w, data[0] % MOST), b = pick(&w, data[1] % MOST);
	check_pair(&packs, &a, &b);
	check_prove(p, &a, &b);
	/* With every object as a tip nothing is left over. */
	CHECK(ancestry_covers(&packs, w.ids, w.n_ids, &stray) == PROOF_YES);
	struct content_rule rule = { .is_signed = true };
	(void)!content_fits(&packs, &rule, &fail);
	pack_free(p);
	return 0;
}
