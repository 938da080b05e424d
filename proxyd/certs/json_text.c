/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/json_text.h"
#include "base/ascii.h"

#define DEPTH_MAX 32 /* of lists and objects; policies have some five */

/* What is left of the text; each take_*() moves on, or answers false. */
struct text {
	struct slice rest;
	int depth;
};

static bool take_value(struct text *t);

static void
take_space(struct text *t)
{
	while (t->rest.n != 0 && memchr(" \t\r\n", t->rest.p[0], 4) != NULL)
		t->rest = slice_from(t->rest, 1);
}

static bool
take(struct text *t, const char *word)
{
	if (!slice_has_prefix(t->rest, slice_of_str(word)))
		return false;
	t->rest = slice_from(t->rest, strlen(word));
	return true;
}

static bool
take_string(struct text *t)
{
	size_t n = 1;

	if (t->rest.n == 0 || t->rest.p[0] != '"')
		return false;
	while (n < t->rest.n && t->rest.p[n] != '"') {
		if (t->rest.p[n] < ' ')
			return false;
		n += t->rest.p[n] == '\\' ? 2 : 1;
	}
	if (n >= t->rest.n)
		return false;
	t->rest = slice_from(t->rest, n + 1);
	return true;
}

/* Its form is not looked at: what a number is made of, one or more. */
static bool
take_number(struct text *t)
{
	size_t n = 0;

	while (n < t->rest.n &&
	    (ascii_is_digit(t->rest.p[n]) ||
		memchr("+-.eE", t->rest.p[n], 5) != NULL))
		n++;
	t->rest = slice_from(t->rest, n);
	return n != 0;
}

/* Of an object, with its name. */
static bool
take_member(struct text *t, struct slice *name, struct slice *value)
{
	take_space(t);
	*name = t->rest;
	if (!take_string(t))
		return false;
	*name = slice_first(*name, name->n - t->rest.n);
	take_space(t);
	if (!take(t, ":"))
		return false;
	take_space(t);
	*value = t->rest;
	if (!take_value(t))
		return false;
	*value = slice_first(*value, value->n - t->rest.n);
	take_space(t);
	return true;
}

static bool
take_list(struct text *t, bool object)
{
	const char *end = object ? "}" : "]";
	struct slice name, value;
	bool good;

	take_space(t);
	if (take(t, end))
		return true;
	do {
		take_space(t);
		good = object ? take_member(t, &name, &value) : take_value(t);
		take_space(t);
	} while (good && take(t, ","));
	return good && take(t, end);
}

static bool
take_value(struct text *t)
{
	bool object = take(t, "{");

	if (object || take(t, "[")) {
		if (t->depth == DEPTH_MAX)
			return false;
		t->depth++;
		bool good = take_list(t, object);
		t->depth--;
		return good;
	}
	return take_string(t) || take(t, "true") || take(t, "false") ||
	    take(t, "null") || take_number(t);
}

bool
json_text_is_whole(struct slice text)
{
	struct text t = { .rest = text };

	take_space(&t);
	bool good = take_value(&t);
	take_space(&t);
	return good && t.rest.n == 0;
}

bool
json_text_member(struct slice object, const char *name, struct slice *value)
{
	struct text t = { .rest = object };
	struct slice found, what;
	size_t n = strlen(name);
	bool there = false;

	take_space(&t);
	if (!take(&t, "{"))
		return false;
	while (take_member(&t, &found, &what)) {
		if (found.n == n + 2 && memcmp(found.p + 1, name, n) == 0) {
			*value = what;
			there = true;
		}
		if (!take(&t, ","))
			break;
	}
	return there;
}
