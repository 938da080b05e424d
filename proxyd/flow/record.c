/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/record.h"
#include "audit/event.h"
#include "audit/facts_event.h"
#include "base/clock.h"
#include "base/wr.h"
#include "flow/pass.h"
#include "flow/pushing.h"

/* Bytes of a name and a blank: 40 in the language (load/read.h). */
#define CREDENTIAL_NAME_MAX 64

void
record_judge(const struct generation *g, const struct facts *f,
    struct verdict *v)
{
	if (g != NULL) {
		*v = policy_decide(g->program, f);
		return;
	}
	*v = (struct verdict){
		.reason = REASON_POLICY_NONE,
		.rule = VERDICT_NONE,
		.nearest = VERDICT_NONE,
		.dial = VERDICT_NONE,
	};
}

/*
 * Room for the texts that a record borrows.  One is enough, since a record is
 * encoded before another is begun; on the stack 16 KiB would be zeroed each time.
 */
static struct {
	struct facts_text facts;
	char credentials[VERDICT_CREDENTIALS_MAX * CREDENTIAL_NAME_MAX];
} text;

/* What all records of a flow have. */
static void
begin(struct event *e, enum event_kind kind, const struct flow *f,
    const struct generation *g)
{
	event_init(e, kind);
	event_str(e, FIELD_SANDBOX, f->sandbox->name);
	event_str(e, FIELD_FLOW, f->name);
	if (g == NULL)
		return;
	event_text(e, FIELD_POLICY, program_policy_name(g->program));
	event_str(e, FIELD_PROGRAM, g->digest);
	event_number(e, FIELD_GENERATION, g->number);
}

static bool
send_event(struct flow *f, const struct event *e, asks_on_written *on_written)
{
	const struct sandbox *sb = f->sandbox;

	return sb->asks->record(sb->asks_arg, e, on_written, f);
}

static void
put_connection(struct event *e, const struct flow *f)
{
	facts_to_event(f->generation == NULL ? NULL : f->generation->program,
	    &f->facts, &f->verdict, &text.facts, e);
	if (f->detail[0] != '\0')
		event_str(e, FIELD_DETAIL, f->detail);
	if (f->has_ech)
		event_bool(e, FIELD_TLS_ECH, true);
}

void
record_flow_begin(struct flow *f)
{
	struct event e;

	if (f->begun)
		return;
	begin(&e, EVENT_FLOW_BEGIN, f, f->generation);
	put_connection(&e, f);
	event_number(&e, FIELD_QUESTIONS, f->sandbox->n_questions);
	f->begun = true;
	if (send_event(f, &e, flow_on_written)) {
		f->n_records++;
		f->sandbox->n_questions = 0;
	} else {
		f->record_failed = true;
	}
}

/* Whom the bytes went to, where no request can say it. */
static void
put_passed(struct event *e, const struct flow *f)
{
	if (f->pass == NULL || f->pass->cookie == 0)
		return;
	event_str(e, FIELD_PEER_ADDRESS, f->pass->address);
	event_number(e, FIELD_COOKIE_SOCKET, f->pass->cookie);
}

void
record_flow_end(struct flow *f)
{
	struct event e;

	if (!f->begun && f->told)
		return;
	begin(&e, EVENT_FLOW_END, f, f->generation);
	put_connection(&e, f);
	put_passed(&e, f);
	/* Without them it has the budget of denials (record/recorder.h). */
	if (f->begun) {
		event_number(&e, FIELD_BYTES_UP, f->bytes_up);
		event_number(&e, FIELD_BYTES_DOWN, f->bytes_down);
	}
	event_number(&e, FIELD_DURATION_US,
	    (clock_ms() - f->started_ms) * 1000);
	(void)send_event(f, &e, NULL);
}

/* The names of all that are attached: each has a release of the keeper's. */
static void
put_credentials(struct event *e, const struct request *r)
{
	struct wr w = wr_of(text.credentials, sizeof(text.credentials));

	for (uint32_t i = 0; i < r->verdict.n_credentials; i++) {
		if (i != 0)
			wr_u8(&w, ' ');
		wr_bytes(&w,
		    program_credential(r->generation->program,
			r->verdict.credentials[i])
			.name);
	}
	if (w.n != 0)
		event_text(e, FIELD_CREDENTIAL, wr_slice(&w));
}

static void
put_request(struct event *e, const struct request *r)
{
	facts_to_event(r->generation == NULL ? NULL : r->generation->program,
	    &r->facts, &r->verdict, &text.facts, e);
	event_number(e, FIELD_EXCHANGE, r->x.number);
	if (r->facts.host.n == 0 && r->facts.has_sni)
		event_text(e, FIELD_HOST, r->facts.sni);
	if (r->flow->has_ech)
		event_bool(e, FIELD_TLS_ECH, true);
	put_credentials(e, r);
	if (r->cookie != 0)
		event_number(e, FIELD_COOKIE_SOCKET, r->cookie);
}

/* What has to be in the log before the request goes on. */
static void
send_first(struct request *r, const struct event *e)
{
	const struct sandbox *sb = r->flow->sandbox;

	r->is_recorded = false;
	if (!sb->asks->record(sb->asks_arg, e, request_on_written, r)) {
		r->record_failed = true;
		return;
	}
	r->n_records++;
	r->flow->n_records++;
}

void
record_request_begin(struct request *r)
{
	struct event e;

	begin(&e, EVENT_REQUEST_BEGIN, r->flow, r->generation);
	put_request(&e, r);
	r->begun = true;
	send_first(r, &e);
}

/* As put_request(), of one command: by itself, or with what became of all. */
static void
put_command(struct event *e, const struct request *r,
    const struct git_command *c)
{
	struct facts f = r->facts;
	struct verdict v;

	f.kind = FACTS_COMMAND;
	f.command = *c;
	record_judge(r->generation, &f, &v);
	facts_to_event(r->generation->program, &f, &v, &text.facts, e);
	event_number(e, FIELD_EXCHANGE, r->x.number);
}

void
record_push_begin(struct request *r, const struct git_command *c)
{
	struct event e;

	begin(&e, EVENT_PUSH_BEGIN, r->flow, r->generation);
	put_command(&e, r, c);
	send_first(r, &e);
}

void
record_push_end(struct request *r, const struct git_command *c,
    const char *result, struct slice why)
{
	struct event e;

	begin(&e, EVENT_PUSH_END, r->flow, r->generation);
	put_command(&e, r, c);
	if (result != NULL)
		event_str(&e, FIELD_GIT_RESULT, result);
	if (why.n != 0)
		event_text(&e, FIELD_DETAIL, why);
	(void)send_event(r->flow, &e, NULL);
}

static bool
was_probe(const struct request *r)
{
	return r->probe.answered || pushing_was_probe(r);
}

void
record_request_end(struct request *r)
{
	const struct exchange *x = &r->x;
	struct event e;

	begin(&e, was_probe(r) ? EVENT_GIT_PROBE : EVENT_REQUEST_END, r->flow,
	    r->generation);
	put_request(&e, r);
	if (x->fail.detail[0] != '\0')
		event_str(&e, FIELD_DETAIL, x->fail.detail);
	if (r->address[0] != '\0')
		event_str(&e, FIELD_PEER_ADDRESS, r->address);
	if (x->status != 0)
		event_number(&e, FIELD_STATUS, x->status);
	if (x->grpc_status != 0)
		event_number(&e, FIELD_GRPC_STATUS, x->grpc_status);
	event_number(&e, FIELD_BYTES_UP, x->bytes_up);
	event_number(&e, FIELD_BYTES_DOWN, x->bytes_down);
	event_number(&e, FIELD_DURATION_US,
	    (clock_ms() - x->started_ms) * 1000);
	if (r->n_masked != 0)
		event_number(&e, FIELD_MASKED, r->n_masked);
	if (r->body_placeholder)
		event_bool(&e, FIELD_BODY_PLACEHOLDER, true);
	r->ended = true;
	r->flow->told = true;
	(void)send_event(r->flow, &e, NULL);
}

bool
record_question(struct request *r, const struct record_question *q,
    asks_on_written *on_written, void *arg)
{
	const struct sandbox *sb = r->flow->sandbox;
	struct event e;

	begin(&e, EVENT_QUESTION, r->flow, r->generation);
	event_text(&e, FIELD_RULE,
	    program_rule(r->generation->program, r->verdict.rule).name);
	event_number(&e, FIELD_EXCHANGE, r->x.number);
	event_text(&e, FIELD_HOST, host_slice(&r->host));
	event_number(&e, FIELD_PORT, r->facts.port);
	event_text(&e, FIELD_METHOD, q->method);
	event_text(&e, FIELD_PATH, q->path);
	put_credentials(&e, r);
	event_number(&e, FIELD_COOKIE_SOCKET, q->cookie);
	return sb->asks->record(sb->asks_arg, &e, on_written, arg);
}

void
record_alarm(struct request *r, enum reason reason, const char *detail)
{
	struct event e;

	begin(&e, EVENT_ALARM, r->flow, r->generation);
	event_reason(&e, reason);
	event_str(&e, FIELD_DETAIL, detail);
	event_number(&e, FIELD_EXCHANGE, r->x.number);
	(void)send_event(r->flow, &e, NULL);
}
