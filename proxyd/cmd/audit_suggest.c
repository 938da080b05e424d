/* SPDX-License-Identifier: Apache-2.0 */
/* What the last run was refused, as a policy that allows it. */
#include <unistd.h>

#include "audit/suggest.h"
#include "cmd/audit.h"
#include "cmd/cmd.h"

#define POLICY_SIZE_MAX 8388608 /* of a policy file: load/doc.h */

struct suggesting {
	const struct audit_options *o;
	struct suggest *suggest;
	uint64_t n_taken;
};

static bool
take(const struct line *l, struct slice in UNUSED, off_t at UNUSED, void *arg)
{
	struct suggesting *s = arg;
	unsigned long long max = s->o->pick.max;

	/* A start is where another run begins, whatever was asked for. */
	if (l->event.kind == EVENT_START)
		suggest_put(s->suggest, &l->event);
	if (l->event.kind == EVENT_START || !audit_picks(&s->o->pick, l))
		return true;
	suggest_put(s->suggest, &l->event);
	s->n_taken +=
	    event_is_denial(&l->event) || event_is_reported(&l->event);
	return max == 0 || s->n_taken < max;
}

static int
print(const struct suggesting *s)
{
	struct suggest_sum sum;
	struct buf out;

	buf_init(&out, POLICY_SIZE_MAX);
	sum = suggest_end(s->suggest, &out);
	bool any = sum.n_rules + sum.n_others != 0;
	bool fits = !out.failed;
	if (any && fits)
		fputs(buf_text(&out), stdout);
	if (!fits)
		fputs("duenna: audit: too much for one policy; choose with "
		      "--host, --since or --limit\n",
		    stderr);
	else if (!any)
		fputs("duenna: audit: nothing was refused that a rule could "
		      "allow\n",
		    stderr);
	buf_release(&out);
	return fits && sum.n_rules != 0 ? 0 : CMD_NO;
}

int
audit_suggest(const struct audit_options *o)
{
	struct audit_walk w = { .path = o->file, .fd = audit_open(o->file) };
	struct suggesting s = { .o = o };
	enum err err = ERR_NONE;
	int status = CMD_NO;

	if (w.fd < 0)
		return CMD_NO;
	s.suggest = suggest_new(&err);
	if (s.suggest == NULL)
		status = CMD_FAULT;
	else if (audit_walk(&w, take, &s))
		status = print(&s);
	suggest_free(s.suggest);
	close(w.fd);
	return status;
}
