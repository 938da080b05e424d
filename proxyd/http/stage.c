/* SPDX-License-Identifier: Apache-2.0 */
#include "http/stage.h"

void
stages_init(struct stages *s)
{
	s->first = NULL;
	buf_init(&s->even, STAGE_TAKE_MAX + STAGE_HOLD_MAX);
	buf_init(&s->odd, STAGE_TAKE_MAX + STAGE_HOLD_MAX);
}

void
stages_release(struct stages *s)
{
	while (s->first != NULL) {
		struct stage *stage = s->first;
		s->first = stage->next;
		stage->ops->free(stage);
	}
	/* What was about to be masked stood in these. */
	buf_wipe(&s->even);
	buf_wipe(&s->odd);
}

void
stages_add(struct stages *s, struct stage *stage)
{
	struct stage **end = &s->first;

	while (*end != NULL)
		end = &(*end)->next;
	stage->next = NULL;
	*end = stage;
}

bool
stages_is_empty(const struct stages *s)
{
	return s->first == NULL;
}

bool
stages_run(struct stages *s, struct slice in, bool last, struct slice *out,
    struct parse_fail *fail)
{
	struct buf *to = &s->even;

	for (struct stage *i = s->first; i != NULL; i = i->next) {
		buf_clear(to);
		if (!i->ops->take(i, in, last, to, fail))
			return false;
		if (to->failed) {
			*fail = (struct parse_fail){ REASON_INTERNAL,
				"no memory for the body", 0 };
			return false;
		}
		in = buf_slice(to);
		to = to == &s->even ? &s->odd : &s->even;
	}
	*out = in;
	return true;
}
