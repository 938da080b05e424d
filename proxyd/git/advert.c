/* SPDX-License-Identifier: Apache-2.0 */
#include "git/advert.h"
#include "base/ascii.h"
#include "base/limits.h"
#include "git/advert_caps.h"
#include "git/put.h"

#define SHALLOW SLICE("shallow ")
#define ERR SLICE("ERR ")
#define HAVE SLICE(".have")
#define NO_REFS SLICE("capabilities^{}")
#define ERROR_SHOWN 4096 /* bytes of what a server says is wrong */

static enum parse
bad(struct parse_fail *fail, enum reason reason, const char *detail)
{
	*fail = (struct parse_fail){ reason, detail, 0 };
	return PARSE_BAD;
}

static enum parse
odd(struct parse_fail *fail, const char *detail)
{
	return bad(fail, REASON_UP_RESPONSE, detail);
}

void
advert_init(struct advert *a, const struct program *p, uint32_t rule, bool push)
{
	*a = (struct advert){ .p = p, .rule = rule, .push = push };
	/* Of a rule of another kind nothing is known, and nothing is hidden. */
	if (!git_rule(p, rule, &a->says))
		a->says = (struct git_rule){ .hide_refs = false };
	lines_init(&a->lines);
}

void
advert_release(struct advert *a)
{
	lines_release(&a->lines);
}

static bool
is_plain(struct slice text)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] < ' ' || text.p[i] == 0x7f)
			return false;
	return text.n != 0;
}

/* The service that was asked for, and no other. */
static enum parse
take_service(struct advert *a, struct slice text, struct buf *out,
    struct parse_fail *fail)
{
	struct slice want = a->push ? SLICE("# service=git-receive-pack") :
				      SLICE("# service=git-upload-pack");
	size_t at;

	if (!slice_eq(text, want))
		return odd(fail, "another service than was asked for");
	at = put_begin(out);
	buf_put(out, want);
	buf_put_byte(out, '\n');
	put_end(out, at);
	a->state = ADVERT_GAP;
	return PARSE_MORE;
}

static enum parse
take_version(struct advert *a, struct slice text, struct buf *out,
    struct parse_fail *fail)
{
	bool v2 = slice_eq(text, SLICE("version 2"));
	bool v1 = slice_eq(text, SLICE("version 1"));
	size_t at;

	/* git has none yet, so nobody knows what it would say. */
	if ((v2 && a->push) || (!v1 && !v2) || a->is_v1)
		return odd(fail, "version that is not known");
	at = put_begin(out);
	buf_put(out, text);
	buf_put_byte(out, '\n');
	put_end(out, at);
	a->is_v1 = v1;
	a->state = v2 ? ADVERT_V2 : ADVERT_FIRST;
	return PARSE_MORE;
}

static enum parse
take_error(struct advert *a, struct slice text, struct buf *out)
{
	size_t at = put_begin(out);

	buf_put(out, ERR);
	put_clean(out, slice_from(text, ERR.n), ERROR_SHOWN, true);
	put_end(out, at);
	a->state = ADVERT_ERROR;
	return PARSE_MORE;
}

/* An id, alike in all lines, off the front. */
static bool
take_id(struct advert *a, struct slice *rest, struct slice *id)
{
	size_t n = 0;

	while (n < rest->n && ascii_hex(rest->p[n]) >= 0)
		n++;
	*id = slice_first(*rest, n);
	*rest = slice_from(*rest, n);
	if ((n != 40 && n != 64) || (a->n_id != 0 && n != a->n_id))
		return false;
	a->n_id = n;
	return true;
}

static enum parse
take_shallow(struct advert *a, struct slice text, struct buf *out,
    struct parse_fail *fail)
{
	struct slice rest = slice_from(text, SHALLOW.n), id;
	size_t at;

	if (!take_id(a, &rest, &id) || rest.n != 0)
		return odd(fail, "shallow line that is none");
	at = put_begin(out);
	buf_put(out, SHALLOW);
	buf_put(out, id);
	buf_put_byte(out, '\n');
	put_end(out, at);
	a->state = ADVERT_SHALLOW;
	return PARSE_MORE;
}

/* As it is shown: a tip without its name keeps packs small. */
static struct slice
shown_name(const struct advert *a, struct slice name)
{
	if (!a->push || !a->says.hide_refs || slice_eq(name, NO_REFS) ||
	    git_rule_has_ref(a->p, a->rule, name))
		return name;
	return HAVE;
}

static enum parse
take_ref(struct advert *a, struct slice data, struct buf *out,
    struct parse_fail *fail)
{
	const uint8_t *nul = data.n == 0 ? NULL : memchr(data.p, 0, data.n);
	size_t n = nul == NULL ? data.n : (size_t)(nul - data.p);
	struct slice rest = slice_first(data, n), id, caps;
	bool first = a->state == ADVERT_FIRST;
	size_t at;

	if (first != (nul != NULL))
		return odd(fail, "capabilities in another line than the first");
	caps = slice_from(data, n + 1);
	if (!take_id(a, &rest, &id) || rest.n < 2 || rest.p[0] != ' ')
		return odd(fail, "ref without an id");
	rest = slice_from(rest, 1);
	if (!is_plain(rest) || (caps.n != 0 && !is_plain(caps)))
		return odd(fail, "control byte in a ref or a capability");
	at = put_begin(out);
	buf_put(out, id);
	buf_put_byte(out, ' ');
	buf_put(out, shown_name(a, rest));
	if (first) {
		buf_put_byte(out, 0);
		advert_put_caps(a, caps, out);
	}
	buf_put_byte(out, '\n');
	put_end(out, at);
	a->state = ADVERT_REFS;
	return PARSE_MORE;
}

static enum parse
take_flush(struct advert *a, struct buf *out, struct parse_fail *fail)
{
	if (a->state == ADVERT_SERVICE || a->state == ADVERT_WHOLE)
		return odd(fail, "flush out of place");
	put_flush(out);
	if (a->state == ADVERT_GAP) {
		a->state = ADVERT_FIRST;
		return PARSE_MORE;
	}
	a->state = ADVERT_WHOLE;
	return PARSE_DONE;
}

static enum parse
take_text(struct advert *a, struct slice data, struct buf *out,
    struct parse_fail *fail)
{
	struct slice text = pktline_chomp(data);

	switch (a->state) {
	case ADVERT_SERVICE:
		/* Version 2 may go without. */
		if (!a->push && slice_eq(text, SLICE("version 2")))
			return take_version(a, text, out, fail);
		return take_service(a, text, out, fail);
	case ADVERT_FIRST:
		if (slice_has_prefix(text, SLICE("version ")))
			return take_version(a, text, out, fail);
		if (slice_has_prefix(text, ERR))
			return take_error(a, text, out);
		return take_ref(a, text, out, fail);
	case ADVERT_REFS:
		if (slice_has_prefix(text, SHALLOW))
			return take_shallow(a, text, out, fail);
		return take_ref(a, text, out, fail);
	case ADVERT_SHALLOW:
		if (slice_has_prefix(text, SHALLOW))
			return take_shallow(a, text, out, fail);
		break;
	case ADVERT_V2:
		if (!is_plain(text))
			return odd(fail, "control byte in a capability");
		advert_put_v2(text, out);
		return PARSE_MORE;
	case ADVERT_GAP:
	case ADVERT_ERROR:
	case ADVERT_WHOLE:
		break;
	}
	return odd(fail, "line out of place");
}

static enum parse
take_line(struct advert *a, const struct pktline *line, struct buf *out,
    struct parse_fail *fail)
{
	switch (line->kind) {
	case PKTLINE_DATA:
		return take_text(a, line->data, out, fail);
	case PKTLINE_FLUSH:
		return take_flush(a, out, fail);
	case PKTLINE_DELIM:
	case PKTLINE_RESPONSE_END:
		break;
	}
	return odd(fail, "packet that no advertisement has");
}

enum parse
advert_take(struct advert *a, struct slice in, struct buf *out,
    struct parse_fail *fail)
{
	enum parse got = a->state == ADVERT_WHOLE ? PARSE_DONE : PARSE_MORE;
	struct pktline line;

	a->n += in.n;
	if (a->n > LIMIT_ADVERT_SIZE)
		return bad(fail, REASON_LIMIT_BYTES,
		    "advertisement over the limit");
	while (got == PARSE_MORE) {
		got = lines_take(&a->lines, &in, &line, fail);
		if (got == PARSE_BAD && fail->reason == REASON_GIT_MALFORMED)
			fail->reason = REASON_UP_RESPONSE;
		if (got != PARSE_DONE)
			return got;
		got = take_line(a, &line, out, fail);
		if (got != PARSE_BAD && out->failed)
			return bad(fail, REASON_INTERNAL, "no room");
	}
	if (got == PARSE_DONE && in.n != 0)
		return odd(fail, "bytes behind the advertisement");
	return got;
}

size_t
advert_held(const struct advert *a)
{
	return lines_is_partial(&a->lines) ? a->lines.part.n : 0;
}

enum parse
advert_end(const struct advert *a, struct parse_fail *fail)
{
	bool whole = a->state == ADVERT_WHOLE ||
	    (a->state == ADVERT_ERROR && !lines_is_partial(&a->lines));

	return whole ? PARSE_DONE : odd(fail, "advertisement that is cut");
}
