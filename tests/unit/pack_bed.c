/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>

#include "crypto/digest.h"
#include "pack_bed.h"

static struct oid
digest_of(size_t id_size, struct slice head, struct slice s)
{
	enum err err;
	struct digest *d =
	    id_size == OID_SHA1 ? digest_new_sha1(&err) : digest_new(&err);
	uint8_t sum[DIGEST_SIZE];

	assert_non_null(d);
	digest_put(d, head);
	digest_put(d, s);
	digest_end(d, sum);
	digest_free(d);
	return oid_of(sum, id_size);
}

struct oid
bed_name(size_t id_size, enum object_kind kind, struct slice s)
{
	static const char *const kinds[] = { "", "commit", "tree", "blob",
		"tag" };
	char head[64];
	int n = snprintf(head, sizeof(head), "%s %zu", kinds[kind], s.n);

	return digest_of(id_size, slice_of(head, (size_t)n + 1), s);
}

void
bed_init(struct bed *b, size_t id_size)
{
	*b = (struct bed){ .id_size = id_size };
	buf_init(&b->out, 64 << 20);
	buf_put(&b->out, SLICE("PACK\0\0\0\2\0\0\0\0"));
}

void
bed_head(struct bed *b, unsigned kind, uint64_t size)
{
	uint8_t c = (uint8_t)(kind << 4 | (size & 15));

	b->at[b->n++] = b->out.n;
	for (size >>= 4; size != 0; size >>= 7) {
		buf_put_byte(&b->out, c | 0x80);
		c = size & 0x7f;
	}
	buf_put_byte(&b->out, c);
}

void
bed_deflate(struct bed *b, struct slice s)
{
	uLongf n = compressBound(s.n);
	uint8_t *out = malloc(n);

	assert_non_null(out);
	assert_int_equal(compress(out, &n, s.p, s.n), Z_OK);
	buf_put(&b->out, slice_of(out, n));
	free(out);
}

struct oid
bed_put(struct bed *b, enum object_kind kind, struct slice s)
{
	bed_head(b, kind, s.n);
	bed_deflate(b, s);
	return bed_name(b->id_size, kind, s);
}

void
bed_put_ofs(struct bed *b, uint32_t base, struct slice delta)
{
	uint8_t bytes[10];
	size_t at = sizeof(bytes);

	bed_head(b, BED_OFS, delta.n);
	uint64_t distance = b->at[b->n - 1] - b->at[base];
	bytes[--at] = distance & 0x7f;
	while ((distance >>= 7) != 0)
		bytes[--at] = 0x80 | (--distance & 0x7f);
	buf_put(&b->out, slice_of(bytes + at, sizeof(bytes) - at));
	bed_deflate(b, delta);
}

void
bed_put_ref(struct bed *b, const struct oid *base, struct slice delta)
{
	bed_head(b, BED_REF, delta.n);
	buf_put(&b->out, slice_of(base->b, base->n));
	bed_deflate(b, delta);
}

static void
put_size(struct buf *out, size_t n)
{
	for (; n >= 0x80; n >>= 7)
		buf_put_byte(out, 0x80 | (n & 0x7f));
	buf_put_byte(out, (uint8_t)n);
}

struct slice
bed_delta(struct buf *out, struct slice from, struct slice to)
{
	buf_init(out, 1 << 20);
	put_size(out, from.n);
	put_size(out, to.n);
	while (to.n != 0) {
		struct slice piece = slice_first(to, 127);
		buf_put_byte(out, (uint8_t)piece.n);
		buf_put(out, piece);
		to = slice_from(to, piece.n);
	}
	return buf_slice(out);
}

struct slice
bed_end(struct bed *b)
{
	for (size_t i = 0; i < 4; i++)
		b->out.p[8 + i] = (uint8_t)(b->n >> (24 - 8 * i));
	struct oid sum =
	    digest_of(b->id_size, (struct slice){ 0 }, buf_slice(&b->out));
	buf_put(&b->out, slice_of(sum.b, sum.n));
	assert_false(b->out.failed);
	return buf_slice(&b->out);
}

void
bed_release(struct bed *b)
{
	buf_release(&b->out);
}

struct slice
bed_commit(const struct oid *tree, const struct oid *parents, size_t n,
    const char *rest)
{
	static struct buf text;
	char digits[OID_TEXT_SIZE];

	buf_release(&text);
	buf_init(&text, 1 << 20);
	oid_text(tree, digits);
	buf_putf(&text, "tree %s\n", digits);
	for (size_t i = 0; i < n; i++) {
		oid_text(&parents[i], digits);
		buf_putf(&text, "parent %s\n", digits);
	}
	buf_putf(&text,
	    "author A <author@example.com> 1 +0000\n"
	    "committer C <committer@example.com> 1 +0000\n%s",
	    rest);
	return buf_slice(&text);
}

struct pack *
bed_read(struct slice in, size_t id_size, bool strict, enum parse answer,
    struct parse_fail *fail)
{
	struct pack_cfg cfg = { .id_size = id_size,
		.strict = strict,
		.names = true };
	enum err err = ERR_NONE;
	struct pack *p = pack_new(&cfg, &err);
	enum parse got = PARSE_MORE;
	size_t used = 1, pass;

	assert_non_null(p);
	while (got == PARSE_MORE && (in.n != 0 || used != 0)) {
		got = pack_take(p, in, &used, &pass, fail);
		assert_true(pass <= used && used <= in.n);
		in = slice_from(in, used);
	}
	if (got != answer && got == PARSE_BAD)
		print_message("# %s at %zu\n", fail->detail, fail->at);
	assert_int_equal(got, answer);
	return p;
}
