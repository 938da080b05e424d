/* SPDX-License-Identifier: Apache-2.0 */
#include "http/way.h"

void
way_init(struct way *w, enum h1_side side, bool has_end)
{
	*w = (struct way){ .out = HTTP_BODY_NONE,
		.side = side,
		.has_end = has_end,
		.done = true };
	h1_body_init(&w->in, HTTP_BODY_NONE, 0, side);
	buf_init(&w->trailers, LIMIT_TRAILER_SIZE);
	stages_init(&w->stages);
}

void
way_set(struct way *w, enum http_body in, enum http_body out, uint64_t length)
{
	w->out = out;
	w->length = in == HTTP_BODY_LENGTH ? length : 0;
	w->n = 0;
	w->done = in == HTTP_BODY_NONE ||
	    (in == HTTP_BODY_LENGTH && length == 0 && !w->has_end);
	h1_body_init(&w->in, in, w->length, w->side);
}

void
way_release(struct way *w)
{
	stages_release(&w->stages);
	buf_release(&w->trailers);
}

size_t
way_portion(const struct way *w, const struct stream *to)
{
	size_t room = stream_room(to);

	/* Stages give what they held on top. */
	if (!stages_is_empty(&w->stages) && room > STAGE_TAKE_MAX)
		room = STAGE_TAKE_MAX;
	return room;
}

bool
way_pass(struct way *w, struct slice *data, bool last, struct parse_fail *fail)
{
	if (!stages_is_empty(&w->stages) &&
	    !stages_run(&w->stages, *data, last, data, fail))
		return false;
	w->n += data->n;
	if (w->out == HTTP_BODY_LENGTH &&
	    (w->n > w->length || (last && w->n != w->length))) {
		*fail = (struct parse_fail){ REASON_INTERNAL,
			"body does not fit", 0 };
		return false;
	}
	return true;
}

void
way_pulled(struct way *w, struct stream *from, size_t n)
{
	stream_take(from, n);
	w->run -= n;
}

enum parse
way_cut(const struct way *w, const char *detail, struct parse_fail *fail)
{
	*fail = (struct parse_fail){
		.reason = w->side == H1_CLIENT ? REASON_CLIENT_ABORT :
						 REASON_UP_RESPONSE,
		.detail = detail,
	};
	return PARSE_BAD;
}
