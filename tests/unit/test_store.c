/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/clock.h"
#include "keep/store.h"
#include "policy_bed.h"

#define CONFIG                                   \
	"version: 1\n"                           \
	"credentials:\n"                         \
	"  one:\n"                               \
	"    kind: token\n"                      \
	"    secret: {file: /run/secrets/one}\n" \
	"    only: [\"https://api.test/**\"]\n"  \
	"  two:\n"                               \
	"    kind: header\n"                     \
	"    header: X-Two\n"                    \
	"    secret: {env: TWO}\n"               \
	"    only: [\"https://two.test/**\"]\n"  \
	"  three:\n"                             \
	"    kind: basic\n"                      \
	"    user: bob\n"                        \
	"    secret: {env: THREE}\n"             \
	"    only: [\"https://two.test/**\"]\n"  \
	"  four:\n"                              \
	"    kind: basic\n"                      \
	"    slot: user\n"                       \
	"    secret: {env: FOUR}\n"              \
	"    only: [\"https://two.test/**\"]\n"  \
	"  five:\n"                              \
	"    kind: query\n"                      \
	"    parameter: key\n"                   \
	"    secret: {env: FIVE}\n"              \
	"    only: [\"https://two.test/**\"]\n"
#define POLICY         \
	"version: 1\n" \
	"policies:\n"  \
	"  p:\n"       \
	"    rules:\n" \
	"      - allow: https://api.test/**\n"

/* A store with that configuration; the images live in `b`. */
static struct store *
make(struct bed *b)
{
	enum err err;
	struct store *s = store_new(&err);

	assert_non_null(s);
	bed_load(b, CONFIG, POLICY);
	assert_non_null(b->owner);
	assert_int_equal(store_set_owner(s, b->owner, &err), 0);
	b->owner = NULL;
	return s;
}

static const struct {
	const char *name;
	struct slice bytes;
	bool here;
	const char *value; /* NULL: not to be had */
} secrets[] = {
	{ "plain", { (const uint8_t *)"s3cret", 6 }, true, "Bearer s3cret" },
	{ "line end", { (const uint8_t *)"s3cret\n", 7 }, true,
	    "Bearer s3cret" },
	{ "CR LF", { (const uint8_t *)"s3cret\r\n", 8 }, true,
	    "Bearer s3cret" },
	{ "two line ends", { (const uint8_t *)"s3cret\n\n", 8 }, true, NULL },
	{ "line end inside", { (const uint8_t *)"a\nX-B: c", 8 }, true, NULL },
	{ "CR inside", { (const uint8_t *)"a\rb", 3 }, true, NULL },
	{ "NUL", { (const uint8_t *)"a\0b", 3 }, true, NULL },
	{ "tab", { (const uint8_t *)"a\tb", 3 }, true, NULL },
	{ "DEL", { (const uint8_t *)"a\x7f", 2 }, true, NULL },
	{ "blank at the end", { (const uint8_t *)"a ", 2 }, true, NULL },
	{ "empty", { NULL, 0 }, true, NULL },
	{ "a line end alone", { (const uint8_t *)"\n", 1 }, true, NULL },
	{ "not here", { (const uint8_t *)"s3cret", 6 }, false, NULL },
};

static void
store_keeps_what_may_stand_in_a_header(void **state)
{
	(void)state;
	struct bed b;
	struct store *s = make(&b);
	struct secret value;
	enum err err;

	for (size_t i = 0; i < COUNT_OF(secrets); i++) {
		print_message("# %s\n", secrets[i].name);
		assert_int_equal(store_set_secret(s, 0, true, SLICE("old"),
				     &err),
		    0);
		assert_int_equal(store_set_secret(s, 0, secrets[i].here,
				     secrets[i].bytes, &err),
		    secrets[i].value == NULL ? -1 : 0);
		assert_int_equal(store_value(s, 0, NULL, &value, &err),
		    secrets[i].value == NULL ? -1 : 0);
		if (secrets[i].value == NULL)
			assert_int_equal(err, ERR_MISSING);
		else
			assert_true(slice_eq_str(secret_slice(&value),
			    secrets[i].value));
		secret_release(&value);
	}
	store_free(s);
	bed_release(&b);
}

static void
store_gives_each_kind_its_form(void **state)
{
	(void)state;
	static const struct {
		uint32_t credential;
		const char *secret, *value; /* NULL: not to be had */
	} rows[] = {
		{ 0, "s3cret", "Bearer s3cret" },
		{ 1, "s3cret", "s3cret" },
		{ 2, "s3cret", "Basic Ym9iOnMzY3JldA==" },
		{ 2, "a:b", "Basic Ym9iOmE6Yg==" },
		{ 3, "s3cret", "Basic czNjcmV0Og==" },
		{ 3, "a:b", NULL }, /* a colon ends the user */
		{ 4, "s3c&ret", "s3c&ret" },
	};
	struct bed b;
	struct store *s = make(&b);
	static uint8_t much[SECRET_MAX];
	struct secret value;
	enum err err;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		print_message("# %u %s\n", rows[i].credential, rows[i].secret);
		assert_int_equal(store_set_secret(s, rows[i].credential, true,
				     slice_of_str(rows[i].secret), &err),
		    rows[i].value == NULL ? -1 : 0);
		assert_int_equal(store_is_current(s, rows[i].credential),
		    rows[i].value != NULL);
		if (rows[i].value == NULL)
			continue;
		assert_int_equal(store_value(s, rows[i].credential, NULL,
				     &value, &err),
		    0);
		assert_true(slice_eq_str(secret_slice(&value), rows[i].value));
		secret_release(&value);
	}
	/* What is too long for a release is not to be had. */
	memset(much, 'x', sizeof(much));
	for (uint32_t i = 0; i < 4; i++) {
		bool fits = store_set_secret(s, i, true,
				slice_of(much, sizeof(much)), &err) == 0;
		assert_int_equal(fits, i == 1);
		assert_int_equal(store_set_secret(s, i, true,
				     slice_of(much, 12000), &err),
		    0);
	}
	store_free(s);
	bed_release(&b);
}

static void
store_knows_its_credentials(void **state)
{
	(void)state;
	struct bed b;
	struct store *s = make(&b);
	struct secret value;
	enum err err;

	assert_true(slice_eq_str(store_name(s, 0), "one"));
	assert_true(slice_eq_str(store_name(s, 1), "two"));
	assert_true(slice_eq_str(store_name(s, 5), "?"));
	assert_int_equal(store_set_secret(s, 1, true, SLICE("k"), &err), 0);
	assert_int_equal(store_value(s, 1, NULL, &value, &err), 0);
	assert_true(slice_eq_str(secret_slice(&value), "k"));
	secret_release(&value);
	assert_int_equal(store_set_secret(s, 5, true, SLICE("k"), &err), -1);
	assert_int_equal(store_value(s, 5, NULL, &value, &err), -1);
	assert_int_equal(store_value(s, UINT32_MAX, NULL, &value, &err), -1);
	store_free(s);
	bed_release(&b);
}

static void
store_knows_its_sandboxes(void **state)
{
	(void)state;
	struct bed b;
	struct store *s = make(&b);
	static uint8_t long_name[STORE_NAME_MAX + 1];
	enum err err;

	assert_null(store_find(s, 7));
	assert_int_equal(store_set_name(s, 7, SLICE("build-42"), &err), 0);
	assert_null(store_find(s, 7)->program);
	assert_int_equal(store_set_program(s, 7, 3, SLICE("sha256:aa"),
			     b.program, &err),
	    0);
	b.program = NULL;
	const struct store_sandbox *sandbox = store_find(s, 7);
	assert_non_null(sandbox->program);
	assert_int_equal(sandbox->generation, 3);
	assert_int_equal(sandbox->n_name, 8);
	assert_int_equal(sandbox->n_digest, 9);
	assert_int_equal(store_set_name(s, 7,
			     slice_of(long_name, sizeof(long_name)), &err),
	    -1);
	assert_int_equal(err, ERR_MESSAGE);
	assert_int_equal(store_set_name(s, 7, (struct slice){ 0 }, &err), -1);
	for (uint32_t i = 100; i < 100 + STORE_SANDBOXES_MAX - 1; i++)
		assert_int_equal(store_set_name(s, i, SLICE("x"), &err), 0);
	assert_int_equal(store_set_name(s, 99, SLICE("x"), &err), -1);
	assert_int_equal(err, ERR_FULL);
	store_free(s);
	store_free(NULL);
	bed_release(&b);
}

static void
store_forgets_a_sandbox(void **state)
{
	(void)state;
	struct bed b;
	struct store *s = make(&b);
	const struct who who = { 7, 3, SLICE("sha256:aa"), SLICE("w0-1") };
	bool forged;
	enum err err;

	store_forget(s, 7); /* not there: nothing */
	assert_int_equal(store_set_name(s, 8, SLICE("other"), &err), 0);
	assert_int_equal(store_set_name(s, 7, SLICE("build-42"), &err), 0);
	assert_int_equal(store_set_program(s, 7, 3, SLICE("sha256:aa"),
			     b.program, &err),
	    0);
	b.program = NULL;
	assert_int_equal(store_check(s, &who, &forged), REASON_ALLOW);
	store_forget(s, 7);
	assert_null(store_find(s, 7));
	/* Who asked before that is honest, for a while. */
	assert_int_equal(store_check(s, &who, &forged), REASON_SHUTDOWN);
	assert_false(forged);
	clock_set(clock_ms() + IDS_GONE_MS, 1);
	assert_int_equal(store_check(s, &who, &forged), REASON_POLICY_NONE);
	assert_true(forged);
	clock_set(0, 0);
	assert_int_equal(store_set_name(s, 7, SLICE("again"), &err), 0);
	assert_false(store_is_gone(s, 7));
	store_free(s);
	bed_release(&b);
}

/* git's own servers take nothing but Basic. */
static void
store_gives_git_a_token_as_a_password(void **state)
{
	static char secret[SECRET_MAX];
	struct secret value;
	struct bed b;
	enum err err;

	(void)state;
	struct store *s = make(&b);
	assert_int_equal(store_set_secret(s, 0, true, SLICE("s3cret"), &err),
	    0);
	assert_int_equal(store_value(s, 0, "oauth2", &value, &err), 0);
	/* oauth2:s3cret */
	assert_true(
	    slice_eq_str(secret_slice(&value), "Basic b2F1dGgyOnMzY3JldA=="));
	secret_release(&value);
	/* What says itself how it goes, goes so. */
	assert_int_equal(store_set_secret(s, 2, true, SLICE("s3cret"), &err),
	    0);
	assert_int_equal(store_value(s, 2, "oauth2", &value, &err), 0);
	assert_true(
	    slice_eq_str(secret_slice(&value), "Basic Ym9iOnMzY3JldA=="));
	secret_release(&value);
	/* Longer than may be once it is encoded. */
	memset(secret, 'a', sizeof(secret));
	assert_int_equal(store_set_secret(s, 0, true,
			     slice_of(secret, SECRET_MAX - 100), &err),
	    0);
	assert_int_equal(store_value(s, 0, "oauth2", &value, &err), -1);
	assert_int_equal(err, ERR_MESSAGE);
	store_free(s);
	bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(store_keeps_what_may_stand_in_a_header),
		cmocka_unit_test(store_gives_each_kind_its_form),
		cmocka_unit_test(store_gives_git_a_token_as_a_password),
		cmocka_unit_test(store_knows_its_credentials),
		cmocka_unit_test(store_knows_its_sandboxes),
		cmocka_unit_test(store_forgets_a_sandbox),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
