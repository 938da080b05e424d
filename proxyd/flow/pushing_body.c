/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/pushing_body.h"

bool
pushing_body_init(struct pushing_body *b, struct exchange *x, bool is_gzip)
{
	*b = (struct pushing_body){ .x = x };
	if (!is_gzip)
		return true;
	/* The pack in it has its own ceiling; of gzip the ratio counts. */
	b->gzip = gzip_new(UINT64_MAX);
	b->out = malloc(PUSHING_INFLATE_SIZE);
	return b->gzip != NULL && b->out != NULL;
}

void
pushing_body_release(struct pushing_body *b)
{
	gzip_free(b->gzip);
	free(b->out);
}

/* The next bytes that come out of the member into `out`, which is empty. */
static enum parse
inflate_more(struct pushing_body *b, struct parse_fail *fail)
{
	for (;;) {
		struct gzip_step step = { .out = b->out,
			.room = PUSHING_INFLATE_SIZE };
		enum parse got = PARSE_MORE;
		/* What is still inside comes first. */
		if (!b->is_full)
			got = exchange_pull(b->x, &step.in, fail);
		if (got == PARSE_BAD)
			return got;
		if (got == PARSE_DONE)
			return gzip_end(b->gzip, fail);
		size_t there = step.in.n;
		if (there == 0 && !b->is_full)
			return PARSE_MORE;
		if (gzip_take(b->gzip, &step, fail) == PARSE_BAD)
			return PARSE_BAD;
		exchange_pulled(b->x, there - step.in.n);
		b->is_full = step.n == step.room;
		b->at = 0;
		b->n = step.n;
		if (step.n != 0)
			return PARSE_MORE;
	}
}

enum parse
pushing_body_peek(struct pushing_body *b, struct slice *in,
    struct parse_fail *fail)
{
	enum parse got = PARSE_MORE;

	*in = (struct slice){ 0 };
	if (b->gzip == NULL)
		return exchange_pull(b->x, in, fail);
	if (b->at == b->n)
		got = inflate_more(b, fail);
	*in = slice_of(b->out + b->at, b->n - b->at);
	return got;
}

void
pushing_body_take(struct pushing_body *b, size_t n)
{
	b->taken += n;
	if (b->gzip == NULL)
		exchange_pulled(b->x, n);
	else
		b->at += n;
}
