/* SPDX-License-Identifier: Apache-2.0 */
#include "ns/gitkeys.h"
#include "ns/gitconfig.h"

#define KEYS_SIZE 1048576 /* bytes of all such keys of one file */

/* All such keys with their values, in order: what is compared.  false: the
 * file cannot be read. */
static bool
collect(struct slice in, struct buf *out)
{
	struct gitconfig g;
	struct gitconfig_entry e;

	gitconfig_init(&g, in);
	while (gitconfig_next(&g, &e)) {
		if (!gitconfig_is_dangerous(&e))
			continue;
		buf_put_str(out, e.key);
		buf_put_str(out, e.has_value ? "\n=" : "\n");
		buf_put_str(out, e.value);
		buf_put_byte(out, '\0');
	}
	return !g.bad && !out->failed;
}

/* As git writes a value: in quotes whatever it is. */
static void
put_quoted(struct buf *out, const char *text)
{
	buf_put_byte(out, '"');
	for (; *text != '\0'; text++) {
		static const char from[] = "\t\b\n\\\"", to[] = "tbn\\\"";
		const char *at = strchr(from, *text);
		if (at != NULL)
			buf_put_byte(out, '\\');
		buf_put_byte(out,
		    (uint8_t)(at == NULL ? *text : to[at - from]));
	}
	buf_put_byte(out, '"');
}

/* [section "subsection"] name = value */
static void
put_entry(struct buf *out, const struct gitconfig_entry *e)
{
	const char *first = strchr(e->key, '.'), *last = strrchr(e->key, '.');

	buf_putf(out, "[%.*s", (int)(first - e->key), e->key);
	if (first != last) {
		buf_put_str(out, " \"");
		for (const char *p = first + 1; p < last; p++) {
			if (*p == '"' || *p == '\\')
				buf_put_byte(out, '\\');
			buf_put_byte(out, (uint8_t)*p);
		}
		buf_put_byte(out, '"');
	}
	buf_putf(out, "]\n\t%s", last + 1);
	if (e->has_value) {
		buf_put_str(out, " = ");
		put_quoted(out, e->value);
	}
	buf_put_byte(out, '\n');
}

/* With its line, where it is alone there: else blank lines would pile up. */
static void
widen(struct slice in, struct gitconfig_entry *e)
{
	size_t from = e->from;

	while (from != 0 && (in.p[from - 1] == ' ' || in.p[from - 1] == '\t'))
		from--;
	if (from != 0 && in.p[from - 1] == '\n' && e->to < in.n &&
	    in.p[e->to] == '\n') {
		e->from = from;
		e->to++;
	}
}

static void
put_without(struct buf *out, struct slice in)
{
	struct gitconfig g;
	struct gitconfig_entry e;
	size_t at = 0;

	gitconfig_init(&g, in);
	while (gitconfig_next(&g, &e)) {
		if (!gitconfig_is_dangerous(&e))
			continue;
		widen(in, &e);
		buf_put(out, slice_first(slice_from(in, at), e.from - at));
		at = e.to;
	}
	buf_put(out, slice_from(in, at));
}

/* A line of its own: two ends, as the first one may belong to a value that goes
 * on.  Those that are there count, or each run would add some. */
static void
end_line(struct buf *out)
{
	size_t n = out->n;

	if (n != 0 && out->p[n - 1] != '\n')
		buf_put_byte(out, '\n');
	if (n != 0 && (n < 2 || out->p[n - 1] != '\n' || out->p[n - 2] != '\n'))
		buf_put_byte(out, '\n');
}

static void
put_those_of(struct buf *out, struct slice in)
{
	struct gitconfig g;
	struct gitconfig_entry e;
	bool first = true;

	gitconfig_init(&g, in);
	while (gitconfig_next(&g, &e)) {
		if (!gitconfig_is_dangerous(&e))
			continue;
		if (first)
			end_line(out);
		first = false;
		put_entry(out, &e);
	}
}

/* Entries as collect() has them: the first one. */
static struct slice
first_of(struct slice in)
{
	const uint8_t *end = in.n == 0 ? NULL : memchr(in.p, '\0', in.n);

	return end == NULL ? (struct slice){ 0 } :
			     slice_first(in, (size_t)(end - in.p) + 1);
}

/* The key of the first one in which they differ, as a person may see it. */
static void
put_changed(struct buf *out, struct slice before, struct slice after)
{
	struct slice b = first_of(before), a = first_of(after);

	while (b.n != 0 && slice_eq(a, b)) {
		before = slice_from(before, b.n);
		after = slice_from(after, a.n);
		b = first_of(before);
		a = first_of(after);
	}
	struct slice one = a.n != 0 ? a : b;
	for (size_t i = 0; i < one.n && one.p[i] != '\n'; i++)
		buf_put_byte(out,
		    one.p[i] >= ' ' && one.p[i] < 0x7f ? one.p[i] : '?');
}

enum gitkeys
gitkeys_mend(struct slice before, struct slice after, struct buf *mended,
    struct buf *changed)
{
	enum gitkeys result = GITKEYS_MENDED;
	struct buf a, b;

	if (slice_eq(before, after))
		return GITKEYS_SAME;
	buf_init(&a, KEYS_SIZE);
	buf_init(&b, KEYS_SIZE);
	if (!collect(before, &a) || !collect(after, &b))
		result = GITKEYS_UNREADABLE;
	else if (slice_eq(buf_slice(&a), buf_slice(&b)))
		result = GITKEYS_SAME;
	if (result == GITKEYS_MENDED)
		put_changed(changed, buf_slice(&a), buf_slice(&b));
	buf_release(&a);
	buf_release(&b);
	if (result != GITKEYS_MENDED)
		return result;
	put_without(mended, after);
	put_those_of(mended, before);
	return mended->failed ? GITKEYS_UNREADABLE : GITKEYS_MENDED;
}

bool
gitkeys_hooks_path(struct slice config, char *path, size_t size)
{
	struct gitconfig g;
	struct gitconfig_entry e;
	bool found = false;

	gitconfig_init(&g, config);
	while (gitconfig_next(&g, &e)) {
		if (strcmp(e.key, "core.hookspath") != 0 || !e.has_value)
			continue;
		found = strlen(e.value) < size;
		snprintf(path, size, "%s", e.value);
	}
	return found;
}

bool
gitkeys_has_any(struct slice config)
{
	struct buf keys;

	buf_init(&keys, KEYS_SIZE);
	bool any = !collect(config, &keys) || keys.n != 0;
	buf_release(&keys);
	return any;
}
