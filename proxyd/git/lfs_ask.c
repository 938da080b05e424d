/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ascii.h"
#include "base/limits.h"
#include "git/lfs.h"

#define OID 64	       /* hex digits: sha256 */
#define SIZE_DIGITS 15 /* of a number, so that all of them fit */

/* What is left of the text; the first fault ends it all. */
struct json {
	const uint8_t *p, *end;
	struct parse_fail *fail;
	size_t size;
};

static bool
bad(struct json *j, const char *detail)
{
	*j->fail = (struct parse_fail){ REASON_GIT_MALFORMED, detail,
		j->size - (size_t)(j->end - j->p) };
	return false;
}

static void
skip_blanks(struct json *j)
{
	while (j->p < j->end && j->p[0] != '\0' &&
	    strchr(" \t\r\n", j->p[0]) != NULL)
		j->p++;
}

static bool
is_next(struct json *j, char c)
{
	skip_blanks(j);
	if (j->p == j->end || j->p[0] != c)
		return false;
	j->p++;
	return true;
}

static bool
want(struct json *j, char c, const char *detail)
{
	return is_next(j, c) || bad(j, detail);
}

/* Without its quotes.  No escape: what is read here needs none. */
static bool
read_string(struct json *j, struct slice *s)
{
	if (!want(j, '"', "expected a string"))
		return false;
	const uint8_t *from = j->p;
	while (j->p < j->end && j->p[0] != '"') {
		if (j->p[0] < ' ' || j->p[0] > '~' || j->p[0] == '\\')
			return bad(j, "escape or odd byte in a string");
		j->p++;
	}
	*s = slice_of(from, (size_t)(j->p - from));
	return want(j, '"', "string without an end");
}

static bool
read_size(struct json *j, uint64_t *n)
{
	unsigned digits = 0;

	skip_blanks(j);
	*n = 0;
	if (j->end - j->p >= 2 && j->p[0] == '0' && ascii_is_digit(j->p[1]))
		return bad(j, "a number with a zero before it");
	for (; j->p < j->end && ascii_is_digit(j->p[0]); j->p++) {
		*n = *n * 10 + (uint64_t)(j->p[0] - '0');
		if (++digits > SIZE_DIGITS)
			return bad(j, "a size that is too large");
	}
	if (digits == 0)
		return bad(j, "expected a size");
	/* Not 1.5, nor 1e9: what follows is a comma, or an end. */
	return j->p == j->end || strchr(",]} \t\r\n", j->p[0]) != NULL ||
	    bad(j, "a size that is no whole number");
}

/* The next member's key; false at the end of the object, or with a fault. */
static bool
next_key(struct json *j, bool first, struct slice *key)
{
	if (is_next(j, '}'))
		return false;
	if (!first && !want(j, ',', "expected a comma"))
		return false;
	return read_string(j, key) && want(j, ':', "expected a colon");
}

/* Any string: of these nothing is read, and nothing is written. */
static bool
skip_string(struct json *j)
{
	bool escaped = false;

	if (!want(j, '"', "expected a string"))
		return false;
	while (j->p < j->end && (escaped || j->p[0] != '"')) {
		escaped = j->p[0] == '\\' && !escaped;
		j->p++;
	}
	return want(j, '"', "string without an end");
}

/* `ref`: whose name any client can choose, so that it controls nothing. */
static bool
skip_ref(struct json *j)
{
	struct slice key;

	if (!want(j, '{', "expected an object"))
		return false;
	for (bool first = true; next_key(j, first, &key); first = false)
		if (!skip_string(j))
			return false;
	return j->fail->detail == NULL;
}

static bool
is_oid(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (ascii_hex(s.p[i]) < 0 || s.p[i] != ascii_lower(s.p[i]))
			return false;
	return s.n == OID;
}

static bool
read_object(struct json *j, struct lfs_ask *ask, struct wr *out)
{
	bool has_oid = false, has_size = false;
	struct slice key, oid = { 0 };
	uint64_t size = 0;

	if (!want(j, '{', "expected an object"))
		return false;
	for (bool first = true; next_key(j, first, &key); first = false) {
		bool *has = slice_eq(key, SLICE("oid")) ? &has_oid :
		    slice_eq(key, SLICE("size"))	? &has_size :
							  NULL;
		if (has == NULL || *has)
			return bad(j, "a key of an object, unknown or twice");
		*has = true;
		if (has == &has_oid ? !read_string(j, &oid) :
				      !read_size(j, &size))
			return false;
	}
	if (j->fail->detail != NULL)
		return false;
	if (!has_oid || !has_size || !is_oid(oid))
		return bad(j, "an object without its id or its size");
	ask->bytes += size;
	wr_bytes(out, SLICE("{\"oid\":\""));
	wr_bytes(out, oid);
	wr_bytes(out, SLICE("\",\"size\":"));
	char digits[SIZE_DIGITS + 1];
	size_t n = sizeof(digits);
	do
		digits[--n] = (char)('0' + size % 10);
	while ((size /= 10) != 0);
	wr_bytes(out, slice_of(digits + n, sizeof(digits) - n));
	wr_u8(out, '}');
	return true;
}

static bool
read_objects(struct json *j, struct lfs_ask *ask, struct wr *out)
{
	if (!want(j, '[', "expected a list of objects"))
		return false;
	wr_bytes(out, SLICE("\"objects\":["));
	while (!is_next(j, ']')) {
		if (ask->n_objects == LIMIT_LFS_OBJECTS) {
			(void)bad(j, "more objects than a batch may have");
			j->fail->reason = REASON_LIMIT_BYTES;
			return false;
		}
		if (ask->n_objects != 0 && !want(j, ',', "expected a comma"))
			return false;
		if (ask->n_objects++ != 0)
			wr_u8(out, ',');
		if (!read_object(j, ask, out))
			return false;
	}
	wr_u8(out, ']');
	return true;
}

/* What is asked for is what we can read of: no ssh, no other program. */
static bool
read_transfers(struct json *j, struct wr *out)
{
	bool basic = false, first = true;
	struct slice name;

	if (!want(j, '[', "expected a list of transfers"))
		return false;
	for (; !is_next(j, ']'); first = false) {
		if ((!first && !want(j, ',', "expected a comma")) ||
		    !read_string(j, &name))
			return false;
		basic = basic || slice_eq(name, SLICE("basic"));
	}
	wr_bytes(out, SLICE("\"transfers\":[\"basic\"]"));
	return basic || bad(j, "transfers without `basic`");
}

static bool
read_operation(struct json *j, struct lfs_ask *ask, struct wr *out)
{
	struct slice name;

	if (!read_string(j, &name))
		return false;
	ask->upload = slice_eq(name, SLICE("upload"));
	wr_bytes(out, SLICE("\"operation\":\""));
	wr_bytes(out, name);
	wr_u8(out, '"');
	return ask->upload || slice_eq(name, SLICE("download")) ||
	    bad(j, "an operation that is no download and no upload");
}

static bool
read_hash(struct json *j, struct wr *out)
{
	struct slice name;

	if (!read_string(j, &name))
		return false;
	wr_bytes(out, SLICE("\"hash_algo\":\"sha256\""));
	return slice_eq(name, SLICE("sha256")) ||
	    bad(j, "a hash that is not sha256");
}

enum member {
	OPERATION,
	TRANSFERS,
	REF,
	OBJECTS,
	HASH_ALGO,
	MEMBERS
};

static bool
read_member(struct json *j, enum member m, struct lfs_ask *ask, struct wr *out)
{
	switch (m) {
	case OPERATION:
		return read_operation(j, ask, out);
	case TRANSFERS:
		return read_transfers(j, out);
	case REF:
		return skip_ref(j);
	case OBJECTS:
		return read_objects(j, ask, out);
	case HASH_ALGO:
		return read_hash(j, out);
	case MEMBERS:
		break;
	}
	return bad(j, "unknown key of a batch");
}

static bool
read_batch(struct json *j, struct lfs_ask *ask, struct wr *out)
{
	static const char *const names[MEMBERS] = { "operation", "transfers",
		"ref", "objects", "hash_algo" };
	unsigned seen = 0;
	struct slice key;

	if (!want(j, '{', "expected an object"))
		return false;
	wr_u8(out, '{');
	for (bool first = true; next_key(j, first, &key); first = false) {
		unsigned m = 0;
		while (m < MEMBERS && !slice_eq_str(key, names[m]))
			m++;
		if ((seen >> m & 1) != 0)
			return bad(j, "a key of a batch that stands twice");
		if ((seen & ~(1U << REF)) != 0 && m != REF)
			wr_u8(out, ',');
		seen |= 1U << m;
		if (!read_member(j, (enum member)m, ask, out))
			return false;
	}
	if (j->fail->detail != NULL)
		return false;
	wr_u8(out, '}');
	skip_blanks(j);
	if (j->p != j->end)
		return bad(j, "bytes behind a batch");
	return (seen >> OPERATION & seen >> OBJECTS & 1) != 0 ||
	    bad(j, "a batch without its operation or its objects");
}

enum parse
lfs_ask_read(struct slice body, struct lfs_ask *ask, struct wr *out,
    struct parse_fail *fail)
{
	struct json j = { body.p, body.p + body.n, fail, body.n };
	size_t from = out->n;

	*ask = (struct lfs_ask){ 0 };
	*fail = (struct parse_fail){ .reason = REASON_ALLOW };
	if (body.n == 0)
		(void)bad(&j, "a batch without a body");
	else if (read_batch(&j, ask, out) && out->bad)
		(void)bad(&j, "no room for a batch");
	while (fail->detail == NULL && !out->bad && out->n - from < body.n)
		wr_u8(out, ' ');
	return fail->detail == NULL ? PARSE_DONE : PARSE_BAD;
}
