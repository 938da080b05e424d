/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/must_wait.h"
#include "base/log.h"
#include "flow/choose.h"
#include "flow/pass.h"
#include "flow/pushing.h"
#include "flow/request.h"
#include "http/h2_stream.h"

static void
bug(const struct flow *f, const struct request *r, const char *what)
{
	log_error("%s in %s%s%s: %s", f->name, phase_name(f->phase),
	    r == NULL ? "" : ", ",
	    r == NULL ? "" : exchange_phase_name(r->x.phase), what);
	abort();
}

/* May an event of it wake somebody?  One that should come is there. */
static bool
is_armed(const struct flow *f, const struct request *r, const struct stream *s)
{
	if (s == NULL)
		return false;
	if (stream_is_stuck(s))
		bug(f, r, "a stream should go on, and no event will come");
	return stream_is_armed(s) || (h2_is_stream(s) && h2_has_news(s));
}

static void
check(const struct flow *f, const struct request *r, bool has_deadline,
    bool armed)
{
	/* Another role owes a confirmation, or will be no longer behind. */
	armed = armed || f->n_records != 0 ||
	    f->sandbox->asks->is_behind(f->sandbox->asks_arg);
	if (!has_deadline)
		bug(f, r, "waits without a deadline");
	if (!armed)
		bug(f, r, "waits for nothing but its deadline");
}

static void
check_request(const struct flow *f, const struct request *r)
{
	bool client = is_armed(f, r, r->x.client);
	bool upstream = is_armed(f, r, r->x.upstream);
	bool reaching = is_armed(f, r, r->reaching);

	check(f, r, timer_is_set(&r->x.limit),
	    client || upstream || reaching || r->asked != NULL ||
		r->n_records != 0 || r->link != NULL || pushing_is_pending(r) ||
		r->retry.waits);
}

void
flow_must_wait(const struct flow *f)
{
	const struct request *r;
	bool client =
	    f->h2 == NULL ? is_armed(f, NULL, f->client) : h2_is_armed(f->h2);
	bool passes = f->pass != NULL && is_armed(f, NULL, f->pass->upstream);
	bool chooses =
	    f->choose != NULL && is_armed(f, NULL, f->choose->upstream);

	LIST_FOREACH(r, &f->requests, entry)
		check_request(f, r);
	if (LIST_EMPTY(&f->requests))
		check(f, NULL, timer_is_set(&f->limit),
		    client || passes || chooses || f->asked != NULL ||
			f->retry.waits);
}
