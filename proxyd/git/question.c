/* SPDX-License-Identifier: Apache-2.0 */
#include "git/question.h"
#include "base/limits.h"
#include "wire/pktline.h"

static enum parse
bad(struct parse_fail *fail, const char *detail, size_t at)
{
	*fail = (struct parse_fail){ REASON_UP_RESPONSE, detail, at };
	return PARSE_BAD;
}

/* The next line at `at`, which is moved behind it. */
static enum parse
line_take(struct slice in, size_t *at, struct pktline *line,
    struct parse_fail *fail)
{
	size_t used;
	enum parse answer =
	    pktline_take(slice_from(in, *at), line, &used, fail);

	if (answer == PARSE_BAD)
		return bad(fail, fail->detail, *at + fail->at);
	if (answer == PARSE_DONE)
		*at += used;
	return answer;
}

/* Is `word` one of the words of `list`? */
static bool
has_word(struct slice list, const char *word)
{
	while (list.n != 0) {
		const uint8_t *blank = memchr(list.p, ' ', list.n);
		size_t n = blank == NULL ? list.n : (size_t)(blank - list.p);
		if (slice_eq_str(slice_first(list, n), word))
			return true;
		list = slice_from(list, n + 1);
	}
	return false;
}

/* Is the line `name`, alone or with a value? */
static bool
is_named(struct slice line, const char *name, struct slice *value)
{
	struct slice s = slice_of_str(name);

	if (!slice_has_prefix(line, s))
		return false;
	*value = slice_from(line, s.n + 1);
	return line.n == s.n || line.p[s.n] == '=';
}

static enum parse
read_cap(struct slice line, struct question_caps *caps, size_t at,
    struct parse_fail *fail)
{
	struct slice value;

	if (is_named(line, "fetch", &value)) {
		caps->has_fetch = true;
		caps->has_shallow = has_word(value, "shallow");
		caps->has_filter = has_word(value, "filter");
	} else if (is_named(line, "ls-refs", &value)) {
		caps->has_ls_refs = true;
	} else if (is_named(line, "object-format", &value)) {
		caps->has_format = true;
		caps->id_size =
		    slice_eq_str(value, "sha256") ? OID_SHA256 : OID_SHA1;
		if (caps->id_size == OID_SHA1 && !slice_eq_str(value, "sha1"))
			return bad(fail, "unknown object format", at);
	}
	return PARSE_DONE;
}

enum parse
question_caps_take(struct slice in, struct question_caps *caps,
    struct parse_fail *fail)
{
	struct slice begin = SLICE("# service=git-upload-pack");
	struct pktline line;
	bool is_begun = false; /* behind "version 2" */
	size_t at = 0, from;

	*caps = (struct question_caps){ .id_size = OID_SHA1 };
	for (;;) {
		from = at;
		enum parse answer = line_take(in, &at, &line, fail);
		if (answer != PARSE_DONE)
			return answer;
		struct slice text = pktline_chomp(line.data);
		/* Some servers begin as for the older versions. */
		if (!is_begun && from == 0 && slice_eq(text, begin)) {
			answer = line_take(in, &at, &line, fail);
			if (answer != PARSE_DONE)
				return answer;
			if (line.kind != PKTLINE_FLUSH)
				return bad(fail, "no flush", from);
			continue;
		}
		if (!is_begun && !slice_eq_str(text, "version 2"))
			return bad(fail, "no protocol version 2", from);
		if (line.kind == PKTLINE_FLUSH)
			return PARSE_DONE;
		if (line.kind != PKTLINE_DATA)
			return bad(fail, "no capability", from);
		if (is_begun && read_cap(text, caps, from, fail) == PARSE_BAD)
			return PARSE_BAD;
		is_begun = true;
	}
}

static void
put_line(struct buf *out, struct slice word, const char *rest)
{
	struct slice s = slice_of_str(rest);
	uint8_t head[PKTLINE_HEAD];

	pktline_head(word.n + s.n + 1, head);
	buf_put(out, slice_of(head, sizeof(head)));
	buf_put(out, word);
	buf_put(out, s);
	buf_put_byte(out, '\n');
}

static void
put_begin(const struct question_caps *caps, const char *command,
    struct buf *out)
{
	put_line(out, SLICE("command="), command);
	if (caps->has_format)
		put_line(out, SLICE("object-format="),
		    caps->id_size == OID_SHA1 ? "sha1" : "sha256");
	buf_put(out, SLICE("0001"));
}

static void
put_filter(unsigned depth, struct buf *out)
{
	char digits[] = { (char)('0' + depth / 10), (char)('0' + depth % 10),
		'\0' };

	put_line(out, SLICE("filter tree:"), depth < 10 ? digits + 1 : digits);
}

static void
put_ids(struct buf *out, struct slice word, const struct beyond *list)
{
	char text[OID_TEXT_SIZE];

	for (size_t i = 0; i < list->n; i++) {
		oid_text(&list->ids[i], text);
		put_line(out, word, text);
	}
}

bool
question_put(const struct question_caps *caps, const struct beyond *beyond,
    const struct beyond *have, struct buf *out)
{
	if (!caps->has_fetch || beyond->n == 0 || beyond->is_cut ||
	    beyond->depth > LIMIT_KEEP_DEPTH ||
	    (have == NULL && !caps->has_shallow))
		return false;
	put_begin(caps, "fetch", out);
	put_line(out, SLICE("no-progress"), "");
	put_line(out, SLICE("ofs-delta"), "");
	put_ids(out, SLICE("want "), beyond);
	if (have != NULL)
		put_ids(out, SLICE("have "), have);
	else
		put_line(out, SLICE("deepen "), "1");
	/* Without it blobs come too: read and forgotten, as far as they fit. */
	if (caps->has_filter)
		put_filter(beyond->depth, out);
	put_line(out, SLICE("done"), "");
	return buf_put(out, SLICE("0000"));
}

bool
question_put_head(const struct question_caps *caps, struct buf *out)
{
	if (!caps->has_ls_refs)
		return false;
	put_begin(caps, "ls-refs", out);
	put_line(out, SLICE("ref-prefix "), "HEAD");
	return buf_put(out, SLICE("0000"));
}

enum parse
question_head_take(struct slice in, size_t id_size, struct oid *head,
    struct parse_fail *fail)
{
	struct pktline line;
	size_t at = 0, from;

	*head = (struct oid){ 0 };
	for (;;) {
		from = at;
		enum parse answer = line_take(in, &at, &line, fail);
		if (answer != PARSE_DONE)
			return answer;
		if (line.kind == PKTLINE_FLUSH)
			return PARSE_DONE;
		struct oid id;
		struct slice text = pktline_chomp(line.data);
		if (line.kind != PKTLINE_DATA || text.n <= 2 * id_size ||
		    text.p[2 * id_size] != ' ' ||
		    !oid_read(slice_first(text, 2 * id_size), id_size, &id))
			return bad(fail, "no ref", from);
		/* The prefix fits longer names as well. */
		struct slice name = slice_from(text, 2 * id_size + 1);
		if (slice_eq_str(name, "HEAD"))
			*head = id;
	}
}

void
answer_init(struct answer *a, struct pack *pack)
{
	*a = (struct answer){ .pack = pack };
}

static enum parse
section_take(struct answer *a, struct slice text, struct parse_fail *fail)
{
	if (slice_has_prefix(text, SLICE("ERR ")))
		return bad(fail, "the upstream refused the question", 0);
	if (slice_eq_str(text, "shallow-info"))
		a->part = ANSWER_SHALLOW;
	else if (slice_eq_str(text, "packfile"))
		a->part = ANSWER_PACK;
	else
		return bad(fail, "unknown section", 0);
	return PARSE_DONE;
}

/* A line of the side-band; PARSE_MORE if only a part of it could be done. */
static enum parse
band_take(struct answer *a, struct slice data, struct parse_fail *fail)
{
	size_t used, pass;

	if (data.n == 0 || data.p[0] < 1 || data.p[0] > 3)
		return bad(fail, "unknown band", 0);
	if (data.p[0] == 3)
		return bad(fail, "the upstream ended the answer", 0);
	struct slice rest = slice_from(data, 1 + a->done);
	if (data.p[0] == 2 || rest.n == 0)
		return PARSE_DONE;
	if (pack_take(a->pack, rest, &used, &pass, fail) == PARSE_BAD)
		return PARSE_BAD;
	a->done += used;
	return used < rest.n ? PARSE_MORE : PARSE_DONE;
}

static enum parse
part_take(struct answer *a, const struct pktline *line, struct parse_fail *fail)
{
	bool is_data = line->kind == PKTLINE_DATA;

	switch (a->part) {
	case ANSWER_SECTION:
		if (!is_data)
			return bad(fail, "no section", 0);
		return section_take(a, pktline_chomp(line->data), fail);
	case ANSWER_SHALLOW:
		if (line->kind == PKTLINE_DELIM)
			a->part = ANSWER_SECTION;
		else if (!is_data)
			return bad(fail, "no section", 0);
		return PARSE_DONE;
	case ANSWER_PACK:
		if (is_data)
			return band_take(a, line->data, fail);
		if (line->kind != PKTLINE_FLUSH || !pack_is_done(a->pack))
			return bad(fail, "pack of the answer is cut", 0);
		a->part = ANSWER_WHOLE;
		return PARSE_DONE;
	case ANSWER_WHOLE:
		break;
	}
	return bad(fail, "bytes behind the answer", 0);
}

enum parse
answer_take(struct answer *a, struct slice in, size_t *used,
    struct parse_fail *fail)
{
	struct pktline line;

	*used = 0;
	while (*used < in.n) {
		size_t at = *used;
		enum parse answer = line_take(in, &at, &line, fail);
		if (answer != PARSE_DONE)
			return answer;
		answer = part_take(a, &line, fail);
		if (answer != PARSE_DONE)
			return answer;
		a->done = 0;
		a->bytes += at - *used;
		*used = at;
		if (a->bytes > LIMIT_QUESTION_SIZE) {
			*fail = (struct parse_fail){ REASON_LIMIT_BYTES,
				"the answer is too large", (size_t)a->bytes };
			return PARSE_BAD;
		}
	}
	return a->part == ANSWER_WHOLE ? PARSE_DONE : PARSE_MORE;
}
