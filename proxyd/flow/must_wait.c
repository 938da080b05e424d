/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/must_wait.h"
#include "base/log.h"
#include "flow/choose.h"
#include "flow/pass.h"
#include "flow/request.h"

/* All streams of a flow: client, upstream, one that is reached, one that
 * chooses, a passing. */
#define STREAMS_MAX 5

struct streams {
	const struct stream *at[STREAMS_MAX];
	size_t n;
};

static void
add(struct streams *list, const struct stream *s)
{
	if (s != NULL)
		list->at[list->n++] = s;
}

static struct streams
streams_of(const struct flow *f)
{
	struct streams list = { .n = 0 };

	add(&list, f->client);
	if (f->request != NULL) {
		add(&list, f->request->x.upstream);
		add(&list, f->request->reaching);
	}
	if (f->choose != NULL)
		add(&list, f->choose->upstream);
	if (f->pass != NULL)
		add(&list, f->pass->upstream);
	return list;
}

static void
bug(const struct flow *f, const char *what)
{
	log_error("%s in %s%s%s: %s", f->name, phase_name(f->phase),
	    f->request == NULL ? "" : ", ",
	    f->request == NULL ? "" : exchange_phase_name(f->request->x.phase),
	    what);
	abort();
}

static bool
has_deadline(const struct flow *f)
{
	return timer_is_set(&f->limit) ||
	    (f->request != NULL && timer_is_set(&f->request->x.limit));
}

/* Another role owes an answer, or a confirmation. */
static bool
has_asked(const struct flow *f)
{
	const struct sandbox *sb = f->sandbox;

	return f->asked != NULL || f->n_records != 0 ||
	    (f->request != NULL && f->request->asked != NULL) ||
	    sb->asks->is_behind(sb->asks_arg);
}

void
flow_must_wait(const struct flow *f)
{
	const struct streams list = streams_of(f);
	bool armed = has_asked(f);

	for (size_t i = 0; i < list.n; i++) {
		if (stream_is_stuck(list.at[i]))
			bug(f, "a stream should go on, and no event will come");
		armed = armed || stream_is_armed(list.at[i]);
	}
	if (!has_deadline(f))
		bug(f, "waits without a deadline");
	if (!armed)
		bug(f, "waits for nothing but its deadline");
}
