/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include <unistd.h>

#include "audit/resume.h"

static bool
is_kind(struct resume *r, struct slice in, enum event_kind kind)
{
	const char *detail;
	struct line l;

	return line_read(in, &r->store, &l, &detail) && l.event.kind == kind;
}

/* Take the last line off `text`, which ends in a LF. */
static struct slice
take_last(struct slice *text)
{
	size_t from = text->n == 0 ? 0 : text->n - 1;

	while (from != 0 && text->p[from - 1] != '\n')
		from--;
	struct slice line = slice_from(slice_first(*text, text->n - 1), from);
	*text = slice_first(*text, from);
	return line;
}

/*
 * If the tail ends in `stop` and a checkpoint: go on behind its first whole
 * line, whose number and hash are taken as they stand.
 */
static void
begin_in(struct resume *r, struct slice tail, uint64_t at)
{
	struct slice rest = tail, first;
	const uint8_t *cut, *end;
	const char *detail;
	struct line l;

	if (tail.n == 0 || tail.p[tail.n - 1] != '\n' ||
	    !is_kind(r, take_last(&rest), EVENT_CHECKPOINT) ||
	    !is_kind(r, take_last(&rest), EVENT_STOP))
		return;
	cut = rest.n == 0 ? NULL : memchr(rest.p, '\n', rest.n);
	if (cut == NULL)
		return;
	first = slice_from(rest, (size_t)(cut - rest.p) + 1);
	end = first.n == 0 ? NULL : memchr(first.p, '\n', first.n);
	if (end == NULL ||
	    !line_read(slice_first(first, (size_t)(end - first.p)), &r->store,
		&l, &detail))
		return;
	chain_follow(r->chain, &l);
	r->from = at + (size_t)(end + 1 - tail.p);
}

/* A part of the file; false: it is not there. */
static bool
read_part(int fd, uint64_t at, struct buf *out, size_t n)
{
	while (out->n < n) {
		uint8_t *room = buf_room(out, n - out->n);
		ssize_t got = room == NULL ?
		    -1 :
		    pread(fd, room, n - out->n, (off_t)(at + out->n));
		if (got <= 0)
			return false;
		buf_added(out, (size_t)got);
	}
	return true;
}

static void
skip_to_tail(struct resume *r)
{
	struct stat st;
	struct buf tail;

	if (fstat(r->fd, &st) != 0 || st.st_size <= RESUME_TAIL)
		return;
	uint64_t at = (uint64_t)st.st_size - RESUME_TAIL;
	buf_init(&tail, RESUME_TAIL);
	if (read_part(r->fd, at, &tail, RESUME_TAIL))
		begin_in(r, buf_slice(&tail), at);
	buf_release(&tail);
}

bool
resume_init(struct resume *r, int fd, struct chain *chain, bool whole)
{
	*r = (struct resume){ .fd = fd, .chain = chain };
	buf_init(&r->store, LINE_SIZE_MAX + 1);
	reader_init(&r->reader, fd);
	if (!whole)
		skip_to_tail(r);
	r->size = r->from;
	return lseek(fd, (off_t)r->from, SEEK_SET) == (off_t)r->from;
}

void
resume_release(struct resume *r)
{
	buf_release(&r->store);
	reader_release(&r->reader);
}

static bool
take_line(struct resume *r, struct slice in)
{
	const char *detail;
	struct line l;

	if (!line_read(in, &r->store, &l, &detail) ||
	    l.seq != r->chain->end.seq + 1 || !chain_fits(r->chain, &l))
		return false;
	chain_follow(r->chain, &l);
	return r->on_record(&l, r->arg);
}

static void
note_cut(struct resume *r, struct slice line)
{
	/* A line is a record, and they are numbered from 1. */
	r->cut_line = r->chain->end.seq + 1;
	r->cut_size = line.n;
	digest_name(line, r->cut_digest);
}

enum resume_step
resume_some(struct resume *r, size_t budget, const char **why)
{
	uint64_t until = r->reader.next + budget;
	struct slice line;

	while (r->reader.next < until) {
		enum reader_got got = reader_take(&r->reader, &line);
		*why = "it cannot be read";
		if (got == READER_FAILED)
			return RESUME_BAD;
		*why = "it is no whole audit log: `duenna audit verify` says "
		       "where";
		if (got == READER_LONG ||
		    (got == READER_LINE && !take_line(r, line)))
			return RESUME_BAD;
		if (got == READER_CUT)
			note_cut(r, line);
		if (got == READER_CUT || got == READER_END)
			return RESUME_DONE;
		r->size = r->from + r->reader.next;
	}
	return RESUME_MORE;
}
