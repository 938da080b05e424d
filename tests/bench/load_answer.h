/* SPDX-License-Identifier: Apache-2.0 */
/* Where an HTTP/1.1 response ends, for tests/bench/load.c. */
#ifndef BENCH_LOAD_ANSWER_H
#define BENCH_LOAD_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANSWER_HEAD_MAX 8192

struct answer {
	char head[ANSWER_HEAD_MAX]; /* with its NUL, once it is whole */
	size_t n_head;
	int status; /* 0: no head yet */
	bool closes, chunked, until_close;
	bool in_line;  /* chunked: the line of a size, or a trailer */
	bool last;     /* the last chunk's size was read */
	uint64_t left; /* bytes of the body, or of a chunk and its CRLF */
	char line[32]; /* of a chunk's size */
	size_t n_line;
};

enum answer_part {
	ANSWER_MORE,
	ANSWER_DONE,
	ANSWER_BAD
};

/* Begin with the next response. */
void answer_init(struct answer *a);

/* Read `n` bytes; a response that has ended has nothing behind it. */
enum answer_part answer_read(struct answer *a, const char *p, size_t n);

#endif
