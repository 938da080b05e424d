/* SPDX-License-Identifier: Apache-2.0 */
/* What a push that does not succeed is told. */
#include "flow/pushing_inside.h"
#include "git/report.h"
#include "git/say.h"

#define REASONS_MAX 1048576 /* bytes of the reasons of all commands */

struct telling {
	struct pushing *p;
	struct say say;
	/* Appends why command `i` is refused; nothing: another one is. */
	void (*put)(const struct telling *t, size_t i, struct buf *out);
	const struct prove_fail *fail; /* of put_proof() */
	struct buf text; /* owned; before the report, for people */
};

/* --- why a command is refused -------------------------------------------- */

static void
put_denied(const struct telling *t, size_t i, struct buf *out)
{
	const struct request *r = t->p->r;

	if (r->verdict.command != VERDICT_NONE)
		say_command(&t->say, r->verdict.rule, &t->p->commands[i], out);
	else if (r->facts.fault != REASON_ALLOW)
		say_fault(&t->say, r->facts.fault, false, out);
	else
		say_whole(&t->say, &r->facts, &r->verdict, out);
}

static void
put_code(const struct telling *t, enum reason reason, struct buf *out)
{
	buf_putf(out, " [%s %s]", reason_name(reason), t->say.flow);
}

static void
put_proof(const struct telling *t, size_t i, struct buf *out)
{
	const struct prove_fail *fail = t->fail;

	if (fail->command != SIZE_MAX && fail->command != i)
		return;
	buf_putf(out, "duenna: %s",
	    program_shows_code_alone(t->say.p) ? "refused" : fail->detail);
	put_code(t, fail->reason, out);
}

static void
put_fault(const struct telling *t, size_t i UNUSED, struct buf *out)
{
	const struct exchange *x = &t->p->r->x;
	/* Who does not know us has done nothing for us. */
	bool sent = t->p->is_sent && x->res.status != 401;

	say_fault(&t->say, x->refusal.reason, sent, out);
}

/* --- the answer ---------------------------------------------------------- */

/* All reasons, one behind the other, and where each ends.  False: no memory. */
static bool
put_reasons(const struct telling *t, struct buf *all, struct slice *reasons)
{
	size_t n = t->p->list.n_commands, from = 0;

	for (size_t i = 0; i < n; i++) {
		t->put(t, i, all);
		/* More of it is not shown. */
		if (all->n - from > REPORT_REASON_MAX)
			all->n = from + REPORT_REASON_MAX;
		reasons[i].n = all->n - from;
		from = all->n;
	}
	if (all->failed)
		return false;
	from = 0;
	for (size_t i = 0; i < n; i++) {
		reasons[i].p = all->p + from;
		from += reasons[i].n;
	}
	return true;
}

static bool
put_report(const struct telling *t, struct refusal *refusal)
{
	const struct push *list = &t->p->list;
	struct slice *reasons;
	struct buf all;

	if (!t->p->is_whole || !push_can_report(list))
		return false;
	reasons = calloc(list->n_commands, sizeof(*reasons));
	buf_init(&all, REASONS_MAX);
	report_text(list, buf_slice(&t->text), &refusal->first);
	bool good = reasons != NULL && put_reasons(t, &all, reasons) &&
	    report_refusal(list, reasons, &refusal->last) &&
	    !refusal->first.failed;
	buf_release(&all);
	free(reasons);
	return good;
}

/* No report can be told, or none was asked for: only an error is honest. */
static void
put_plain(const struct telling *t, struct refusal *refusal)
{
	const struct request *r = t->p->r;
	const char *detail = r->x.fail.detail;

	buf_clear(&refusal->first);
	buf_clear(&refusal->last);
	refusal->type = REFUSAL_TEXT;
	if (t->p->is_whole) {
		t->put(t, 0, &refusal->first);
	} else {
		buf_putf(&refusal->first, "duenna: %s",
		    program_shows_code_alone(t->say.p) ? "refused" :
			detail[0] == '\0' ? reason_meaning(refusal->reason) :
					    detail);
		put_code(t, refusal->reason, &refusal->first);
	}
	buf_put_byte(&refusal->first, '\n');
}

static void
tell(struct telling *t)
{
	struct refusal *refusal = &t->p->r->x.refusal;

	t->p->is_told = true;
	if (put_report(t, refusal)) {
		refusal->type = REPORT_TYPE;
		refusal->for_git = true;
		refusal->status = 200;
	} else {
		put_plain(t, refusal);
	}
	buf_release(&t->text);
}

static struct telling
telling_of(struct pushing *p)
{
	struct telling t = { .p = p,
		.say = { p->r->generation->program, p->r->flow->name } };

	buf_init(&t.text, REFUSAL_TEXT_MAX);
	return t;
}

void
pushing_say_denied(struct pushing *p)
{
	struct telling t = telling_of(p);

	t.put = put_denied;
	p->r->x.refusal.reason = p->r->verdict.reason;
	say_allowed(&t.say, p->r->verdict.rule, &t.text);
	tell(&t);
}

static const char *
what_became_of(const struct pushing *p)
{
	if (!p->is_begun || p->hold != NULL)
		return "duenna: push refused, nothing was sent to the "
		       "server.\n";
	/* Unread, it may have ended before what is too much. */
	if (p->proof == NULL)
		return "duenna: push refused while it was sent; what the "
		       "server made of it is not known.\n";
	return "duenna: push refused; the server never got the end of the "
	       "pack, and so changes no ref.\n";
}

void
pushing_say_proof(struct pushing *p, const struct prove_fail *fail)
{
	struct telling t = telling_of(p);
	const char *unanswered =
	    p->proof == NULL ? "" : pushing_proof_unanswered(p->proof);

	t.put = put_proof;
	t.fail = fail;
	buf_put_str(&t.text, what_became_of(p));
	if (fail->reason == REASON_GIT_UPDATE)
		say_forward(&t.say, p->r->verdict.rule, &t.text);
	else if (fail->keep)
		say_keep(&t.say, p->r->verdict.rule, &t.text);
	/* Why it could not be shown, where asking might have done that. */
	if (unanswered[0] != '\0' && !program_shows_code_alone(t.say.p))
		buf_putf(&t.text, "duenna: %s\n", unanswered);
	tell(&t);
}

void
pushing_say_fault(struct pushing *p)
{
	struct telling t = telling_of(p);
	const char *detail = p->r->x.fail.detail;

	t.put = put_fault;
	if (detail[0] != '\0' && !program_shows_code_alone(t.say.p))
		buf_putf(&t.text, "duenna: %s\n", detail);
	tell(&t);
}
