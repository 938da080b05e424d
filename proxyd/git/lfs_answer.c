/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes pass as they come; only a key waits until it is known.  A key that says
 * `Authorization` becomes another of the same length, which no server reads,
 * and its value a row of x: so the text stays JSON, and as long as it was.
 */
#include "base/ascii.h"
#include "git/lfs.h"

#define CUT SLICE("authorization")
#define INSTEAD SLICE("X-Not-Granted")

static bool
bad(struct parse_fail *fail, const char *detail)
{
	*fail = (struct parse_fail){ REASON_UP_RESPONSE, detail, 0 };
	return false;
}

void
lfs_answer_init(struct lfs_answer *a)
{
	*a = (struct lfs_answer){ 0 };
	a->key = wr_of(a->room, sizeof(a->room));
}

static bool
is_object(const struct lfs_answer *a)
{
	return a->depth != 0 && (a->objects >> (a->depth - 1) & 1) != 0;
}

/* The key is over: it is one to be cut, or it goes on as it is. */
static bool
end_key(struct lfs_answer *a, struct buf *out)
{
	struct slice key = wr_slice(&a->key);

	a->cut = !a->key.bad && ascii_eq_fold(key, CUT);
	/* One that was too long for the room has gone on already. */
	bool good = a->key.bad || buf_put(out, a->cut ? INSTEAD : key);
	a->key = wr_of(a->room, sizeof(a->room));
	return good;
}

/* One byte of a string, its last quote too. */
static bool
take_in_string(struct lfs_answer *a, uint8_t c, struct buf *out,
    struct parse_fail *fail)
{
	if (c < ' ')
		return bad(fail, "control in a string of a batch's answer");
	if (c == '"' && !a->escaped) {
		a->in_string = false;
		a->next = a->is_key ? LFS_COLON : LFS_COMMA;
		if (a->is_key)
			(void)end_key(a, out);
		else
			a->cut = false;
		(void)buf_put_byte(out, c);
		return true;
	}
	if (a->is_key && c == '\\')
		return bad(fail, "escape in a key of a batch's answer");
	a->escaped = c == '\\' && !a->escaped;
	if (!a->is_key) {
		(void)buf_put_byte(out, a->cut ? 'x' : c);
		return true;
	}
	if (!a->key.bad) {
		struct slice before = wr_slice(&a->key);
		wr_u8(&a->key, c);
		if (!a->key.bad)
			return true;
		(void)buf_put(out, before);
	}
	(void)buf_put_byte(out, c);
	return true;
}

static bool
open_level(struct lfs_answer *a, bool object, struct parse_fail *fail)
{
	if (a->depth == LFS_DEPTH)
		return bad(fail, "a batch's answer that is nested too deeply");
	a->objects &= ~(1U << a->depth);
	a->objects |= (object ? 1U : 0U) << a->depth;
	a->depth++;
	a->next = object ? LFS_FIRST_KEY : LFS_FIRST_VALUE;
	return true;
}

static void
open_string(struct lfs_answer *a, bool key)
{
	a->is_key = key;
	a->in_string = true;
	a->escaped = false;
}

/* A comma, or the bracket that ends the level that we are in. */
static bool
end_value(struct lfs_answer *a, uint8_t c)
{
	if (c == ',') {
		a->next = is_object(a) ? LFS_KEY : LFS_VALUE;
		return true;
	}
	if (c != (is_object(a) ? '}' : ']'))
		return false;
	a->depth--;
	a->next = a->depth == 0 ? LFS_END : LFS_COMMA;
	return true;
}

static bool
begin_value(struct lfs_answer *a, uint8_t c, struct parse_fail *fail)
{
	if (a->cut && c != '"')
		return bad(fail, "an Authorization that is no text");
	if (c == '{' || c == '[')
		return open_level(a, c == '{', fail);
	if (c == '"') {
		open_string(a, false);
		return true;
	}
	a->next = LFS_ATOM;
	return ascii_is_alnum(c) || c == '-' ||
	    bad(fail, "a batch's answer that is no JSON");
}

/* A byte outside of strings. */
static bool
take_outside(struct lfs_answer *a, uint8_t c, struct parse_fail *fail)
{
	bool good = false;

	if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
		if (a->next == LFS_ATOM)
			a->next = LFS_COMMA;
		return true;
	}
	switch (a->next) {
	case LFS_START:
		good = c == '{' && open_level(a, true, fail);
		break;
	case LFS_FIRST_KEY:
	case LFS_KEY:
		if (c == '"')
			open_string(a, true);
		good =
		    c == '"' || (a->next == LFS_FIRST_KEY && end_value(a, c));
		/* No comma stands for the first member. */
		good = good && c != ',';
		break;
	case LFS_COLON:
		good = c == ':';
		a->next = LFS_VALUE;
		break;
	case LFS_FIRST_VALUE:
		if (c != ']')
			return begin_value(a, c, fail);
		good = end_value(a, c);
		break;
	case LFS_VALUE:
		return begin_value(a, c, fail);
	case LFS_ATOM:
		if (ascii_is_alnum(c) || c == '.' || c == '-' || c == '+')
			return true;
		good = end_value(a, c);
		break;
	case LFS_COMMA:
		good = end_value(a, c);
		break;
	case LFS_END:
		break;
	}
	return good || bad(fail, "a batch's answer that is no JSON");
}

bool
lfs_answer_take(struct lfs_answer *a, struct slice in, struct buf *out,
    struct parse_fail *fail)
{
	for (size_t i = 0; i < in.n; i++) {
		uint8_t c = in.p[i];
		if (a->in_string) {
			if (!take_in_string(a, c, out, fail))
				return false;
			continue;
		}
		if (!take_outside(a, c, fail))
			return false;
		(void)buf_put_byte(out, c);
	}
	return !out->failed || bad(fail, "no memory for a batch's answer");
}

bool
lfs_answer_end(const struct lfs_answer *a, struct parse_fail *fail)
{
	return a->next == LFS_END ||
	    bad(fail, "a batch's answer that is not whole");
}
