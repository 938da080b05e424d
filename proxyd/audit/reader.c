/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "audit/reader.h"

#define READ_SIZE 65536 /* bytes asked for at once */

void
reader_init(struct reader *r, int fd)
{
	*r = (struct reader){ .fd = fd };
	buf_init(&r->have, LINE_SIZE_MAX + READ_SIZE);
}

void
reader_release(struct reader *r)
{
	buf_release(&r->have);
}

/* 1: there is more, 0: end of file, -1. */
static int
fill(struct reader *r)
{
	uint8_t *room;
	ssize_t n;

	buf_drop(&r->have, r->at);
	r->at = 0;
	room = buf_room(&r->have, READ_SIZE);
	if (room == NULL) {
		errno = ENOMEM;
		return -1;
	}
	do
		n = read(r->fd, room, READ_SIZE);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return (int)n;
	buf_added(&r->have, (size_t)n);
	return 1;
}

static struct slice
give(struct reader *r, size_t n)
{
	struct slice s = slice_of(r->have.p + r->at, n);

	r->at += n;
	r->offset = r->next;
	r->next += n;
	return s;
}

/* A piece of the file: up to and with its LF, or what there is of a line. */
static enum reader_got
take_piece(struct reader *r, struct slice *piece)
{
	size_t seen = 0;

	for (;;) {
		size_t n = r->have.n - r->at;
		const uint8_t *p = n == 0 ? NULL : r->have.p + r->at;
		const uint8_t *end =
		    n <= seen ? NULL : memchr(p + seen, '\n', n - seen);
		if (end != NULL) {
			*piece = give(r, (size_t)(end - p) + 1);
			return READER_LINE;
		}
		if (n >= LINE_SIZE_MAX) {
			*piece = give(r, n);
			return READER_LONG;
		}
		seen = n;
		int more = fill(r);
		if (more < 0)
			return READER_FAILED;
		if (more == 0) {
			*piece = n == 0 ? (struct slice){ 0 } : give(r, n);
			return n == 0 ? READER_END : READER_CUT;
		}
	}
}

enum reader_got
reader_take(struct reader *r, struct slice *line)
{
	enum reader_got got;

	/* The rest of a line that was too long is no line of its own. */
	while (r->skipping) {
		got = take_piece(r, line);
		if (got != READER_LINE && got != READER_LONG)
			return got;
		r->skipping = got == READER_LONG;
	}
	got = take_piece(r, line);
	if (got == READER_LINE)
		line->n--;
	r->skipping = got == READER_LONG;
	return got;
}
