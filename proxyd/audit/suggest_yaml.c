/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "audit/suggest_inside.h"
#include "base/ascii.h"
#include "policy/method.h"
#include "wire/query.h"

#define SIBLINGS_MIN 3 /* paths of one folder that become a star */

/* --- queries ------------------------------------------------------------- */

/* What needs no thought about escapes, on either side. */
static bool
is_simple(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		uint8_t c = text.p[i];
		if (!ascii_is_alpha(c) && !ascii_is_digit(c) &&
		    (c == '\0' || strchr("-._~", c) == NULL))
			return false;
	}
	return true;
}

static int
by_key(const void *a, const void *b)
{
	const struct query_pair *x = a, *y = b;
	size_t n = x->key.n < y->key.n ? x->key.n : y->key.n;
	int c = n == 0 ? 0 : memcmp(x->key.p, y->key.p, n);

	return c != 0 ? c : (x->key.n > y->key.n) - (x->key.n < y->key.n);
}

/* The pairs in the order of their keys; false: not such as a rule can say. */
static bool
read_pairs(struct slice query, struct query_pair pairs[SHAPE_KEYS_MAX],
    size_t *n)
{
	struct query_pair pair;

	*n = 0;
	while (query_take(&query, &pair)) {
		if (*n == SHAPE_KEYS_MAX || pair.key.n == 0 ||
		    !is_simple(pair.key) || slice_eq_str(pair.key, "others"))
			return false;
		if (pair.has_value &&
		    memchr(pair.value.p, ';', pair.value.n) != NULL)
			return false;
		pairs[(*n)++] = pair;
	}
	qsort(pairs, *n, sizeof(pairs[0]), by_key);
	/* A key of a condition stands exactly once. */
	for (size_t i = 1; i < *n; i++)
		if (slice_eq(pairs[i - 1].key, pairs[i].key))
			return false;
	return *n != 0;
}

bool
suggest_shape(struct slice query, uint8_t out[SHAPE_SIZE_MAX], size_t *n)
{
	struct query_pair pairs[SHAPE_KEYS_MAX];
	size_t n_pairs;
	uint8_t *p = out;

	if (query.n >= SHAPE_SIZE_MAX || !read_pairs(query, pairs, &n_pairs))
		return false;
	for (size_t i = 0; i < n_pairs; i++) {
		bool says = pairs[i].has_value && pairs[i].value.n != 0 &&
		    is_simple(pairs[i].value);
		if (i != 0)
			*p++ = '&';
		memcpy(p, pairs[i].key.p, pairs[i].key.n);
		p += pairs[i].key.n;
		if (!says)
			continue;
		*p++ = '=';
		memcpy(p, pairs[i].value.p, pairs[i].value.n);
		p += pairs[i].value.n;
	}
	*n = (size_t)(p - out);
	return true;
}

static void
put_query(struct buf *out, const struct wish *w)
{
	struct slice rest = w->shape;
	struct query_pair pair;
	const char *before = "";

	if (w->any_query)
		return;
	buf_put_str(out, "        query: {");
	while (query_take(&rest, &pair)) {
		buf_putf(out, "%s\"%.*s\": ", before, SLICE_ARG(pair.key));
		if (pair.has_value)
			buf_putf(out, "[\"%.*s\"]", SLICE_ARG(pair.value));
		else
			buf_put_str(out, "any");
		before = ", ";
	}
	buf_put_str(out, "}\n");
}

/* --- paths --------------------------------------------------------------- */

struct slice
suggest_folder(struct slice path)
{
	while (path.n != 0 && path.p[path.n - 1] != '/')
		path.n--;
	return path;
}

static bool
is_git(const struct wish *w)
{
	return slice_eq_str(w->scheme, SUGGEST_GIT);
}

/* No repository stands for another one. */
static bool
may_be_starred(const struct wish *w)
{
	return !w->escaped && w->folder.n != w->path.n && !is_git(w);
}

/* In `set`: how many stand in the folder of `w`, and is it the first? */
static size_t
count_siblings(struct wish *const *set, size_t n, const struct wish *w,
    bool *first)
{
	size_t count = 0;

	*first = false;
	for (size_t i = 0; i < n; i++) {
		if (!may_be_starred(set[i]) ||
		    !slice_eq(set[i]->folder, w->folder))
			continue;
		*first = *first || (count == 0 && set[i] == w);
		count++;
	}
	return count;
}

static bool
is_tls(const struct wish *w)
{
	return slice_eq_str(w->scheme, "https") ||
	    slice_eq_str(w->scheme, "wss") || is_git(w);
}

static bool
is_upgrade(const struct wish *w)
{
	return slice_eq_str(w->scheme, "ws") || slice_eq_str(w->scheme, "wss");
}

static void
put_pattern(struct buf *out, const struct wish *w, struct slice path,
    const char *wild, size_t seen)
{
	buf_putf(out, "          - \"%.*s://%.*s", SLICE_ARG(w->scheme),
	    SLICE_ARG(w->host));
	if (w->port != 0 && w->port != (is_tls(w) ? 443 : 80))
		buf_putf(out, ":%u", w->port);
	for (size_t i = 0; i < path.n; i++) {
		uint8_t c = path.p[i];
		if (c == '*') {
			buf_put_str(out, "%2A");
			continue;
		}
		if (c == '"' || c == '\\')
			buf_put_byte(out, '\\');
		buf_put_byte(out, c);
	}
	buf_putf(out, "%s\"", wild);
	if (seen > 1)
		buf_putf(out, " # %zu paths were seen", seen);
	buf_put_byte(out, '\n');
}

/* The patterns one by one; with `out` NULL only counted. */
static size_t
put_patterns(struct buf *out, struct wish *const *set, size_t n, bool *wide)
{
	size_t n_patterns = 0;
	bool first;

	for (size_t i = 0; i < n; i++) {
		const struct wish *w = set[i];
		size_t siblings =
		    may_be_starred(w) ? count_siblings(set, n, w, &first) : 0;
		if (siblings >= SIBLINGS_MIN && !first)
			continue;
		n_patterns++;
		*wide = *wide || siblings >= SIBLINGS_MIN;
		if (out == NULL)
			continue;
		if (siblings >= SIBLINGS_MIN)
			put_pattern(out, w, w->folder, "*", siblings);
		else
			put_pattern(out, w, w->path, "", 1);
	}
	return n_patterns;
}

static struct slice
common_folder(struct wish *const *set, size_t n)
{
	struct slice common = set[0]->path;

	for (size_t i = 1; i < n; i++) {
		size_t k = 0;
		while (k < common.n && k < set[i]->path.n &&
		    common.p[k] == set[i]->path.p[k])
			k++;
		common.n = k;
	}
	return suggest_folder(common);
}

/* --- rules --------------------------------------------------------------- */

static void
put_methods(struct buf *out, uint32_t methods)
{
	const char *before = "";

	buf_put_str(out, "        methods: [");
	for (int m = 0; m < METHOD_COUNT; m++) {
		if ((methods & METHOD_BIT(m)) == 0)
			continue;
		buf_putf(out, "%s%s", before, method_name((enum method)m));
		before = ", ";
	}
	buf_put_str(out, "]\n");
}

/* What the rule says yes to, in words: a comment above it. */
static void
put_comment(struct buf *out, struct wish *const *set, size_t n, bool wide)
{
	struct wish all = *set[0];

	all.n = 0;
	for (size_t i = 0; i < n; i++) {
		all.n += set[i]->n;
		all.foreign = all.foreign || set[i]->foreign;
		all.placeholder = all.placeholder || set[i]->placeholder;
		all.new_host = all.new_host || set[i]->new_host;
	}
	buf_putf(out, "\n      # refused %llu time%s, the first as %s\n",
	    (unsigned long long)all.n, all.n == 1 ? "" : "s",
	    reason_name(all.first));
	if (all.new_host)
		buf_put_str(out, "      # - opens a host without a rule\n");
	if (is_upgrade(&all))
		buf_put_str(out,
		    "      # - a WebSocket: what is said there is not looked "
		    "at\n");
	if (!is_tls(&all))
		buf_put_str(out,
		    "      # - plain HTTP: anybody on the way reads it and can "
		    "change it\n");
	if ((all.methods & ~METHODS_DEFAULT) != 0)
		buf_put_str(out,
		    "      # - not only reads: what is in a body leaves, and "
		    "changes things there\n");
	if (wide)
		buf_put_str(out,
		    "      # - wider than what was seen: what stands for the "
		    "star leaves\n");
	if (all.any_query)
		buf_put_str(out, "      # - any query: what is in it leaves\n");
	else if (all.shape.n != 0)
		buf_put_str(out,
		    "      # - values of the query leave, where it says any\n");
	if (all.foreign)
		buf_put_str(out,
		    "      # - it had a credential of its own: refused still, "
		    "see foreign_credentials\n");
	if (all.placeholder)
		buf_put_str(out,
		    "      # - it had a placeholder: add `credential:` with "
		    "its name\n");
}

static void
put_rule(struct buf *out, struct wish *const *set, size_t n, size_t number)
{
	bool wide = false;
	bool many = put_patterns(NULL, set, n, &wide) > SUGGEST_PATTERNS_MAX;

	put_comment(out, set, n, wide || many);
	buf_putf(out, "      - name: suggested-%zu\n        allow:\n", number);
	if (many)
		put_pattern(out, set[0], common_folder(set, n), "**", n);
	else
		(void)put_patterns(out, set, n, &wide);
	if (is_git(set[0])) {
		buf_put_str(out, "        fetch: true\n");
		return;
	}
	if (!is_upgrade(set[0]))
		put_methods(out, set[0]->methods);
	put_query(out, set[0]);
	if (set[0]->escaped)
		buf_put_str(out, "        encoded_slash: true\n");
}

/* May both stand in one rule? */
static bool
is_together(const struct wish *a, const struct wish *b)
{
	return a->methods == b->methods && a->escaped == b->escaped &&
	    a->port == b->port && a->any_query == b->any_query &&
	    slice_eq(a->host, b->host) && slice_eq(a->scheme, b->scheme) &&
	    slice_eq(a->shape, b->shape);
}

size_t
suggest_put_rules(struct wish *const *wishes, size_t n, struct buf *out)
{
	struct wish **set = calloc(n + 1, sizeof(struct wish *));
	bool *done = calloc(n + 1, sizeof(*done));
	size_t n_rules = 0;

	for (size_t i = 0; i < n && set != NULL && done != NULL; i++) {
		size_t n_set = 0;
		for (size_t k = i; k < n && !done[i]; k++) {
			if (!is_together(wishes[i], wishes[k]))
				continue;
			set[n_set++] = wishes[k];
			done[k] = k != i;
		}
		if (n_set != 0)
			put_rule(out, set, n_set, ++n_rules);
	}
	/* No rules for want of memory are not "no rules". */
	out->failed = out->failed || set == NULL || done == NULL;
	free(set);
	free(done);
	return n_rules;
}
