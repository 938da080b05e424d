/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes of before come back at the start of the gateway, ahead of its READY
 * and of its control socket.  One that cannot is said and recorded; its file
 * stays for the next start, unless its namespace is gone.
 */
#include "serve/restore.h"
#include "audit/event.h"
#include "base/log.h"
#include "serve/keep.h"

static void
one_less(struct serve *s)
{
	if (--s->n_returning != 0 || s->m.stage != STAGE_RUNNING)
		return;
	if (control_open(s) == 0)
		notify("READY=1");
}

void
restore_lost(struct box *b)
{
	if (!b->returns)
		return;
	b->returns = false;
	one_less(b->serve);
}

void
restore_failed(struct box *b, const char *why)
{
	char text[FAIL_TEXT_SIZE + 64];
	struct event e;

	snprintf(text, sizeof(text), "it is not attached again: %s", why);
	log_error("sandbox `%s`: %s", b->name, text);
	serve_fill(b, &e, EVENT_ALARM);
	event_str(&e, FIELD_DETAIL, text);
	(void)monitor_record(&b->serve->m, &e, NULL, NULL);
	if (b->net_is_gone)
		keep_drop(b->serve, b->name);
}

bool
restore_is_there(struct box *b, struct fail *why)
{
	if (!b->returns || (!b->of_old_boot && b->net == b->kept_net))
		return true;
	b->net_is_gone = true;
	fail_set(why, ERR_MISSING, "another namespace has its place now");
	return false;
}

void
restore_begin(struct serve *s)
{
	/* None of them ends it before all are read. */
	s->n_returning = 1;
	keep_read(s, attach_kept);
	one_less(s);
}
