/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/random.h>

#include <errno.h>

#include "base/ascii.h"
#include "base/wr.h"
#include "cred/placeholder.h"

#define MARK_N (sizeof(PLACEHOLDER_MARK) - 1)
#define RANDOM_MIN 12	  /* characters behind the mark: 71 bits */
#define RANDOM_DEFAULT 28 /* with the mark the 36 of a GitHub token */

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* How real ones look: what stands before, how long, what stands behind. */
static const struct shape {
	const char *like, *before;
	size_t n_random;
	const char *behind;
} shapes[] = {
	{ "ghp_", "ghp_", 28, "" },
	{ "gho_", "gho_", 28, "" },
	{ "ghu_", "ghu_", 28, "" },
	{ "ghs_", "ghs_", 28, "" },
	{ "ghr_", "ghr_", 28, "" },
	/* 22 characters, `_`, 59 characters: the first part is fixed here */
	{ "github_pat_", "github_pat_11DUENNA00000000000000_", 51, "" },
	{ "sk-ant-", "sk-ant-api03-", 85, "AA" },
	{ "sk-proj-", "sk-proj-", 40, "" },
	{ "sk-", "sk-", 40, "" },
	{ "glpat-", "glpat-", 12, "" },
	{ "npm_", "npm_", 28, "" },
	{ "AIza", "AIza", 27, "" },
	{ "hf_", "hf_", 26, "" },
	{ "dckr_pat_", "dckr_pat_", 19, "" },
	{ "sk_live_", "sk_live_", 16, "" },
	{ "sk_test_", "sk_test_", 16, "" },
	/* workspace and bot are numbers, then 24 characters */
	{ "xoxb-", "xoxb-100000000000-1000000000000-", 16, "" },
	/* 22 characters, a dot, 43 that are fixed here */
	{ "SG.", "SG.", 14, ".0000000000000000000000000000000000000000000" },
	/* {"alg":"HS256","typ":"JWT"} . {"sub":"duenna","exp":4102444800} and
	 * a signature of 32 bytes in 43 characters, the last of four bits */
	{ "jwt",
	    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
	    "eyJzdWIiOiJkdWVubmEiLCJleHAiOjQxMDI0NDQ4MDB9.",
	    34, "A" },
	{ "", "duenna-", RANDOM_DEFAULT, "" },
};

static bool
random_byte(uint8_t *c)
{
	ssize_t n;

	do
		n = getrandom(c, 1, 0);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

/* Letters and digits, each as likely as any other. */
static bool
put_random(struct wr *w, size_t n)
{
	static const char set[] = ALNUM;
	const uint8_t fair = 256 / (sizeof(set) - 1) * (sizeof(set) - 1) - 1;

	while (n != 0) {
		uint8_t c;
		if (!random_byte(&c))
			return false;
		if (c > fair)
			continue;
		wr_u8(w, (uint8_t)set[c % (sizeof(set) - 1)]);
		n--;
	}
	return true;
}

static bool
is_prefix(struct slice like)
{
	if (like.n > PLACEHOLDER_LIKE_MAX)
		return false;
	for (size_t i = 0; i < like.n; i++) {
		uint8_t c = like.p[i];
		if (!ascii_is_alnum(c) && c != '-' && c != '_' && c != '.')
			return false;
	}
	return true;
}

bool
placeholder_make(struct slice like, uint32_t credential, struct placeholder *p)
{
	struct shape shape = { "", NULL, RANDOM_DEFAULT, "" };
	struct wr w = wr_of(p->text, sizeof(p->text));

	*p = (struct placeholder){ .credential = credential };
	if (!is_prefix(like))
		return false;
	for (size_t i = 0; i < COUNT_OF(shapes); i++)
		if (slice_eq_str(like, shapes[i].like))
			shape = shapes[i];
	wr_bytes(&w, shape.before == NULL ? like : slice_of_str(shape.before));
	wr_bytes(&w, SLICE(PLACEHOLDER_MARK));
	if (!put_random(&w, shape.n_random))
		return false;
	wr_bytes(&w, slice_of_str(shape.behind));
	p->n = w.n;
	return !w.bad;
}

void
placeholder_set_init(struct placeholder_set *set)
{
	*set = (struct placeholder_set){ 0 };
}

void
placeholder_set_release(struct placeholder_set *set)
{
	free(set->at);
	*set = (struct placeholder_set){ 0 };
}

/* Where the next mark stands, or SIZE_MAX. */
static size_t
find_mark(struct slice text, size_t from)
{
	for (size_t i = from; i + MARK_N <= text.n; i++)
		if (ascii_eq_fold(slice_of(text.p + i, MARK_N),
			SLICE(PLACEHOLDER_MARK)))
			return i;
	return SIZE_MAX;
}

bool
placeholder_is_marked(struct slice text)
{
	return find_mark(text, 0) != SIZE_MAX;
}

int
placeholder_set_add(struct placeholder_set *set, uint32_t credential,
    struct slice text, enum err *err)
{
	struct placeholder *grown;
	size_t mark = find_mark(text, 0);

	if (text.n > PLACEHOLDER_SIZE_MAX || mark == SIZE_MAX ||
	    text.n - mark < MARK_N + RANDOM_MIN) {
		*err = ERR_MESSAGE;
		return -1;
	}
	if (set->n == PLACEHOLDERS_MAX) {
		*err = ERR_FULL;
		return -1;
	}
	grown = realloc(set->at, (set->n + 1) * sizeof(*grown));
	if (grown == NULL) {
		*err = ERR_MEMORY;
		return -1;
	}
	set->at = grown;
	grown[set->n] =
	    (struct placeholder){ .credential = credential, .n = text.n };
	memcpy(grown[set->n].text, text.p, text.n);
	set->n++;
	return 0;
}

const struct placeholder *
placeholder_find(const struct placeholder_set *set, struct slice text)
{
	for (size_t i = 0; i < set->n; i++)
		if (slice_eq(slice_of(set->at[i].text, set->at[i].n), text))
			return &set->at[i];
	return NULL;
}

/* Is the mark at `mark` inside one of ours? */
static bool
is_ours_at(const struct placeholder_set *set, struct slice text, size_t mark)
{
	for (size_t i = 0; i < set->n; i++) {
		struct slice p = slice_of(set->at[i].text, set->at[i].n);
		size_t within = find_mark(p, 0);
		if (within <= mark &&
		    slice_has_prefix(slice_from(text, mark - within), p))
			return true;
	}
	return false;
}

bool
placeholder_are_ours(const struct placeholder_set *set, struct slice text)
{
	size_t mark = find_mark(text, 0);

	while (mark != SIZE_MAX) {
		if (!is_ours_at(set, text, mark))
			return false;
		mark = find_mark(text, mark + 1);
	}
	return true;
}
