/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/image.h"
#include "base/ip.h"

static bool
is_inside(struct slice bytes, uint32_t from, uint64_t n)
{
	return from <= bytes.n && n <= bytes.n - from;
}

static bool
open_tables(struct image *m, const struct image_form *form)
{
	for (unsigned t = 0; t < form->n_tables; t++) {
		const uint8_t *p = m->bytes.p + (HEAD_TABLES + 2 * t) * 4;
		uint32_t from = image_read(p), n = image_read(p + 4);
		if (!is_inside(m->bytes, from,
			(uint64_t)n * form->words[t] * 4))
			return false;
		m->tables[t] = (struct image_table){ m->bytes.p + from, n,
			form->words[t] };
	}
	return true;
}

static bool
fits(const struct image *m, const struct image_check *c, uint32_t i)
{
	uint32_t word = image_word(m, c->table, i, c->word);

	switch (c->kind) {
	case CHECK_STRING:
		return is_inside(m->bytes, word,
		    image_word(m, c->table, i, c->word + 1U));
	case CHECK_INDEX:
		return word < image_count(m, c->what);
	case CHECK_INDEX_OR_NONE:
		return word == IMAGE_NONE || word < image_count(m, c->what);
	case CHECK_RANGE: {
		uint32_t n = image_word(m, c->table, i, c->word + 1U);
		uint32_t all = image_count(m, c->what);
		return word <= all && n <= all - word;
	}
	case CHECK_BELOW:
		return word < c->what;
	}
	return false;
}

bool
image_open(struct slice bytes, const struct image_form *form, struct image *m)
{
	*m = (struct image){ .bytes = bytes };
	if (bytes.n < HEAD_WORDS * 4 || bytes.n > IMAGE_SIZE_MAX)
		return false;
	if (image_read(bytes.p + HEAD_MAGIC * 4) != form->magic ||
	    image_read(bytes.p + HEAD_VERSION * 4) != IMAGE_VERSION ||
	    image_read(bytes.p + HEAD_SIZE * 4) != bytes.n)
		return false;
	if ((image_flags(m) & ~form->flags) != 0)
		return false;
	const uint8_t *name = bytes.p + HEAD_NAME_S * 4;
	if (!is_inside(bytes, image_read(name), image_read(name + 4)))
		return false;
	if (!open_tables(m, form))
		return false;
	for (size_t c = 0; c < form->n_checks; c++) {
		uint32_t n = image_count(m, form->checks[c].table);
		for (uint32_t i = 0; i < n; i++)
			if (!fits(m, &form->checks[c], i))
				return false;
	}
	return true;
}

bool
image_ip(const struct image *m, unsigned table, uint32_t i, unsigned word,
    struct ip *ip)
{
	uint32_t family = image_word(m, table, i, word);
	const struct image_table *t = &m->tables[table];

	*ip = (struct ip){ 0 };
	if (family != 4 && family != 6)
		return false;
	ip->family = (uint8_t)family;
	memcpy(ip->bytes, t->first + ((size_t)i * t->words + word + 1) * 4,
	    family == 4 ? 4 : 16);
	return true;
}
