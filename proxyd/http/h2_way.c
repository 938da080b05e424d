/* SPDX-License-Identifier: Apache-2.0 */
#include "http/h2_way.h"

/* One run of data through the stages.  `last`: it is the end. */
static bool
carry(struct way *w, struct stream *to, struct slice data, bool last,
    struct parse_fail *fail)
{
	if (!way_pass(w, &data, last, fail))
		return false;
	if (data.n == 0 || stream_put(to, data))
		return true;
	/* A side that is lost is seen as such by the caller. */
	*fail = (struct parse_fail){ REASON_INTERNAL, "body does not fit", 0 };
	return false;
}

enum parse
h2_way_move(struct way *w, struct stream *from, struct stream *to,
    struct parse_fail *fail)
{
	for (;;) {
		struct slice in =
		    slice_first(stream_peek(from), way_portion(w, to));

		if (in.n != 0) {
			if (!carry(w, to, in, false, fail))
				return PARSE_BAD;
			stream_take(from, in.n);
			continue;
		}
		if (stream_peek(from).n != 0)
			return PARSE_MORE;
		if (stream_is_eof(from))
			return carry(w, to, in, true, fail) ? PARSE_DONE :
							      PARSE_BAD;
		return stream_is_broken(from) ?
		    way_cut(w, "lost inside a body", fail) :
		    PARSE_MORE;
	}
}

enum parse
h2_way_pull(struct way *w, struct stream *from, struct slice *in,
    struct parse_fail *fail)
{
	*in = stream_peek(from);
	w->run = in->n;
	if (in->n != 0)
		return PARSE_MORE;
	if (stream_is_eof(from))
		return PARSE_DONE;
	return stream_is_broken(from) ? way_cut(w, "lost inside a body", fail) :
					PARSE_MORE;
}

bool
h2_way_put(struct way *w, struct stream *to, struct slice data, bool last)
{
	if (data.n != 0 && !stream_put(to, data))
		return false;
	if (last)
		stream_shut(to);
	w->done = last;
	return true;
}
