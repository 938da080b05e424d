/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/pathglob.h"
#include "base/ascii.h"

#define NO_STAR SIZE_MAX

/* The character of an escape that may stand unescaped as well, or 0. */
static uint8_t
folded(struct slice s, size_t at)
{
	if (s.n - at < 3)
		return 0;
	int high = ascii_hex(s.p[at + 1]), low = ascii_hex(s.p[at + 2]);
	if (high < 0 || low < 0)
		return 0;
	int c = high * 16 + low;
	return c != 0 && memchr("!$&'()*+,;=:@", c, 13) != NULL ? (uint8_t)c :
								  0;
}

struct slice
pathglob_fold(struct slice path, uint8_t *out)
{
	size_t n = 0;

	if (path.n == 0 || memchr(path.p, '%', path.n) == NULL)
		return path;
	for (size_t i = 0; i < path.n; i++) {
		uint8_t c = path.p[i] == '%' ? folded(path, i) : 0;
		out[n++] = c != 0 ? c : path.p[i];
		i += c != 0 ? 2 : 0;
	}
	return slice_of(out, n);
}

/* A run of stars at `at`: its length, and what it becomes. */
static uint8_t
compile_stars(struct slice text, size_t at, size_t *used, const char **why)
{
	size_t to = at;

	while (to < text.n && text.p[to] == '*')
		to++;
	*used = to - at;
	if (*used == 1)
		return PATHGLOB_STAR;
	bool whole = at != 0 && text.p[at - 1] == '/' &&
	    (to == text.n || text.p[to] == '/');
	if (*used == 2 && whole)
		return PATHGLOB_DOUBLE;
	*why = *used == 2 ? "`**` stands for whole segments: write `/**/`" :
			    "too many stars: `*` is a part of a segment, `**` "
			    "any number of segments";
	return 0;
}

bool
pathglob_compile(struct slice text, uint8_t *out, size_t *n, const char **why)
{
	*n = 0;
	for (size_t i = 0; i < text.n;) {
		size_t used = 1;
		uint8_t c = text.p[i];
		if (c == '*') {
			c = compile_stars(text, i, &used, why);
			if (c == 0)
				return false;
		} else if (c == '%' && folded(text, i) != 0) {
			c = folded(text, i);
			used = 3;
		}
		out[(*n)++] = c;
		i += used;
	}
	return true;
}

/* The segment that begins at `at`. */
static struct slice
segment_at(struct slice s, size_t at)
{
	struct slice rest = slice_from(s, at);
	const uint8_t *end = rest.n == 0 ? NULL : memchr(rest.p, '/', rest.n);

	return end == NULL ? rest : slice_first(rest, (size_t)(end - rest.p));
}

static bool
is_double(struct slice segment)
{
	return segment.n == 1 && segment.p[0] == PATHGLOB_DOUBLE;
}

static bool
match_segment(struct slice pattern, struct slice s)
{
	size_t i = 0, j = 0, star = NO_STAR, eaten = 0;

	while (j < s.n) {
		if (i < pattern.n && pattern.p[i] == PATHGLOB_STAR) {
			star = ++i;
			eaten = ++j; /* never empty */
		} else if (i < pattern.n && pattern.p[i] == s.p[j]) {
			i++;
			j++;
		} else if (star != NO_STAR) {
			/* The last star takes one more; earlier ones need not. */
			i = star;
			j = ++eaten;
		} else {
			return false;
		}
	}
	return i == pattern.n;
}

/* The same one level up: segments for bytes, `**` for `*`, empty allowed. */
static bool
match_segments(struct slice pattern, struct slice path)
{
	size_t i = 0, j = 0, star = NO_STAR, eaten = 0;

	/* Past the last segment an index is n + 1: the last may be empty. */
	while (j <= path.n) {
		struct slice want = segment_at(pattern, i);
		struct slice have = segment_at(path, j);
		if (i <= pattern.n && is_double(want)) {
			star = i += want.n + 1;
			eaten = j;
			if (star > pattern.n)
				return true;
		} else if (i <= pattern.n && !is_double(have) &&
		    match_segment(want, have)) {
			i += want.n + 1;
			j += have.n + 1;
		} else if (star != NO_STAR) {
			i = star;
			eaten += segment_at(path, eaten).n + 1;
			j = eaten;
		} else {
			return false;
		}
	}
	while (i <= pattern.n && is_double(segment_at(pattern, i)))
		i += 2;
	return i > pattern.n;
}

/*
 * Do they differ before the pattern's first star?  Most of a host's patterns
 * do, and are done with here.  What ends early is for the whole match.
 */
static bool
differs_at_once(struct slice pattern, struct slice path)
{
	size_t n = pattern.n < path.n ? pattern.n : path.n;

	for (size_t i = 0; i < n; i++) {
		if (pattern.p[i] == PATHGLOB_STAR ||
		    pattern.p[i] == PATHGLOB_DOUBLE)
			return false;
		if (pattern.p[i] != path.p[i])
			return true;
	}
	return false;
}

bool
pathglob_match(struct slice pattern, struct slice path)
{
	if (pattern.n == 0 || path.n == 0 || differs_at_once(pattern, path))
		return false;
	return match_segments(slice_from(pattern, 1), slice_from(path, 1));
}

bool
pathglob_covers(struct slice a, struct slice b)
{
	/*
	 * Read `b` as a path: its `**` is a segment that only ours can take,
	 * its `*` a byte that only a star can.
	 */
	return pathglob_match(a, b);
}
