/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "load_answer.h"

void
answer_init(struct answer *a)
{
	a->n_head = a->n_line = 0;
	a->status = 0;
	a->closes = a->chunked = a->until_close = a->in_line = a->last = false;
	a->left = 0;
}

/* What the fields say of the body and of the connection. */
static enum answer_part
read_head(struct answer *a)
{
	const char *length = strcasestr(a->head, "\r\ncontent-length:");

	if (strncmp(a->head, "HTTP/1.1 ", 9) != 0)
		return ANSWER_BAD;
	a->status = (int)strtol(a->head + 9, NULL, 10);
	if (a->status < 200) { /* one that only informs */
		answer_init(a);
		return ANSWER_MORE;
	}
	a->closes = strcasestr(a->head, "\r\nconnection: close") != NULL;
	if (a->status == 204 || a->status == 304)
		return ANSWER_DONE;
	if (strcasestr(a->head, "\r\ntransfer-encoding: chunked") != NULL)
		a->chunked = a->in_line = true;
	else if (length == NULL)
		a->until_close = a->closes = true;
	else
		a->left = strtoull(length + 17, NULL, 10);
	return a->chunked || a->until_close || a->left != 0 ? ANSWER_MORE :
							      ANSWER_DONE;
}

/* Bytes of the head; `*n` becomes what is left behind it. */
static enum answer_part
take_head(struct answer *a, const char **p, size_t *n)
{
	size_t room = sizeof(a->head) - 1 - a->n_head;
	size_t take = *n < room ? *n : room;
	size_t before = a->n_head, from = before < 3 ? 0 : before - 3;
	const char *end;

	memcpy(a->head + before, *p, take);
	a->n_head += take;
	a->head[a->n_head] = '\0';
	end = memmem(a->head + from, a->n_head - from, "\r\n\r\n", 4);
	if (end == NULL) {
		*p += take;
		*n -= take;
		return take == room ? ANSWER_BAD : ANSWER_MORE;
	}
	size_t whole = (size_t)(end - a->head) + 4;
	*p += whole - before;
	*n -= whole - before;
	a->head[whole] = '\0';
	a->n_head = whole;
	return read_head(a);
}

/* One byte of the line before a chunk, or of a trailer. */
static enum answer_part
take_line(struct answer *a, char c)
{
	if (c != '\n') {
		if (c != '\r' && a->n_line < sizeof(a->line) - 1)
			a->line[a->n_line++] = c;
		return ANSWER_MORE;
	}
	a->line[a->n_line] = '\0';
	size_t n = a->n_line;
	a->n_line = 0;
	if (a->last)
		return n == 0 ? ANSWER_DONE : ANSWER_MORE;
	a->left = strtoull(a->line, NULL, 16);
	a->last = a->left == 0;
	a->in_line = a->last;
	if (!a->last)
		a->left += 2; /* its CRLF */
	return ANSWER_MORE;
}

enum answer_part
answer_read(struct answer *a, const char *p, size_t n)
{
	enum answer_part part = ANSWER_MORE;

	while (n != 0 && part == ANSWER_MORE) {
		size_t take = n < a->left ? n : (size_t)a->left;
		if (a->status == 0) {
			part = take_head(a, &p, &n);
		} else if (a->until_close) {
			n = 0;
		} else if (a->in_line) {
			part = take_line(a, *p++);
			n--;
		} else {
			a->left -= take;
			p += take;
			n -= take;
			a->in_line = a->chunked && a->left == 0;
			if (!a->chunked && a->left == 0)
				part = ANSWER_DONE;
		}
	}
	/* Nobody asked for more than one. */
	return part == ANSWER_DONE && n != 0 ? ANSWER_BAD : part;
}
