/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/querycond.h"
#include "base/ascii.h"
#include "wire/query.h"

#define END (-1)

bool
querycond_compile(struct slice text, uint8_t *out, size_t *n, const char **why)
{
	*n = 0;
	for (size_t i = 0; i < text.n; i++) {
		struct slice rest = slice_from(text, i);
		int c = text.p[i];
		if (c == '*') {
			bool twice = rest.n > 1 && rest.p[1] == '*';
			c = twice ? QUERYCOND_DOUBLE : QUERYCOND_STAR;
			i += twice ? 1 : 0;
		} else if (c == '%') {
			int high = rest.n < 3 ? -1 : ascii_hex(rest.p[1]);
			int low = rest.n < 3 ? -1 : ascii_hex(rest.p[2]);
			if (high < 0 || low < 0) {
				*why = "`%` wants two hex digits; `%25` is a "
				       "percent sign";
				return false;
			}
			c = high * 16 + low;
			i += 2;
		}
		if (c < 0x20 && text.p[i] != '*') {
			*why = "controls match no glob";
			return false;
		}
		if (*n == QUERYCOND_GLOB_MAX) {
			*why = "too long: 255 bytes at most";
			return false;
		}
		out[(*n)++] = (uint8_t)c;
	}
	return true;
}

/* at[i]: the first `i` bytes of the glob match what was read so far. */
struct places {
	bool at[QUERYCOND_GLOB_MAX + 1];
};

/* A `**` may be empty: a place before it is one behind it as well. */
static void
skip_doubles(struct slice glob, struct places *places)
{
	for (size_t i = 0; i < glob.n; i++)
		if (places->at[i] && glob.p[i] == QUERYCOND_DOUBLE)
			places->at[i + 1] = true;
}

static bool
byte_takes(uint8_t have, int c)
{
	if (have == QUERYCOND_DOUBLE)
		return true;
	return have == QUERYCOND_STAR ? c != '/' : have == c;
}

/* Read one byte of the value; false if no place is left. */
static bool
step(struct slice glob, struct places *places, int c)
{
	bool any = false;

	/* From the right, so that what is written is not read again. */
	for (size_t i = glob.n; i-- > 0;) {
		bool wild = glob.p[i] == QUERYCOND_STAR ||
		    glob.p[i] == QUERYCOND_DOUBLE;
		bool stays = wild && places->at[i + 1];
		places->at[i + 1] =
		    (places->at[i] || stays) && byte_takes(glob.p[i], c);
		any = any || places->at[i + 1];
	}
	places->at[0] = false;
	skip_doubles(glob, places);
	return any;
}

bool
querycond_glob(struct slice glob, struct slice raw)
{
	struct places places;

	if (glob.n > QUERYCOND_GLOB_MAX)
		return false;
	memset(&places, 0, sizeof(places));
	places.at[0] = true;
	skip_doubles(glob, &places);
	for (int c = query_take_char(&raw); c != END;
	     c = query_take_char(&raw)) {
		if (c < 0x20 || c == 0x7f)
			return false;
		if (!step(glob, &places, c))
			return false;
	}
	return places.at[glob.n];
}

static bool
value_fits(const struct image *m, uint32_t condition, struct slice value)
{
	uint32_t kind = image_word(m, TABLE_QUERIES, condition, QUERY_KIND);
	uint32_t glob = image_word(m, TABLE_QUERIES, condition, QUERY_GLOB);
	uint32_t n = image_word(m, TABLE_QUERIES, condition, QUERY_N_GLOBS);

	if (kind != QUERY_GLOBS)
		return kind == QUERY_ANY;
	for (uint32_t i = 0; i < n; i++)
		if (querycond_glob(image_string(m, TABLE_GLOBS, glob + i,
				       GLOB_TEXT_S),
			value))
			return true;
	return false;
}

/* `t%79pe` is no spelling that an honest client has for `type`. */
static bool
hides_letters(struct slice raw)
{
	while (raw.n != 0) {
		bool escaped = raw.p[0] == '%';
		int c = query_take_char(&raw);
		if (escaped && c >= 0 && c < 0x80 &&
		    (ascii_is_alnum((uint8_t)c) ||
			memchr("-._~", c, 4) != NULL))
			return true;
	}
	return false;
}

static bool
condition_holds(const struct image *m, uint32_t condition, struct slice query,
    bool deny)
{
	uint32_t kind = image_word(m, TABLE_QUERIES, condition, QUERY_KIND);
	struct slice want =
	    image_string(m, TABLE_QUERIES, condition, QUERY_KEY_S);
	uint32_t seen = 0, fit = 0;
	struct query_pair pair;

	while (query_take(&query, &pair)) {
		if (!query_is(pair.key, want))
			continue;
		seen++;
		if ((deny || !hides_letters(pair.key)) &&
		    value_fits(m, condition, pair.value))
			fit++;
	}
	if (kind == QUERY_ABSENT)
		return seen == 0;
	return deny ? fit != 0 : seen == 1 && fit == 1;
}

/* Is there a condition for this key? */
static bool
is_judged(const struct image *m, uint32_t rule, struct slice key)
{
	uint32_t first = image_word(m, TABLE_RULES, rule, RULE_QUERIES);
	uint32_t n = image_word(m, TABLE_RULES, rule, RULE_N_QUERIES);

	for (uint32_t i = first; i < first + n; i++)
		if (query_is(key,
			image_string(m, TABLE_QUERIES, i, QUERY_KEY_S)))
			return true;
	return false;
}

bool
querycond_match(const struct image *m, uint32_t rule, struct slice query,
    struct slice *key)
{
	uint32_t flags = image_word(m, TABLE_RULES, rule, RULE_FLAG_BITS);
	uint32_t first = image_word(m, TABLE_RULES, rule, RULE_QUERIES);
	uint32_t n = image_word(m, TABLE_RULES, rule, RULE_N_QUERIES);
	bool deny = (flags & RULE_DENY) != 0;
	struct query_pair pair;

	if ((flags & RULE_QUERY) == 0)
		return true;
	if (!deny && query.n != 0 && memchr(query.p, ';', query.n) != NULL) {
		*key = SLICE(";");
		return false;
	}
	for (uint32_t i = first; i < first + n; i++) {
		if (condition_holds(m, i, query, deny))
			continue;
		*key = image_string(m, TABLE_QUERIES, i, QUERY_KEY_S);
		return false;
	}
	if (deny || (flags & RULE_QUERY_OTHERS) != 0)
		return true;
	while (query_take(&query, &pair)) {
		*key = pair.key;
		if (!is_judged(m, rule, pair.key))
			return false;
	}
	return true;
}

bool
querycond_judges_value(const struct image *m, uint32_t rule, struct slice key)
{
	uint32_t first = image_word(m, TABLE_RULES, rule, RULE_QUERIES);
	uint32_t n = image_word(m, TABLE_RULES, rule, RULE_N_QUERIES);

	for (uint32_t i = first; i < first + n; i++)
		if (image_word(m, TABLE_QUERIES, i, QUERY_KIND) ==
			QUERY_GLOBS &&
		    query_is(key,
			image_string(m, TABLE_QUERIES, i, QUERY_KEY_S)))
			return true;
	return false;
}
