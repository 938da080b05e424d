/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/buf.h"
#include "cred/look.h"

/* Credentials 0 and 1 go into Authorization, 2 into a header of its own, 3 into
 * a parameter. */
static struct look_slot slot_rows[] = {
	{ { (const uint8_t *)"Authorization", 13 },
	    { (const uint8_t *)"Bearer ", 7 } },
	{ { (const uint8_t *)"Authorization", 13 },
	    { (const uint8_t *)"Token token=", 12 } },
	{ { (const uint8_t *)"DD-Api-Key", 10 }, { NULL, 0 }, false },
	{ { (const uint8_t *)"key", 3 }, { NULL, 0 }, true },
};
static const struct look_slots slots = { slot_rows, COUNT_OF(slot_rows) };

#define AUTH (1U << FOREIGN_AUTHORIZATION)

/*
 * In a row $0 to $3 are placeholders of those credentials, $x one of another
 * sandbox, and {...} is Base64 of what stands between.
 */
static const struct {
	const char *name, *target, *fields;
	enum placeholder_seen seen;
	uint32_t of;
	uint32_t foreign;
} rows[] = {
	/* in its slot */
	{ "nothing", "/", "Accept: */*", PLACEHOLDER_NONE, 0, 0 },
	{ "Bearer", "/", "Authorization: Bearer $0", PLACEHOLDER_IN_SLOT, 0,
	    0 },
	{ "any scheme", "/", "AUTHORIZATION: toKen $0", PLACEHOLDER_IN_SLOT, 0,
	    0 },
	{ "alone", "/", "authorization: $0", PLACEHOLDER_IN_SLOT, 0, 0 },
	{ "two blanks", "/", "Authorization: Bearer  $0", PLACEHOLDER_IN_SLOT,
	    0, 0 },
	{ "Basic user", "/", "Authorization: Basic {$0:}", PLACEHOLDER_IN_SLOT,
	    0, 0 },
	{ "Basic user alone", "/", "Authorization: Basic {$0}",
	    PLACEHOLDER_IN_SLOT, 0, 0 },
	{ "Basic user, any password", "/",
	    "Authorization: basic {$0:x-oauth-basic}", PLACEHOLDER_IN_SLOT, 0,
	    0 },
	{ "Basic password", "/", "Authorization: Basic {x:$0}",
	    PLACEHOLDER_IN_SLOT, 0, 0 },
	{ "the credential's prefix", "/", "Authorization: Token token=$1",
	    PLACEHOLDER_IN_SLOT, 1, 0 },
	{ "header of its own", "/", "dd-api-key: $2", PLACEHOLDER_IN_SLOT, 2,
	    0 },
	{ "parameter", "/?a=b&key=$3", "Accept: */*", PLACEHOLDER_IN_SLOT, 3,
	    0 },
	{ "parameter in another spelling", "/?K%45y=$3&a", "Accept: */*",
	    PLACEHOLDER_IN_SLOT, 3, 0 },
	{ "parameter with an escape", "/?key=%67hp_$4", "Accept: */*",
	    PLACEHOLDER_IN_SLOT, 3, 0 },
	/* misplaced */
	{ "another parameter", "/?keys=$3", "Accept: */*",
	    PLACEHOLDER_MISPLACED, 0, 0 },
	{ "another's parameter", "/?key=$0", "Accept: */*",
	    PLACEHOLDER_MISPLACED, 0, 0 },
	{ "parameter glued", "/?key=x$3", "Accept: */*", PLACEHOLDER_MISPLACED,
	    0, 0 },
	{ "parameter's name", "/?$3=key", "Accept: */*", PLACEHOLDER_MISPLACED,
	    0, 0 },
	{ "parameter twice", "/?key=$3&key=$3", "Accept: */*",
	    PLACEHOLDER_MISPLACED, 0, 0 },
	{ "parameter and path", "/$3?key=$3", "Accept: */*",
	    PLACEHOLDER_MISPLACED, 0, 0 },
	{ "a header named as the parameter", "/", "Key: $3",
	    PLACEHOLDER_MISPLACED, 0, 0 },
	{ "a parameter named as the header", "/?DD-Api-Key=$2", "Accept: */*",
	    PLACEHOLDER_MISPLACED, 0, 0 },
	{ "of the parameter in Basic", "/", "Authorization: Basic {$3:}",
	    PLACEHOLDER_MISPLACED, 0, AUTH },
	{ "path", "/x/$0", "Accept: */*", PLACEHOLDER_MISPLACED, 0, 0 },
	{ "query", "/?q=$0", "Accept: */*", PLACEHOLDER_MISPLACED, 0, 0 },
	{ "another header", "/", "X-Note: $0", PLACEHOLDER_MISPLACED, 0, 0 },
	{ "another slot", "/", "DD-Api-Key: $0", PLACEHOLDER_MISPLACED, 0, 0 },
	{ "another's slot", "/", "Authorization: Bearer $2",
	    PLACEHOLDER_MISPLACED, 0, AUTH },
	{ "slot spelled with _", "/", "DD_Api_Key: $2", PLACEHOLDER_MISPLACED,
	    0, 0 },
	{ "a table's slot", "/", "X-Api-Key: $0", PLACEHOLDER_MISPLACED, 0,
	    1U << FOREIGN_X_API_KEY },
	{ "header's name", "/", "$0: 1", PLACEHOLDER_MISPLACED, 0, 0 },
	{ "scheme", "/", "Authorization: $0 x", PLACEHOLDER_MISPLACED, 0,
	    AUTH },
	{ "glued before", "/", "Authorization: Bearer x$0",
	    PLACEHOLDER_MISPLACED, 0, AUTH },
	{ "glued behind", "/", "Authorization: Bearer $0x",
	    PLACEHOLDER_MISPLACED, 0, AUTH },
	{ "beside a parameter", "/", "Authorization: Digest user=$0, qop=auth",
	    PLACEHOLDER_MISPLACED, 0, AUTH },
	{ "twice in one value", "/", "Authorization: Bearer $0 $0",
	    PLACEHOLDER_MISPLACED, 0, AUTH },
	{ "twice in its slot", "/",
	    "Authorization: Bearer $0\nAuthorization: Bearer $0",
	    PLACEHOLDER_MISPLACED, 0, 0 },
	{ "in its slot and elsewhere", "/$0", "Authorization: Bearer $0",
	    PLACEHOLDER_MISPLACED, 0, 0 },
	{ "Basic both", "/", "Authorization: Basic {$0:$0}",
	    PLACEHOLDER_MISPLACED, 0, AUTH },
	{ "Basic part of user", "/", "Authorization: Basic {x$0:y}",
	    PLACEHOLDER_MISPLACED, 0, AUTH },
	{ "Basic nested", "/", "Authorization: Basic {x:{$0}}",
	    PLACEHOLDER_MISPLACED, 0, AUTH },
	{ "cookie", "/", "Cookie: a=$0", PLACEHOLDER_MISPLACED, 0, 0 },
	/* foreign */
	{ "another sandbox's", "/", "Authorization: Bearer $x",
	    PLACEHOLDER_FOREIGN, 0, AUTH },
	{ "another's in Basic", "/", "Authorization: Basic {$x:}",
	    PLACEHOLDER_FOREIGN, 0, AUTH },
	{ "another's in the path", "/$x", "Accept: */*", PLACEHOLDER_FOREIGN, 0,
	    0 },
	{ "in capital letters", "/", "X-Note: DUENNA7Q0123456789ab",
	    PLACEHOLDER_FOREIGN, 0, 0 },
	{ "escaped in the query", "/?q=d%55eNnA7q0123456789ab", "Accept: */*",
	    PLACEHOLDER_FOREIGN, 0, 0 },
	{ "ours misplaced and another's", "/$0/$x", "Accept: */*",
	    PLACEHOLDER_FOREIGN, 0, 0 },
	/* the client's own */
	{ "own token", "/", "Authorization: Bearer mine", PLACEHOLDER_NONE, 0,
	    AUTH },
	{ "own Basic", "/", "Authorization: Basic {me:mine}", PLACEHOLDER_NONE,
	    0, AUTH },
	{ "ours and own", "/",
	    "Authorization: Bearer $0\nAuthorization: Bearer mine",
	    PLACEHOLDER_IN_SLOT, 0, AUTH },
	{ "own key in the query", "/?Access%5Ftoken=1&b", "Accept: */*",
	    PLACEHOLDER_NONE, 0, 1U << FOREIGN_QUERY_ACCESS_TOKEN },
	{ "empty value", "/", "Authorization: ", PLACEHOLDER_NONE, 0, 0 },
};

struct fixture {
	struct placeholder_set set;
	struct placeholder ours[4], other;
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	enum err err;

	placeholder_set_init(&f->set);
	for (uint32_t i = 0; i < 4; i++)
		if (!placeholder_make(SLICE("ghp_"), i, &f->ours[i]) ||
		    placeholder_set_add(&f->set, i,
			slice_of(f->ours[i].text, f->ours[i].n), &err) != 0)
			return -1;
	*state = f;
	return placeholder_make(SLICE("ghp_"), 0, &f->other) ? 0 : -1;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	placeholder_set_release(&f->set);
	free(f);
	return 0;
}

/* Expand a row's text; `p` stands behind what was read. */
static void
expand(const struct fixture *f, const char **p, struct buf *out)
{
	for (; **p != '\0' && **p != '}'; (*p)++) {
		if (**p == '$') {
			(*p)++;
			/* $4 is that of 3 without its first four bytes. */
			const struct placeholder *h = **p == 'x' ?
			    &f->other :
			    &f->ours[**p == '4' ? 3 : **p - '0'];
			buf_put(out,
			    slice_from(slice_of(h->text, h->n),
				**p == '4' ? 4 : 0));
		} else if (**p == '{') {
			struct buf inner;
			char text[1024];
			buf_init(&inner, 700);
			(*p)++;
			expand(f, p, &inner);
			size_t n = base64_encode(buf_slice(&inner), text);
			buf_put(out, slice_of(text, n));
			buf_release(&inner);
		} else {
			buf_put_byte(out, (uint8_t) * *p);
		}
	}
}

static struct slice
expanded(const struct fixture *f, const char *text, struct buf *out)
{
	buf_init(out, 65536);
	expand(f, &text, out);
	return buf_slice(out);
}

/* "Name: value" lines into a list. */
static void
read_fields(struct slice text, struct field_list *list)
{
	while (text.n != 0) {
		const uint8_t *end = memchr(text.p, '\n', text.n);
		struct slice line = slice_first(text,
		    end == NULL ? text.n : (size_t)(end - text.p));
		const uint8_t *colon = memchr(line.p, ':', line.n);
		assert_non_null(colon);
		assert_true(
		    field_add(list, slice_of(line.p, (size_t)(colon - line.p)),
			slice_from(line, (size_t)(colon - line.p) + 2)));
		text = slice_from(text, line.n + 1);
	}
}

static struct facts
look(const struct fixture *f, const char *target, const char *fields)
{
	struct buf target_buf, fields_buf;
	struct field_list list = { 0 };
	struct facts facts;
	struct look_head head = { .method = SLICE("GET"), .fields = &list };

	memset(&facts, 0xff, sizeof(facts));
	head.target = expanded(f, target, &target_buf);
	const uint8_t *q = memchr(head.target.p, '?', head.target.n);
	if (q != NULL)
		head.query =
		    slice_from(head.target, (size_t)(q - head.target.p) + 1);
	read_fields(expanded(f, fields, &fields_buf), &list);
	look_at(&head, &slots, &f->set, &facts);
	buf_release(&target_buf);
	buf_release(&fields_buf);
	return facts;
}

static void
look_finds_each_placeholder(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		print_message("# %s\n", rows[i].name);
		struct facts facts = look(f, rows[i].target, rows[i].fields);
		assert_int_equal(facts.placeholder, rows[i].seen);
		if (rows[i].seen == PLACEHOLDER_IN_SLOT)
			assert_int_equal(facts.placeholder_of, rows[i].of);
		assert_int_equal(facts.placeholder_also, 0);
		assert_int_equal(facts.foreign, rows[i].foreign);
	}
}

/* The same places in trailers, where none is a slot. */
static void
look_finds_each_placeholder_in_trailers(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct field_list list = { 0 };
		struct buf text;

		if (strcmp(rows[i].target, "/") != 0)
			continue;
		print_message("# %s\n", rows[i].name);
		read_fields(expanded(f, rows[i].fields, &text), &list);
		assert_int_equal(look_trailers(&list, &f->set),
		    rows[i].seen == PLACEHOLDER_IN_SLOT ?
			PLACEHOLDER_MISPLACED :
			rows[i].seen);
		buf_release(&text);
	}
}

static void
look_takes_several_slots(void **state)
{
	struct fixture *f = *state;
	struct facts facts =
	    look(f, "/", "DD-Api-Key: $2\nAuthorization: Bearer $1");

	assert_int_equal(facts.placeholder, PLACEHOLDER_IN_SLOT);
	assert_int_equal(facts.placeholder_of, 2);
	assert_int_equal(facts.placeholder_also, 2);
	facts = look(f, "/",
	    "DD-Api-Key: $2\nAuthorization: Bearer $1\nAuthorization: Bearer $0");
	assert_int_equal(facts.placeholder, PLACEHOLDER_IN_SLOT);
	assert_int_equal(facts.placeholder_also, 1U << 16 | 2);
	facts = look(f, "/",
	    "DD-Api-Key: $2\nAuthorization: Bearer $1\nAuthorization: $1");
	assert_int_equal(facts.placeholder, PLACEHOLDER_MISPLACED);
}

static void
look_sees_cookies_ranges_and_signatures(void **state)
{
	struct fixture *f = *state;
	struct facts facts = look(f, "/?a=1&X-Amz-Signature=x", "cookie: a=b");

	assert_true(facts.cookie);
	assert_true(facts.signed_url);
	assert_false(facts.range);
	facts = look(f, "/?a=1", "RANGE: bytes=0-1");
	assert_true(facts.range);
	assert_false(facts.cookie);
	assert_false(facts.signed_url);
	/* In a slot of ours it is the placeholder, not a signature. */
	facts = look(f, "/?key=mine", "Accept: */*");
	assert_true(facts.signed_url);
	facts = look(f, "/?key=$3", "Accept: */*");
	assert_false(facts.signed_url);
	assert_int_equal(facts.placeholder, PLACEHOLDER_IN_SLOT);
	facts = look(f, "/", "If-Range: \"x\"");
	assert_true(facts.range);
}

static void
look_sees_the_method(void **state)
{
	struct fixture *f = *state;
	struct field_list none = { 0 };
	struct facts facts;
	struct look_head head = { .target = SLICE("/"), .fields = &none };

	head.method = slice_of(f->ours[0].text, f->ours[0].n);
	look_at(&head, &slots, &f->set, &facts);
	assert_int_equal(facts.placeholder, PLACEHOLDER_MISPLACED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(look_finds_each_placeholder),
		cmocka_unit_test(look_finds_each_placeholder_in_trailers),
		cmocka_unit_test(look_takes_several_slots),
		cmocka_unit_test(look_sees_cookies_ranges_and_signatures),
		cmocka_unit_test(look_sees_the_method),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
