/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/target.h"
#include "base/ascii.h"

static enum parse
bad(struct parse_fail *fail, const char *detail, size_t at)
{
	*fail = (struct parse_fail){ REASON_HTTP_MALFORMED, detail, at };
	return PARSE_BAD;
}

/* The offset of the first byte of `in` that is in `set`, or in.n. */
static size_t
find_any(struct slice in, struct slice set)
{
	size_t n = 0;

	while (n < in.n && memchr(set.p, in.p[n], set.n) == NULL)
		n++;
	return n;
}

/* Digits behind the colon; `at` is where they begin in the whole input. */
static enum parse
parse_port(struct slice in, size_t at, uint16_t *port, struct parse_fail *fail)
{
	uint32_t v = 0;

	if (in.n == 0)
		return bad(fail, "colon without a port", at);
	if (in.p[0] == '0')
		return bad(fail, "port begins with a zero", at);
	for (size_t i = 0; i < in.n; i++) {
		if (!ascii_is_digit(in.p[i]))
			return bad(fail, "port is not a number", at + i);
		v = v * 10 + (uint32_t)(in.p[i] - '0');
		if (v > UINT16_MAX)
			return bad(fail, "port over 65535", at);
	}
	*port = (uint16_t)v;
	return PARSE_DONE;
}

enum parse
target_authority(struct slice in, struct target_authority *a,
    struct parse_fail *fail)
{
	struct target_authority got = { 0 };
	size_t host = 0;

	/* The colons of an IPv6 address stand inside of its brackets. */
	if (in.n != 0 && in.p[0] == '[')
		host = find_any(in, SLICE("]"));
	host += find_any(slice_from(in, host), SLICE(":"));
	if (host_from_http(slice_first(in, host), &got.host, fail) !=
	    PARSE_DONE)
		return PARSE_BAD;
	if (host < in.n) {
		got.has_port = true;
		if (parse_port(slice_from(in, host + 1), host + 1, &got.port,
			fail) != PARSE_DONE)
			return PARSE_BAD;
	}
	*a = got;
	return PARSE_DONE;
}

static void
split_query(struct slice in, struct target *t)
{
	size_t n = find_any(in, SLICE("?"));

	t->path = slice_first(in, n);
	t->query = slice_from(in, n + 1);
	t->has_query = n < in.n;
}

/* The bytes of a scheme at the front of `in`, if `://` follows; else 0. */
static size_t
scheme_length(struct slice in)
{
	size_t n = 0;

	while (n < in.n &&
	    (ascii_is_alpha(in.p[n]) ||
		(n != 0 &&
		    (ascii_is_digit(in.p[n]) || in.p[n] == '+' ||
			in.p[n] == '-' || in.p[n] == '.'))))
		n++;
	return slice_has_prefix(slice_from(in, n), SLICE("://")) ? n : 0;
}

static enum parse
parse_absolute(struct slice in, size_t scheme, struct target *t,
    struct parse_fail *fail)
{
	size_t from = scheme + 3;
	struct slice rest = slice_from(in, from);
	size_t n = find_any(rest, SLICE("/?"));

	t->form = TARGET_ABSOLUTE;
	t->scheme = slice_first(in, scheme);
	if (target_authority(slice_first(rest, n), &t->authority, fail) !=
	    PARSE_DONE) {
		fail->at += from;
		return PARSE_BAD;
	}
	split_query(slice_from(rest, n), t);
	if (t->path.n == 0)
		t->path = SLICE("/");
	return PARSE_DONE;
}

enum parse
target_parse(struct slice in, struct target *t, struct parse_fail *fail)
{
	struct target got = { 0 };
	size_t scheme = scheme_length(in);

	if (in.n == 0)
		return bad(fail, "empty target", 0);
	if (in.p[0] == '/') {
		split_query(in, &got);
	} else if (slice_eq(in, SLICE("*"))) {
		got.form = TARGET_ASTERISK;
	} else if (scheme != 0) {
		if (parse_absolute(in, scheme, &got, fail) != PARSE_DONE)
			return PARSE_BAD;
	} else {
		struct parse_fail why;
		got.form = TARGET_AUTHORITY;
		if (target_authority(in, &got.authority, &why) != PARSE_DONE ||
		    !got.authority.has_port)
			return bad(fail, "target of no known form", 0);
	}
	*t = got;
	return PARSE_DONE;
}
