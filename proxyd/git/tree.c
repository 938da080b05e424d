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
static uint8_t
byte_at(struct slice s, size_t i, bool is_folder)
{
	if (i < s.n)
		return s.p[i];
	return is_folder ? '/' : '\0';
}

/* Does the name come behind the last one, in git's order? */
static bool
is_behind(const struct tree *t, struct slice name, bool is_folder)
{
	size_t n = name.n < t->last.n ? name.n : t->last.n;
	int order = n == 0 ? 0 : memcmp(t->last.p, name.p, n);

	if (order != 0 || t->last.n == 0)
		return order < 0 || t->last.n == 0;
	/* `a` and `a/`: one name for two things */
	if (name.n == t->last.n)
		return false;
	return byte_at(t->last, n, t->last_is_folder) <
	    byte_at(name, n, is_folder);
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
	bool is_folder = e->kind == TREE_FOLDER;
	if (rest.n < t->n || !is_name(e->name) ||
	    !is_behind(t, e->name, is_folder))
		return false;
	e->id = oid_of(rest.p, t->n);
	t->rest = slice_from(rest, t->n);
	t->last = e->name;
	t->last_is_folder = is_folder;
	t->bad = false;
	return true;
}
