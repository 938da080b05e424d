/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/ascii.h"
#include "git/commit.h"

#define ZONE 5 /* bytes of a time zone, "+0100" */

/* What is still to be read of a header, line by line. */
struct lines {
	struct slice in;   /* the whole content */
	size_t at;	   /* where the next line begins */
	const char *wrong; /* why it cannot be read; NULL as long as it can */
};

static bool
wrong(struct lines *l, const char *detail)
{
	if (l->wrong == NULL)
		l->wrong = detail;
	return false;
}

/* The next line without its LF, not taken; empty at the end of the header. */
static struct slice
line_ahead(struct lines *l)
{
	struct slice rest = slice_from(l->in, l->at);
	const uint8_t *lf = rest.n == 0 ? NULL : memchr(rest.p, '\n', rest.n);

	if (lf == NULL) {
		if (rest.n != 0)
			wrong(l, "header line without an end");
		return (struct slice){ 0 };
	}
	struct slice line = slice_of(rest.p, (size_t)(lf - rest.p));
	/* else what comes behind it would be seen by some readers only */
	if (line.n != 0 && memchr(line.p, '\0', line.n) != NULL) {
		wrong(l, "NUL in a header");
		return (struct slice){ 0 };
	}
	return line;
}

/* Is the next line `word` and a blank?  Then take it and give the rest of it. */
static bool
take(struct lines *l, const char *word, struct slice *value)
{
	struct slice line = line_ahead(l), name = slice_of_str(word);

	if (!slice_has_prefix(line, name) || line.n == name.n ||
	    line.p[name.n] != ' ')
		return false;
	*value = slice_from(line, name.n + 1);
	l->at += line.n + 1;
	return true;
}

static bool
take_id(struct lines *l, const char *word, size_t n, struct oid *o)
{
	struct slice text;

	if (!take(l, word, &text))
		return wrong(l, "header line is missing");
	if (!oid_read(text, n, o))
		return wrong(l, "object name in a header");
	return true;
}

/* Digits of a time and its zone, to the end of the line: fsck's badDate etc. */
static bool
is_date(struct slice s)
{
	size_t n = 0;

	while (n < s.n && ascii_is_digit(s.p[n]))
		n++;
	if (n == 0 || (n > 1 && s.p[0] == '0') || n == s.n || s.p[n] != ' ')
		return false;
	struct slice zone = slice_from(s, n + 1);
	if (zone.n != ZONE || (zone.p[0] != '+' && zone.p[0] != '-'))
		return false;
	for (size_t i = 1; i < ZONE; i++) {
		if (!ascii_is_digit(zone.p[i]))
			return false;
	}
	return true;
}

/*
 * NAME <E-MAIL> TIME ZONE, with one pair of brackets: else a host could take
 * another address for the author's than the rule was asked about.
 */
static bool
take_person(struct lines *l, const char *word, struct slice *email)
{
	struct slice s;

	if (!take(l, word, &s))
		return wrong(l, "header line is missing");
	const uint8_t *open = s.n == 0 ? NULL : memchr(s.p, '<', s.n);
	const uint8_t *close = s.n == 0 ? NULL : memchr(s.p, '>', s.n);
	if (open == NULL || close == NULL || close < open)
		return wrong(l, "person without an e-mail address");
	size_t from = (size_t)(open - s.p) + 1, to = (size_t)(close - s.p);
	struct slice rest = slice_from(s, to + 1);
	if (from == 1 || open[-1] != ' ' ||
	    memchr(s.p + from, '<', s.n - from) != NULL ||
	    (rest.n != 0 && memchr(rest.p, '>', rest.n) != NULL))
		return wrong(l, "person whose e-mail address is unclear");
	if (rest.n == 0 || rest.p[0] != ' ' || !is_date(slice_from(rest, 1)))
		return wrong(l, "person without a date");
	*email = slice_of(s.p + from, to - from);
	return true;
}

static bool
is_one_of(struct slice line, const char *const *words)
{
	for (; *words != NULL; words++) {
		struct slice w = slice_of_str(*words);
		if (slice_has_prefix(line, w) &&
		    (line.n == w.n || line.p[w.n] == ' '))
			return true;
	}
	return false;
}

/*
 * The header lines that are left, to the empty line or the end.  `reserved`
 * may not be among them; `signature`, if it is, sets is_signed.
 */
static bool
take_others(struct lines *l, const char *const *reserved, const char *signature,
    bool *is_signed)
{
	*is_signed = false;
	for (;;) {
		struct slice value, line = line_ahead(l);
		if (line.n == 0) /* also if something was wrong with it */
			return l->wrong == NULL;
		if (is_one_of(line, reserved))
			return wrong(l, "header line in the wrong place");
		if (take(l, signature, &value))
			*is_signed |=
			    slice_has_prefix(value, SLICE("-----BEGIN "));
		else
			l->at += line.n + 1;
	}
}

static bool
ended(const struct lines *l, struct parse_fail *fail)
{
	if (l->wrong != NULL)
		*fail = (struct parse_fail){ REASON_GIT_PACK, l->wrong, l->at };
	return l->wrong == NULL;
}

bool
commit_read(struct slice content, size_t n, struct commit *c,
    struct parse_fail *fail)
{
	static const char *const reserved[] = { "tree", "parent", "author",
		"committer", NULL };
	struct lines l = { .in = content };
	const char *signature = n == OID_SHA1 ? "gpgsig" : "gpgsig-sha256";
	struct oid parent;

	*c = (struct commit){ 0 };
	if (!take_id(&l, "tree", n, &c->tree))
		return ended(&l, fail);
	size_t from = l.at;
	while (slice_has_prefix(line_ahead(&l), SLICE("parent ")) &&
	    take_id(&l, "parent", n, &parent))
		c->n_parents++;
	c->parents = slice_of(content.p + from, l.at - from);
	if (l.wrong == NULL && take_person(&l, "author", &c->author) &&
	    take_person(&l, "committer", &c->committer))
		(void)take_others(&l, reserved, signature, &c->is_signed);
	return ended(&l, fail);
}

struct oid
commit_parent(const struct commit *c, size_t i)
{
	size_t word = sizeof("parent ") - 1, n = c->tree.n;
	size_t line = word + 2 * n + 1;
	struct oid o = { 0 };

	assert(i < c->n_parents && c->parents.n == c->n_parents * line);
	bool is =
	    oid_read(slice_of(c->parents.p + i * line + word, 2 * n), n, &o);
	assert(is);
	(void)is;
	return o;
}

static bool
take_kind(struct lines *l, enum tag_of *of)
{
	static const char *const names[] = {
		[TAG_OF_COMMIT] = "commit",
		[TAG_OF_TREE] = "tree",
		[TAG_OF_BLOB] = "blob",
		[TAG_OF_TAG] = "tag",
	};
	struct slice text;

	if (!take(l, "type", &text))
		return wrong(l, "header line is missing");
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (slice_eq_str(text, names[i])) {
			*of = (enum tag_of)i;
			return true;
		}
	}
	return wrong(l, "tag of an unknown kind");
}

/* Does a line of the text begin a signature, as git looks for it in a tag? */
static bool
has_signature(struct slice text)
{
	static const char *const begins[] = { "-----BEGIN PGP SIGNATURE-----",
		"-----BEGIN PGP MESSAGE-----", "-----BEGIN SIGNED MESSAGE-----",
		"-----BEGIN SSH SIGNATURE-----" };

	while (text.n != 0) {
		for (size_t i = 0; i < COUNT_OF(begins); i++) {
			if (slice_has_prefix(text, slice_of_str(begins[i])))
				return true;
		}
		const uint8_t *lf = memchr(text.p, '\n', text.n);
		if (lf == NULL)
			return false;
		text = slice_from(text, (size_t)(lf - text.p) + 1);
	}
	return false;
}

bool
tag_read(struct slice content, size_t n, struct tag *t, struct parse_fail *fail)
{
	static const char *const reserved[] = { "object", "type", "tag",
		"tagger", NULL };
	struct lines l = { .in = content };
	struct slice name;

	*t = (struct tag){ 0 };
	if (!take_id(&l, "object", n, &t->object) || !take_kind(&l, &t->of))
		return ended(&l, fail);
	if (!take(&l, "tag", &name)) {
		wrong(&l, "header line is missing");
		return ended(&l, fail);
	}
	/* The oldest tags have no tagger; fsck lets them pass. */
	if (slice_has_prefix(line_ahead(&l), SLICE("tagger ")) &&
	    !take_person(&l, "tagger", &t->tagger))
		return ended(&l, fail);
	if (take_others(&l, reserved, "gpgsig-sha256", &t->is_signed))
		t->is_signed |= has_signature(slice_from(content, l.at));
	return ended(&l, fail);
}
