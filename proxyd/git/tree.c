/* SPDX-License-Identifier: Apache-2.0 */
#include "git/tree.h"

#define MODE_DIGITS 6 /* "100644" */
#define MODE_KIND 0170000

void
tree_init(struct tree *t, struct slice content, size_t n)
{
	*t = (struct tree){ .rest = content, .n = n };
}

/* Octal digits and a blank.  Returns their length, or 0. */
static size_t
read_mode(struct slice s, uint32_t *mode)
{
	*mode = 0;
	for (size_t i = 0; i < s.n && i <= MODE_DIGITS; i++) {
		if (s.p[i] == ' ')
			return i == 0 || s.p[0] == '0' ? 0 : i + 1;
		if (s.p[i] < '0' || s.p[i] > '7')
			return 0;
		*mode = *mode << 3 | (uint32_t)(s.p[i] - '0');
	}
	return 0;
}

static bool
read_kind(uint32_t mode, enum tree_kind *kind)
{
	switch (mode & MODE_KIND) {
	case 0100000:
		*kind = TREE_FILE;
		return true;
	case 0040000:
		*kind = TREE_FOLDER;
		return true;
	case 0120000:
		*kind = TREE_LINK;
		return true;
	case 0160000:
		*kind = TREE_MODULE;
		return true;
	default:
		return false;
	}
}

static bool
is_name(struct slice s)
{
	return s.n != 0 && memchr(s.p, '/', s.n) == NULL &&
	    !slice_eq_str(s, ".") && !slice_eq_str(s, "..");
}

/* The byte at `i`, where a folder's name has a slash behind it. */
static int
byte_at(const struct tree_entry *e, size_t i)
{
	if (i < e->name.n)
		return e->name.p[i];
	return e->kind == TREE_FOLDER && i == e->name.n ? '/' : '\0';
}

int
tree_compare(const struct tree_entry *a, const struct tree_entry *b)
{
	size_t n = a->name.n < b->name.n ? a->name.n : b->name.n;
	int order = memcmp(a->name.p, b->name.p, n);

	return order != 0 ? order : byte_at(a, n) - byte_at(b, n);
}

/*
 * Is the name there for the second time?  That it is one of two files, or of
 * two folders, the order shows; between a file and a folder others may lie,
 * all of which begin with that name.
 */
static bool
is_twice(struct tree *t, const struct tree_entry *e)
{
	while (t->n_open != 0 &&
	    !slice_has_prefix(e->name, t->open[t->n_open - 1]))
		t->n_open--;
	if (e->kind == TREE_FOLDER)
		return t->n_open != 0 &&
		    slice_eq(e->name, t->open[t->n_open - 1]);
	if (t->n_open == TREE_OPEN)
		return true;
	t->open[t->n_open++] = e->name;
	return false;
}

bool
tree_next(struct tree *t, struct tree_entry *e)
{
	if (t->bad || t->rest.n == 0)
		return false;
	t->bad = true;
	size_t at = read_mode(t->rest, &e->mode);
	if (at == 0 || !read_kind(e->mode, &e->kind))
		return false;
	struct slice rest = slice_from(t->rest, at);
	const uint8_t *nul = rest.n == 0 ? NULL : memchr(rest.p, '\0', rest.n);
	if (nul == NULL)
		return false;
	e->name = slice_of(rest.p, (size_t)(nul - rest.p));
	rest = slice_from(rest, e->name.n + 1);
	if (rest.n < t->n || !is_name(e->name) ||
	    (t->has_last && tree_compare(&t->last, e) >= 0) || is_twice(t, e))
		return false;
	e->id = oid_of(rest.p, t->n);
	t->rest = slice_from(rest, t->n);
	t->last = *e;
	t->has_last = true;
	t->bad = false;
	return true;
}
