/* SPDX-License-Identifier: Apache-2.0 */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/base64.h"
#include "cred/placeholder.h"

/* What client libraries, command line tools and secret scanners look for. */
static const struct {
	const char *like, *pattern; /* POSIX extended */
} shapes[] = {
	{ "ghp_", "^ghp_[A-Za-z0-9]{36}$" },
	{ "gho_", "^gho_[A-Za-z0-9]{36}$" },
	{ "ghu_", "^ghu_[A-Za-z0-9]{36}$" },
	{ "ghs_", "^ghs_[A-Za-z0-9]{36}$" },
	{ "ghr_", "^ghr_[A-Za-z0-9]{36}$" },
	{ "github_pat_", "^github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}$" },
	{ "sk-ant-", "^sk-ant-api03-[A-Za-z0-9_-]{93}AA$" },
	{ "sk-", "^sk-[A-Za-z0-9]{48}$" },
	{ "sk-proj-", "^sk-proj-[A-Za-z0-9_-]{48}$" },
	{ "glpat-", "^glpat-[A-Za-z0-9_-]{20}$" },
	{ "npm_", "^npm_[A-Za-z0-9]{36}$" },
	{ "AIza", "^AIza[A-Za-z0-9_-]{35}$" },
	{ "hf_", "^hf_[A-Za-z0-9]{34}$" },
	{ "dckr_pat_", "^dckr_pat_[A-Za-z0-9_-]{27}$" },
	{ "sk_live_", "^sk_live_[A-Za-z0-9]{24}$" },
	{ "sk_test_", "^sk_test_[A-Za-z0-9]{24}$" },
	{ "xoxb-", "^xoxb-[0-9]{10,13}-[0-9]{10,13}-[A-Za-z0-9]{24}$" },
	{ "SG.", "^SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}$" },
	{ "jwt",
	    "^eyJ[A-Za-z0-9_-]{33}\\.[A-Za-z0-9_-]{44}\\."
	    "[A-Za-z0-9_-]{43}$" },
	{ "", "^duenna-[A-Za-z0-9]{36}$" },
	{ "xoxp-1.", "^xoxp-1\\.[A-Za-z0-9]{36}$" },
};

static bool
has_shape(struct slice text, const char *pattern)
{
	char copy[PLACEHOLDER_SIZE_MAX + 1];
	regex_t re;

	snprintf(copy, sizeof(copy), "%.*s", SLICE_ARG(text));
	assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	bool fits = regexec(&re, copy, 0, NULL, 0) == 0;
	regfree(&re);
	return fits;
}

static void
placeholder_has_the_shape_of_the_real_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(shapes); i++) {
		struct placeholder p, q;
		print_message("# %s\n", shapes[i].like);
		assert_true(
		    placeholder_make(slice_of_str(shapes[i].like), 7, &p));
		assert_int_equal(p.credential, 7);
		struct slice text = slice_of(p.text, p.n);
		assert_true(has_shape(text, shapes[i].pattern));
		assert_true(placeholder_is_marked(text));
		assert_true(
		    placeholder_make(slice_of_str(shapes[i].like), 7, &q));
		assert_false(slice_eq(text, slice_of(q.text, q.n)));
	}
}

/* Base64url without padding, for a look at the parts of a JWT. */
static size_t
decode_part(struct slice part, uint8_t out[64])
{
	char padded[100];
	size_t n = 0;

	for (; n < part.n; n++)
		padded[n] = part.p[n] == '-' ? '+' :
		    part.p[n] == '_'	     ? '/' :
					       (char)part.p[n];
	while (n % 4 != 0)
		padded[n++] = '=';
	assert_true(base64_decode(slice_of(padded, n), out, &n));
	return n;
}

static void
placeholder_jwt_can_be_taken_apart(void **state)
{
	(void)state;
	struct placeholder p;
	uint8_t out[64];

	assert_true(placeholder_make(SLICE("jwt"), 0, &p));
	uint8_t *one = memchr(p.text, '.', p.n);
	uint8_t *two = memchr(one + 1, '.', p.n - (size_t)(one + 1 - p.text));
	size_t n = decode_part(slice_of(p.text, (size_t)(one - p.text)), out);
	assert_true(slice_eq_str(slice_of(out, n),
	    "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"));
	n = decode_part(slice_of(one + 1, (size_t)(two - one - 1)), out);
	assert_true(slice_eq_str(slice_of(out, n),
	    "{\"sub\":\"duenna\",\"exp\":4102444800}"));
	n = decode_part(slice_of(two + 1, p.n - (size_t)(two + 1 - p.text)),
	    out);
	assert_int_equal(n, 32);
}

static void
placeholder_refuses_odd_shapes(void **state)
{
	(void)state;
	struct placeholder p;

	assert_false(placeholder_make(SLICE("a b"), 0, &p));
	assert_false(placeholder_make(SLICE("a\n"), 0, &p));
	assert_false(placeholder_make(SLICE("a:"), 0, &p));
	assert_false(placeholder_make(
	    SLICE("0123456789012345678901234567890123456789012345678"), 0, &p));
}

static void
placeholder_set_tells_ours_from_others(void **state)
{
	(void)state;
	struct placeholder_set set;
	struct placeholder a, b, other;
	uint8_t text[600];
	enum err err;

	placeholder_set_init(&set);
	assert_true(placeholder_make(SLICE("ghp_"), 1, &a));
	assert_true(placeholder_make(SLICE(""), 2, &b));
	assert_true(placeholder_make(SLICE("ghp_"), 1, &other));
	assert_int_equal(placeholder_set_add(&set, 1, slice_of(a.text, a.n),
			     &err),
	    0);
	assert_int_equal(placeholder_set_add(&set, 2, slice_of(b.text, b.n),
			     &err),
	    0);
	assert_int_equal(
	    placeholder_find(&set, slice_of(b.text, b.n))->credential, 2);
	assert_null(placeholder_find(&set, slice_of(other.text, other.n)));
	assert_null(placeholder_find(&set, slice_of(a.text, a.n - 1)));

	memcpy(text, "x=", 2);
	memcpy(text + 2, a.text, a.n);
	memcpy(text + 2 + a.n, b.text, b.n);
	size_t n = 2 + a.n + b.n;
	assert_true(placeholder_is_marked(slice_of(text, n)));
	assert_true(placeholder_are_ours(&set, slice_of(text, n)));
	memcpy(text + n, other.text, other.n);
	assert_false(placeholder_are_ours(&set, slice_of(text, n + other.n)));
	assert_false(placeholder_are_ours(&set, slice_of(text, n - 1)));
	assert_true(placeholder_is_marked(SLICE("--DUENNA7Q--")));
	assert_false(placeholder_are_ours(&set, SLICE("--DUENNA7Q--")));
	assert_false(placeholder_is_marked(SLICE("duenna7")));
	assert_true(placeholder_are_ours(&set, SLICE("nothing here")));
	placeholder_set_release(&set);
}

static void
placeholder_set_takes_the_reserved_form_only(void **state)
{
	(void)state;
	struct placeholder_set set;
	enum err err;
	uint8_t big[PLACEHOLDER_SIZE_MAX + 1];

	placeholder_set_init(&set);
	memset(big, 'x', sizeof(big));
	memcpy(big, PLACEHOLDER_MARK, 8);
	assert_int_equal(placeholder_set_add(&set, 0,
			     SLICE("ghp_plain0123456789"), &err),
	    -1);
	assert_int_equal(err, ERR_MESSAGE);
	assert_int_equal(placeholder_set_add(&set, 0, SLICE("dUeNnA7qshort"),
			     &err),
	    -1);
	assert_int_equal(placeholder_set_add(&set, 0,
			     slice_of(big, sizeof(big)), &err),
	    -1);
	for (int i = 0; i < PLACEHOLDERS_MAX; i++)
		assert_int_equal(placeholder_set_add(&set, 0,
				     slice_of(big, sizeof(big) - 1), &err),
		    0);
	assert_int_equal(placeholder_set_add(&set, 0,
			     slice_of(big, sizeof(big) - 1), &err),
	    -1);
	assert_int_equal(err, ERR_FULL);
	placeholder_set_release(&set);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placeholder_has_the_shape_of_the_real_one),
		cmocka_unit_test(placeholder_jwt_can_be_taken_apart),
		cmocka_unit_test(placeholder_refuses_odd_shapes),
		cmocka_unit_test(placeholder_set_tells_ours_from_others),
		cmocka_unit_test(placeholder_set_takes_the_reserved_form_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
