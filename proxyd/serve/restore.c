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
	if (--s->n_returning != 0 || s->m.stage != STAGE_RUNNING ||
	    s->socket >= 0)
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

	snprintf(text, sizeof(text), "it is not attached%s: %s",
	    b->is_configured ? "" : " again", why);
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
	/* The configuration means whatever is at its path. */
	if (!b->returns || b->is_configured ||
	    (!b->of_old_boot && b->net == b->kept_net))
		return true;
	b->net_is_gone = true;
	fail_set(why, ERR_MISSING, "another namespace has its place now");
	return false;
}

/* Sandbox `i` of the configuration, whose form the steward has checked. */
static bool
read_configured(struct serve *s, uint32_t i, struct control_attach *out)
{
	struct rd r = rd_of(owner_sandbox(s->m.owner, i).body);

	return control_attach_read(&r, out);
}

/* As it is in the configuration; false: it is not there. */
static bool
find_configured(struct serve *s, struct slice name, struct control_attach *out)
{
	for (uint32_t i = 0; i < owner_n_sandboxes(s->m.owner); i++)
		if (read_configured(s, i, out) && slice_eq(out->name, name))
			return true;
	return false;
}

static bool
is_same(const struct control_attach *kept, const struct control_attach *other)
{
	struct buf a, b;

	buf_init(&a, KEEP_MAX);
	buf_init(&b, KEEP_MAX);
	bool same = box_encode(kept, true, &a) &&
	    box_encode(other, false, &b) &&
	    slice_eq(buf_slice(&a), buf_slice(&b));
	buf_release(&a);
	buf_release(&b);
	return same;
}

/* The configuration counts: what it had and has no more is detached. */
static void
on_kept(struct serve *s, const struct control_attach *asked,
    const struct kept *k)
{
	static struct control_attach configured;
	struct kept kept = *k;
	char name[CONTROL_NAME_MAX + 1];

	kept.is_configured = find_configured(s, asked->name, &configured);
	if (kept.is_configured ? is_same(asked, &configured) :
				 !k->is_configured) {
		attach_unasked(s, asked, &kept);
		return;
	}
	snprintf(name, sizeof(name), "%.*s", SLICE_ARG(asked->name));
	log_warn("sandbox `%s` is another one in the configuration now, or "
		 "gone from it",
	    name);
	keep_drop(s, name);
}

static void
attach_configured(struct serve *s, uint32_t i)
{
	static struct control_attach asked;
	struct owner_sandbox c = owner_sandbox(s->m.owner, i);

	if (!read_configured(s, i, &asked)) {
		log_error("%.*s:%u: this sandbox cannot be read",
		    SLICE_ARG(c.at.file), c.at.line);
		return;
	}
	if (box_find(s, asked.name) != NULL)
		return;
	if (c.token.n != 0) {
		log_error("%.*s:%u: sandbox `%.*s` is not attached: "
			  "token_file is not read yet",
		    SLICE_ARG(c.at.file), c.at.line, SLICE_ARG(asked.name));
		return;
	}
	attach_unasked(s, &asked, NULL);
}

void
restore_configured(struct serve *s)
{
	if (s->m.stage != STAGE_RUNNING)
		return;
	/* None of them ends it before all are asked for. */
	s->n_returning++;
	for (uint32_t i = 0; i < owner_n_sandboxes(s->m.owner); i++)
		attach_configured(s, i);
	one_less(s);
}

void
restore_begin(struct serve *s)
{
	s->n_returning = 1;
	keep_read(s, on_kept);
	restore_configured(s);
	one_less(s);
}
