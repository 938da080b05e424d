/* SPDX-License-Identifier: Apache-2.0 */
#include "load/build.h"
#include "base/utf8.h"

#define STRINGS_AT (HEAD_WORDS * 4) /* offset of the blob */

static void
put_word(struct buf *out, uint32_t word)
{
	uint8_t bytes[4] = { (uint8_t)(word >> 24), (uint8_t)(word >> 16),
		(uint8_t)(word >> 8), (uint8_t)word };

	buf_put(out, slice_of(bytes, sizeof(bytes)));
}

void
build_init(struct build *b)
{
	*b = (struct build){ .last_at = 0 };
	for (unsigned t = 0; t < IMAGE_TABLES_MAX; t++)
		buf_init(&b->tables[t], IMAGE_SIZE_MAX);
	buf_init(&b->strings, IMAGE_SIZE_MAX);
	for (unsigned i = 0; i < HEAD_WORDS; i++)
		put_word(&b->strings, 0);
}

void
build_release(struct build *b)
{
	for (unsigned t = 0; t < IMAGE_TABLES_MAX; t++)
		buf_release(&b->tables[t]);
	buf_release(&b->strings);
}

void
build_word(struct build *b, unsigned table, uint32_t word)
{
	put_word(&b->tables[table], word);
	b->words[table]++;
}

/* The blob's offset of a string; names of files come in long rows. */
static uint32_t
intern(struct build *b, struct slice s)
{
	if (s.n == 0)
		return STRINGS_AT;
	if (b->last.p == s.p && b->last.n == s.n)
		return b->last_at;
	b->last = s;
	b->last_at = (uint32_t)b->strings.n;
	buf_put(&b->strings, s);
	return b->last_at;
}

void
build_string(struct build *b, unsigned table, struct slice s)
{
	build_word(b, table, intern(b, s));
	build_word(b, table, (uint32_t)s.n);
}

void
build_file(struct build *b, unsigned table, struct slice s)
{
	size_t from = b->strings.n;

	build_string(b, table, s);
	/* One that is there already was tamed then. */
	if (b->strings.n != from)
		utf8_tame(b->strings.p + from, b->strings.n - from, 0);
}

void
build_ip(struct build *b, unsigned table, const struct ip *ip)
{
	build_word(b, table, ip->family);
	for (unsigned i = 0; i < 16; i += 4)
		build_word(b, table, image_read(ip->bytes + i));
}

static bool
has_failed(const struct build *b)
{
	for (unsigned t = 0; t < IMAGE_TABLES_MAX; t++)
		if (b->tables[t].failed)
			return true;
	return b->strings.failed;
}

bool
build_view(const struct build *b, const struct image_form *form,
    struct image *m)
{
	if (has_failed(b))
		return false;
	*m = (struct image){ .bytes = buf_slice(&b->strings) };
	for (unsigned t = 0; t < form->n_tables; t++)
		m->tables[t] = (struct image_table){ b->tables[t].p,
			b->words[t] / form->words[t], form->words[t] };
	return true;
}

bool
build_finish(struct build *b, const struct image_form *form, struct slice name,
    const uint8_t key[IMAGE_KEY_SIZE], struct buf *out)
{
	uint32_t name_at = intern(b, name);
	uint64_t at = b->strings.n, size = at;

	for (unsigned t = 0; t < IMAGE_TABLES_MAX; t++)
		size += b->tables[t].n;
	if (has_failed(b) || size > IMAGE_SIZE_MAX)
		return false;
	put_word(out, form->magic);
	put_word(out, IMAGE_VERSION);
	put_word(out, (uint32_t)size);
	buf_put(out, slice_of(key, IMAGE_KEY_SIZE));
	put_word(out, name_at);
	put_word(out, (uint32_t)name.n);
	put_word(out, b->flags);
	for (unsigned t = 0; t < IMAGE_TABLES_MAX; t++) {
		put_word(out, (uint32_t)at);
		put_word(out,
		    t < form->n_tables ? b->words[t] / form->words[t] : 0);
		at += b->tables[t].n;
	}
	buf_put(out, slice_from(buf_slice(&b->strings), STRINGS_AT));
	for (unsigned t = 0; t < IMAGE_TABLES_MAX; t++)
		buf_put(out, buf_slice(&b->tables[t]));
	return !out->failed;
}
