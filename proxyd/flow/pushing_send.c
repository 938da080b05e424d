/* SPDX-License-Identifier: Apache-2.0 */
/* A push that is allowed: what goes up, and what comes of it. */
#include "flow/pushing_inside.h"
#include "flow/record.h"
#include "git/report.h"

/* As hold_failed(), in words that outlive the file. */
static enum reason
why_not_held(struct pushing *p, const char **detail)
{
	struct request *r = p->r;
	enum reason reason = hold_failed(p->hold, detail);

	if (reason != REASON_ALLOW)
		snprintf(r->detail, sizeof(r->detail), "%s", *detail);
	*detail = r->detail;
	return reason;
}

/* The whole pack into a file, and what is to be shown of it. */
void
pushing_hold(struct pushing *p)
{
	const char *detail;
	enum reason reason = why_not_held(p, &detail);
	enum parse got = PARSE_MORE;
	struct parse_fail fail;
	struct slice out;

	/* No limit on the whole, only on silence: as in SEND. */
	while (reason == REASON_ALLOW && got == PARSE_MORE) {
		if (!hold_is_ready(p->hold))
			return;
		got = pushing_pack_next(p, LIMIT_BACKLOG_SIZE, &out, &fail);
		if (got == PARSE_MORE && out.n == 0)
			return;
		timer_set(&p->r->x.limit, p->r->x.idle_ms);
		if (got != PARSE_BAD && !hold_put(p->hold, out))
			reason = why_not_held(p, &detail);
	}
	if (reason != REASON_ALLOW)
		pushing_refuse(p, reason, detail);
	else if (got == PARSE_BAD)
		pushing_refuse(p, fail.reason, fail.detail);
	else
		pushing_allow(p);
}

/* --- SEND ---------------------------------------------------------------- */

static enum parse
feed_pack(struct pushing *p, size_t room, struct slice *out,
    struct parse_fail *fail)
{
	const char *detail;
	bool end;

	if (!p->list.wants_pack)
		return PARSE_DONE;
	if (p->hold == NULL)
		return pushing_pack_next(p, room, out, fail);
	if (hold_get(p->hold, room, out, &end))
		return end ? PARSE_DONE : PARSE_MORE;
	fail->reason = why_not_held(p, &detail);
	fail->detail = detail;
	return PARSE_BAD;
}

enum parse
pushing_feed(struct exchange *x UNUSED, size_t room, struct slice *out,
    struct parse_fail *fail, void *arg)
{
	struct request *r = arg;
	struct pushing *p = r->pushing;
	enum parse got = PARSE_MORE;

	if (p->gave_head)
		buf_drop(&p->head, p->n_given);
	if (p->gave_head)
		p->n_given = 0;
	p->gave_head = p->head.n != 0;
	if (p->gave_head) {
		*out = slice_first(buf_slice(&p->head), room);
		p->n_given = out->n;
		if (out->n == p->head.n && !p->list.wants_pack)
			got = PARSE_DONE;
	} else {
		got = feed_pack(p, room, out, fail);
	}
	/* A pack that is read is nothing to a server without its end; but one
	 * that was held is for a server of which nobody knows that. */
	if (got == PARSE_DONE ||
	    ((p->proof == NULL || p->hold != NULL) && out->n != 0))
		p->is_sent = true;
	return got;
}

/* --- the answer ---------------------------------------------------------- */

struct reader {
	struct stage stage;	 /* first */
	struct outcome *outcome; /* borrowed */
};

static void
reader_free(struct stage *s)
{
	free(s);
}

static bool
reader_take(struct stage *s, struct slice in, bool last UNUSED, struct buf *out,
    struct parse_fail *fail)
{
	struct reader *reader = (struct reader *)s;

	outcome_take(reader->outcome, in);
	if (in.n == 0 || buf_put(out, in))
		return true;
	*fail =
	    (struct parse_fail){ REASON_INTERNAL, "no room for the answer", 0 };
	return false;
}

/* What the server says of each ref is read as it passes.  False: no memory. */
static bool
read_report(struct pushing *p)
{
	static const struct stage_ops ops = { reader_take, reader_free };
	struct reader *reader = calloc(1, sizeof(*reader));

	if (reader == NULL || outcome_init(&p->outcome, &p->list) != 0) {
		free(reader);
		return false;
	}
	p->has_outcome = true;
	reader->stage.ops = &ops;
	reader->outcome = &p->outcome;
	stages_add(&p->r->x.down.stages, &reader->stage);
	return true;
}

static bool
is_report(struct http_response *res)
{
	const struct field *type =
	    field_find(&res->fields, SLICE("content-type"));

	return res->status == 200 && type != NULL &&
	    slice_eq_str(type->value, REPORT_TYPE);
}

bool
pushing_answered(struct request *r)
{
	struct pushing *p = r->pushing;
	struct http_response *res = &r->x.res;
	char detail[STREAM_TEXT_SIZE];

	if (res->status < 200)
		return true;
	if (is_report(res)) {
		if (read_report(p))
			return true;
		exchange_refuse(&r->x, REASON_INTERNAL, "out of memory");
		return false;
	}
	/* Of anything else git shows nothing. */
	snprintf(detail, sizeof(detail),
	    "the server answered %u, and nothing of the push", res->status);
	request_fail(r, REASON_UP_RESPONSE, slice_of_str(detail));
	return false;
}

/* --- the end ------------------------------------------------------------- */

void
pushing_refusing(struct request *r)
{
	struct pushing *p = r->pushing;

	if (p == NULL)
		return;
	if (!p->is_told)
		pushing_say_fault(p);
	/* The rest of the body is dropped, as slowly as the client likes: what
	 * others wait for is not kept for that. */
	pushing_let_go(p);
}

/* What became of a command, for its record; NULL: nobody has said. */
static const char *
result_of(const struct pushing *p, enum outcome_is is)
{
	if (is == OUTCOME_OK)
		return "ok";
	if (is == OUTCOME_NG)
		return "ng";
	return p->is_sent ? "unknown" : NULL;
}

static enum outcome_is
outcome(const struct pushing *p, size_t i, struct slice *why)
{
	*why = (struct slice){ 0 };
	return p->has_outcome ? outcome_of(&p->outcome, i, why) :
				OUTCOME_UNKNOWN;
}

/* It took something that it never got the end of: then what the rule wants
 * shown is no condition there. */
static void
check_forge(struct pushing *p)
{
	static const char what[] =
	    "the server took a push that it never got the end of: its `forge` "
	    "is not what the rule says";
	struct request *r = p->r;
	struct slice why;
	bool took = false;

	for (size_t i = 0; i < p->list.n_commands && !took; i++)
		took = outcome(p, i, &why) == OUTCOME_OK;
	if (!took || p->is_sent)
		return;
	r->facts.fault = REASON_GIT_PACK;
	record_judge(r->generation, &r->facts, &r->verdict);
	record_alarm(r, REASON_GIT_PACK, what);
}

void
pushing_ended(struct request *r)
{
	struct pushing *p = r->pushing;
	struct slice why;

	if (p == NULL || !p->is_begun)
		return;
	check_forge(p);
	for (size_t i = 0; i < p->list.n_commands; i++) {
		const char *result = result_of(p, outcome(p, i, &why));
		record_push_end(r, &p->commands[i], result, why);
	}
}

bool
pushing_is_pending(const struct request *r)
{
	const struct pushing *p = r->pushing;

	return p != NULL &&
	    ((p->proof != NULL && pushing_proof_is_pending(p->proof)) ||
		(p->hold != NULL && !hold_is_ready(p->hold)));
}

bool
pushing_was_probe(const struct request *r)
{
	return r->pushing != NULL && r->pushing->is_probe;
}
