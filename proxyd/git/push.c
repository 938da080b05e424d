/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list is gathered line by line, so that no byte of the pack gets into it,
 * and each line is read once, when it is whole.  Everything is found by
 * lengths; nothing is ever searched for.
 */
#include "base/ascii.h"
#include "base/limits.h"
#include "git/push_caps.h"
#include "wire/pktline.h"

#define SHALLOW SLICE("shallow ")
#define CERTIFICATE SLICE("push-cert")

static enum parse
bad(struct parse_fail *fail, enum reason reason, const char *detail, size_t at)
{
	*fail = (struct parse_fail){ reason, detail, at };
	return PARSE_BAD;
}

static enum parse
malformed(struct parse_fail *fail, const char *detail, size_t at)
{
	return bad(fail, REASON_GIT_MALFORMED, detail, at);
}

void
push_init(struct push *p)
{
	*p = (struct push){ .state = PUSH_FIRST };
	buf_init(&p->list, LIMIT_PUSH_LIST_SIZE);
}

void
push_release(struct push *p)
{
	buf_release(&p->list);
	free(p->commands);
	free(p->options);
	*p = (struct push){ .state = PUSH_REFUSED };
}

static struct slice
span(const struct push *p, struct push_span s)
{
	return slice_of(p->list.p + s.at, s.n);
}

static struct push_span
span_of(const struct push *p, struct slice s)
{
	return (struct push_span){ (uint32_t)(s.p - p->list.p), (uint32_t)s.n };
}

/*
 * The id at the front of `rest`, made lower case in the list, which is ours;
 * `rest` goes on behind it.  Of 40 or 64 digits, all of the list alike.
 */
static enum parse
take_id(struct push *p, struct slice *rest, struct push_span *id,
    struct parse_fail *fail)
{
	size_t n = 0, at = span_of(p, *rest).at;

	while (n < rest->n && ascii_hex(rest->p[n]) >= 0)
		n++;
	if (n != 40 && n != 64)
		return malformed(fail, "id of a wrong length", at);
	if (p->n_id != 0 && n != p->n_id)
		return malformed(fail, "ids of two lengths", at);
	p->n_id = n;
	for (size_t i = at; i < at + n; i++)
		p->list.p[i] = ascii_lower(p->list.p[i]);
	*id = (struct push_span){ (uint32_t)at, (uint32_t)n };
	*rest = slice_from(*rest, n);
	return PARSE_DONE;
}

static bool
take_blank(struct slice *rest)
{
	if (rest->n == 0 || rest->p[0] != ' ')
		return false;
	*rest = slice_from(*rest, 1);
	return true;
}

static enum parse
read_shallow(struct push *p, struct slice data, struct parse_fail *fail)
{
	struct slice rest = slice_from(pktline_chomp(data), SHALLOW.n);
	struct push_span id;

	if (take_id(p, &rest, &id, fail) != PARSE_DONE)
		return PARSE_BAD;
	if (rest.n != 0)
		return malformed(fail, "bytes behind a shallow id",
		    span_of(p, rest).at);
	p->has_shallow = true;
	return PARSE_MORE;
}

/* A name that cannot be told to anybody is no name: LF, NUL, controls. */
static enum parse
check_ref(const struct push *p, struct slice ref, struct parse_fail *fail)
{
	size_t at = span_of(p, ref).at;

	if (ref.n == 0)
		return malformed(fail, "empty ref", at);
	for (size_t i = 0; i < ref.n; i++)
		if (ref.p[i] < ' ' || ref.p[i] == 0x7f)
			return malformed(fail, "control byte in a ref", at + i);
	/* Servers of one version run both, of another none. */
	for (size_t i = 0; i < p->n_commands; i++)
		if (slice_eq(span(p, p->commands[i].ref), ref))
			return malformed(fail, "a ref twice", at);
	return PARSE_DONE;
}

static bool
is_zero(struct slice id)
{
	for (size_t i = 0; i < id.n; i++)
		if (id.p[i] != '0')
			return false;
	return true;
}

static enum parse
add_command(struct push *p, const struct push_line *line,
    struct parse_fail *fail)
{
	if (p->n_commands == LIMIT_PUSH_COMMANDS_MOST)
		return bad(fail, REASON_LIMIT_BYTES, "too many commands",
		    line->old_id.at);
	if (p->n_commands == p->room) {
		size_t room = p->room == 0 ? 8 : p->room * 2;
		void *more = realloc(p->commands, room * sizeof(*line));
		if (more == NULL)
			return bad(fail, REASON_INTERNAL, "no memory",
			    line->old_id.at);
		p->commands = more;
		p->room = room;
	}
	p->commands[p->n_commands++] = *line;
	if (!is_zero(span(p, line->new_id)))
		p->wants_pack = true;
	return PARSE_MORE;
}

static enum parse
read_command(struct push *p, struct slice data, struct parse_fail *fail)
{
	const uint8_t *nul = data.n == 0 ? NULL : memchr(data.p, 0, data.n);
	bool first = p->state == PUSH_FIRST;
	size_t at = span_of(p, data).at;
	struct slice text = data, caps = { 0 };
	struct push_line line;

	if (nul != NULL && !first)
		return malformed(fail, "NUL in a later command",
		    span_of(p, slice_of(nul, 1)).at);
	if (nul != NULL) {
		text = slice_first(data, (size_t)(nul - data.p));
		caps = pktline_chomp(slice_from(data, text.n + 1));
	} else {
		text = pktline_chomp(data);
	}
	if (take_id(p, &text, &line.old_id, fail) != PARSE_DONE)
		return PARSE_BAD;
	if (!take_blank(&text))
		return malformed(fail, "no blank behind an id",
		    span_of(p, text).at);
	if (take_id(p, &text, &line.new_id, fail) != PARSE_DONE)
		return PARSE_BAD;
	if (!take_blank(&text))
		return malformed(fail, "no blank behind an id",
		    span_of(p, text).at);
	if (check_ref(p, text, fail) != PARSE_DONE)
		return PARSE_BAD;
	line.ref = span_of(p, text);
	if (first &&
	    push_caps_read(p, caps, nul == NULL ? at : span_of(p, caps).at,
		fail) != PARSE_DONE)
		return PARSE_BAD;
	p->state = PUSH_MORE;
	return add_command(p, &line, fail);
}

static enum parse
read_option(struct push *p, struct slice data, struct parse_fail *fail)
{
	struct slice text = pktline_chomp(data);
	size_t at = span_of(p, data).at;

	if (text.n == 0)
		return malformed(fail, "empty push option", at);
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] < ' ' || text.p[i] == 0x7f)
			return malformed(fail, "control byte in a push option",
			    at + i);
	if (p->n_options == LIMIT_PUSH_OPTIONS)
		return bad(fail, REASON_LIMIT_BYTES, "too many push options",
		    at);
	if (p->options == NULL)
		p->options = calloc(LIMIT_PUSH_OPTIONS, sizeof(*p->options));
	if (p->options == NULL)
		return bad(fail, REASON_INTERNAL, "no memory", at);
	p->options[p->n_options++] = span_of(p, text);
	return PARSE_MORE;
}

static enum parse
read_flush(struct push *p, struct parse_fail *fail)
{
	switch (p->state) {
	case PUSH_FIRST:
		if (p->has_shallow)
			return malformed(fail, "no command", p->at);
		p->state = PUSH_PROBED;
		return PARSE_MORE;
	case PUSH_MORE:
		if ((p->caps & PUSH_OPTIONS) != 0) {
			p->state = PUSH_OPTION;
			return PARSE_MORE;
		}
		p->state = PUSH_WHOLE;
		return PARSE_DONE;
	case PUSH_OPTION:
		p->state = PUSH_WHOLE;
		return PARSE_DONE;
	case PUSH_PROBED:
	case PUSH_WHOLE:
	case PUSH_REFUSED:
		break;
	}
	return malformed(fail, "flush out of place", p->at);
}

static enum parse
read_line(struct push *p, const struct pktline *line, struct parse_fail *fail)
{
	/* Servers end the list at such a packet too, others refuse it. */
	if (line->kind == PKTLINE_DELIM || line->kind == PKTLINE_RESPONSE_END)
		return malformed(fail, "packet that ends no list", p->at);
	if (line->kind == PKTLINE_FLUSH)
		return read_flush(p, fail);
	if (p->state == PUSH_OPTION)
		return read_option(p, line->data, fail);
	if (slice_has_prefix(line->data, CERTIFICATE))
		return malformed(fail, "push certificate", p->at);
	if (!slice_has_prefix(line->data, SHALLOW))
		return read_command(p, line->data, fail);
	if (p->state != PUSH_FIRST)
		return malformed(fail, "shallow line behind a command", p->at);
	return read_shallow(p, line->data, fail);
}

/* How many bytes the line at `at` still needs; a head first. */
static size_t
missing(const struct push *p)
{
	struct slice have = slice_from(buf_slice(&p->list), p->at);
	size_t n = 0;

	if (have.n < PKTLINE_HEAD)
		return PKTLINE_HEAD - have.n;
	for (size_t i = 0; i < PKTLINE_HEAD; i++)
		n = n * 16 + (size_t)ascii_hex(have.p[i]);
	return n - have.n;
}

/* Move of `in` into the list what its next line lacks, if that much is there. */
static enum parse
gather(struct push *p, struct slice in, size_t *used, struct parse_fail *fail)
{
	struct slice part = slice_first(slice_from(in, *used), missing(p));

	if (part.n > LIMIT_PUSH_LIST_SIZE - p->list.n)
		return bad(fail, REASON_LIMIT_BYTES,
		    "command list over the limit", LIMIT_PUSH_LIST_SIZE);
	if (!buf_put(&p->list, part))
		return bad(fail, REASON_INTERNAL, "no memory", p->list.n);
	*used += part.n;
	return PARSE_MORE;
}

/* One line, or as much of it as there is. */
static enum parse
step(struct push *p, struct slice in, size_t *used, struct parse_fail *fail)
{
	struct slice have = slice_from(buf_slice(&p->list), p->at);
	struct pktline line;
	size_t n;

	if (p->state == PUSH_PROBED && *used == in.n)
		return PARSE_MORE;
	if (p->state == PUSH_PROBED)
		return malformed(fail, "bytes behind a probe", p->at);
	enum parse got = pktline_take(have, &line, &n, fail);
	if (got == PARSE_MORE)
		return gather(p, in, used, fail);
	if (got == PARSE_BAD) {
		fail->at += p->at;
		return got;
	}
	got = read_line(p, &line, fail);
	p->at += n;
	return got;
}

enum parse
push_take(struct push *p, struct slice in, size_t *used,
    struct parse_fail *fail)
{
	enum parse got = p->state == PUSH_WHOLE ? PARSE_DONE : PARSE_MORE;
	size_t before = SIZE_MAX;

	*used = 0;
	if (p->state == PUSH_REFUSED)
		return malformed(fail, "after a fault", p->at);
	/* On while there is news: a line that was read, bytes that were taken. */
	while (got == PARSE_MORE && before != p->at + p->list.n) {
		before = p->at + p->list.n;
		got = step(p, in, used, fail);
	}
	if (got == PARSE_BAD)
		p->state = PUSH_REFUSED;
	return got;
}

enum parse
push_end(struct push *p, struct parse_fail *fail)
{
	if (p->state == PUSH_PROBED)
		return PARSE_DONE;
	if (p->state != PUSH_WHOLE)
		return malformed(fail, "ends before its flush", p->list.n);
	if (p->wants_pack)
		return malformed(fail, "no pack", p->list.n);
	return PARSE_DONE;
}

bool
push_is_probe(const struct push *p)
{
	return p->state == PUSH_PROBED;
}

struct git_command
push_command(const struct push *p, size_t i)
{
	const struct push_line *line = &p->commands[i];
	struct git_command c = { .ref = span(p, line->ref),
		.old_id = span(p, line->old_id),
		.new_id = span(p, line->new_id) };

	c.kind = is_zero(c.new_id) ? GIT_COMMAND_DELETE :
	    is_zero(c.old_id)	   ? GIT_COMMAND_CREATE :
				     GIT_COMMAND_UPDATE;
	return c;
}

struct slice
push_option(const struct push *p, size_t i)
{
	return span(p, p->options[i]);
}

bool
push_can_report(const struct push *p)
{
	return (p->caps & (PUSH_REPORT_STATUS | PUSH_REPORT_STATUS_V2)) != 0;
}
