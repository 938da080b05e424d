/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JUDGE of a request: its facts, the verdict, and that both are recorded where
 * that must come first.
 */
#include "base/ascii.h"
#include "base/clock.h"
#include "cred/foreign.h"
#include "cred/look.h"
#include "flow/entry.h"
#include "flow/git.h"
#include "flow/git_lfs.h"
#include "flow/pushing.h"
#include "flow/record.h"
#include "flow/request.h"
#include "http/refuse_grpc.h"
#include "wire/query.h"
#include "wire/upgrade.h"
#include "wire/urlpath.h"

void
request_fault(struct request *r, enum reason reason, const char *detail)
{
	if (r->facts.fault != REASON_ALLOW)
		return;
	r->facts.fault = reason;
	r->x.fail = (struct parse_fail){ .reason = reason, .detail = detail };
}

static void
fault_of(struct request *r, const struct parse_fail *fail)
{
	if (r->facts.fault == REASON_ALLOW)
		r->x.refusal.status = http_fail_status(fail);
	request_fault(r, fail->reason, fail->detail);
}

static uint16_t
usual_port(enum scheme scheme)
{
	return scheme == SCHEME_HTTPS ? 443 : 80;
}

/* An authority says this connection's port, or none where that is usual. */
static bool
port_fits(const struct request *r, const struct target_authority *a)
{
	uint16_t port = a->has_port ? a->port : usual_port(r->facts.scheme);
	return port == r->facts.port;
}

static void
read_target(struct request *r)
{
	const struct http_request *req = &r->x.req;
	const struct target *t = &req->target;
	const char *scheme = r->facts.scheme == SCHEME_HTTPS ? "https" : "http";

	/* With a path it is a method like others that no rule can name. */
	if (t->form == TARGET_AUTHORITY &&
	    slice_eq(req->method, SLICE("CONNECT")))
		request_fault(r, REASON_HTTP_CONNECT, "CONNECT");
	if (t->form == TARGET_AUTHORITY || t->form == TARGET_ASTERISK)
		request_fault(r, REASON_HTTP_TARGET_FORM,
		    "neither a path nor an absolute URL");
	/* The same thing said twice, or a proxy's request gone astray. */
	if (t->form == TARGET_ABSOLUTE &&
	    (!ascii_eq_fold(t->scheme, slice_of_str(scheme)) ||
		!host_eq(&t->authority.host, &req->host.host) ||
		!port_fits(r, &t->authority)))
		request_fault(r, REASON_HTTP_HOST_MISMATCH,
		    "absolute URL of another scheme, host or port");
	if (!port_fits(r, &req->host))
		request_fault(r, REASON_HTTP_HOST_MISMATCH,
		    "Host has another port");
}

static void
read_path(struct request *r)
{
	const struct target *t = &r->x.req.target;
	struct urlpath path;
	struct parse_fail fail;

	if (t->form != TARGET_ORIGIN && t->form != TARGET_ABSOLUTE)
		return;
	r->path = malloc(t->path.n + 1);
	if (r->path == NULL) {
		request_fault(r, REASON_INTERNAL, "out of memory");
		return;
	}
	if (urlpath_canon(t->path, LIMIT_PATH_SIZE, r->path, &path, &fail) !=
	    PARSE_DONE) {
		fault_of(r, &fail);
		return;
	}
	r->facts.path = path.text;
	if (t->has_query && query_check(t->query, &fail) != PARSE_DONE) {
		fault_of(r, &fail);
		return;
	}
	r->facts.has_query = t->has_query;
	r->facts.query = t->query;
}

static void
look_for_credentials(struct request *r)
{
	const struct http_request *req = &r->x.req;
	const struct look_head head = {
		.method = req->method,
		.target = req->raw_target,
		.query = r->facts.query,
		.fields = &req->fields,
	};

	if (r->generation != NULL)
		look_at(&head, &r->generation->slots,
		    &r->flow->sandbox->placeholders, &r->facts);
}

static void
read_upgrade(struct request *r)
{
	enum upgrade upgrade = upgrade_asked(&r->x.req);

	r->facts.upgrade = upgrade != UPGRADE_NONE;
	if (upgrade == UPGRADE_OTHER)
		request_fault(r, REASON_HTTP_UPGRADE,
		    "an upgrade to no WebSocket");
}

static void
read_request(struct request *r)
{
	struct http_request *req = &r->x.req;

	if (r->x.is_bad) {
		r->facts.fault = r->x.fail.reason;
		return;
	}
	r->facts.method = req->method;
	entry_read_request(r);
	r->host = req->host.host;
	r->facts.host = host_slice(&r->host);
	read_target(r);
	read_path(r);
	read_upgrade(r);
	look_for_credentials(r);
	if (req->expect == HTTP_EXPECT_OTHER) {
		request_fault(r, REASON_HTTP_MALFORMED,
		    "Expect other than 100-continue");
		if (r->facts.fault == REASON_HTTP_MALFORMED)
			r->x.refusal.status = 417;
	}
}

void
request_put_what(struct request *r)
{
	const struct facts *f = &r->facts;
	struct slice host = f->host.n != 0 ? f->host : f->sni;
	bool v6 = host.n != 0 && memchr(host.p, ':', host.n) != NULL;
	struct buf *out = &r->x.refusal.what;

	if (f->method.n == 0 || out->n != 0)
		return;
	refusal_put_escaped(out, f->method, 40);
	buf_putf(out, " %s://",
	    scheme_name(f->upgrade ? scheme_above(f->scheme) : f->scheme));
	buf_put_str(out, v6 ? "[" : "");
	refusal_put_escaped(out, host, 256);
	buf_put_str(out, v6 ? "]" : "");
	if (f->port != usual_port(f->scheme))
		buf_putf(out, ":%u", f->port);
	refusal_put_escaped(out, f->path, 512);
}

/* What the verdict says, in the words of the client's protocol. */
static void
explain(struct request *r)
{
	struct refusal *refusal = &r->x.refusal;
	const struct verdict *v = &r->verdict;

	refusal->reason = v->reason;
	request_put_what(r);
	if (r->generation == NULL)
		return;
	const struct program *p = r->generation->program;
	policy_explain(p, &r->facts, v, &refusal->policy);
	if (r->x.fail.detail[0] != '\0')
		buf_putf(&refusal->policy, " (%s)", r->x.fail.detail);
	if (v->rule != VERDICT_NONE)
		refusal->rule = program_rule(p, v->rule).name;
	if (v->nearest != VERDICT_NONE)
		refusal->allowed = program_rule(p, v->nearest).text;
}

void
request_deny(struct request *r)
{
	struct exchange *x = &r->x;

	explain(r);
	if (r->verdict.reason == REASON_CRED_MISPLACED ||
	    r->verdict.reason == REASON_CRED_FOREIGN)
		record_alarm(r, r->verdict.reason,
		    "a placeholder stood where it must not");
	if (git_refusal_status(r) != 0)
		x->refusal.status = git_refusal_status(r);
	x->status = refusal_status(&x->refusal);
	x->grpc_status = refusal_grpc_answer(&x->refusal);
	record_request_end(r);
	exchange_refuse(x, r->verdict.reason, x->fail.detail);
}

/* The client's own credentials that the rule strips, out of the request. */
static bool
strip(struct request *r)
{
	struct http_request *req = &r->x.req;
	uint32_t slots = r->verdict.strip;
	struct wr w;

	if (r->verdict.strip_cookies)
		field_remove(&req->fields, SLICE("cookie"));
	if (slots == 0)
		return true;
	(void)foreign_strip_fields(&req->fields, slots);
	if (!req->target.has_query)
		return true;
	r->query = malloc(req->target.query.n + 1);
	if (r->query == NULL)
		return false;
	w = wr_of(r->query, req->target.query.n);
	req->target.has_query =
	    foreign_strip_query(req->target.query, slots, &w);
	req->target.query = wr_slice(&w);
	return !w.bad;
}

/* What is encoded cannot be searched: ask for what can. */
static bool
ask_for_identity(struct request *r)
{
	struct field_list *fields = &r->x.req.fields;

	if (!r->verdict.search_answer && !r->git.discover &&
	    !git_lfs_is_batch(r))
		return true;
	/* What the client says of its connection takes nothing of ours away. */
	field_remove_named(fields);
	field_remove(fields, SLICE("accept-encoding"));
	return field_add(fields, SLICE("Accept-Encoding"), SLICE("identity"));
}

/* What nobody knows the length of is counted as it comes. */
bool
request_count_body(struct request *r)
{
	struct stage *stage;

	if (!spend_wants_body(&r->spend))
		return true;
	stage = spend_stage(&r->spend, SPEND_UP);
	if (stage != NULL)
		stages_add(&r->x.up.stages, stage);
	return stage != NULL;
}

static bool
prepare(struct request *r)
{
	bool is_open = r->x.req.body == HTTP_BODY_OPEN || r->facts.upgrade;
	struct exchange *x = &r->x;

	x->host = &r->host;
	x->path = r->facts.path;
	x->port =
	    r->facts.port == usual_port(r->facts.scheme) ? 0 : r->facts.port;
	x->skip_cookies = r->verdict.strip_cookies;
	x->upgrade = r->facts.upgrade;
	if (r->spend.limits.idle_ms != 0)
		x->idle_ms = r->spend.limits.idle_ms;
	return git_prepare(r) && git_lfs_prepare(r) && strip(r) &&
	    ask_for_identity(r) && (!is_open || request_count_body(r));
}

/* The `limits:` of the rule. */
static enum reason
check_limits(struct request *r)
{
	struct exchange *x = &r->x;
	bool known = x->req.body == HTTP_BODY_LENGTH;

	spend_init(&r->spend, r->generation->program, r->verdict.rule,
	    &r->generation->spent);
	enum reason reason = spend_request(&r->spend, x->head.n,
	    known ? x->req.length : 0, clock_ms());
	if (reason == REASON_ALLOW)
		return reason;
	x->refusal.rule =
	    program_rule(r->generation->program, r->verdict.rule).name;
	x->refusal.retry_after_s = r->spend.retry_after_s;
	/* Too many bytes for now is no length that is too large. */
	if (r->spend.retry_after_s != 0)
		x->refusal.status = 429;
	return reason;
}

/*
 * A push is read before it is told what becomes of it.  False: it goes no
 * further, for a reason that has nothing to do with what it pushes.
 */
static bool
begin_push(struct request *r)
{
	const char *detail;
	enum reason reason = pushing_begin(r, &detail);

	if (reason == REASON_ALLOW)
		return true;
	if (r->verdict.allow) {
		request_fault(r, reason, detail);
		record_judge(r->generation, &r->facts, &r->verdict);
	}
	request_deny(r);
	return false;
}

/* A WebSocket may be opened: does it open one? */
static void
check_upgrade(struct request *r)
{
	const char *why = NULL;

	if (r->verdict.allow && r->facts.upgrade)
		why = upgrade_check_request(&r->x.req);
	if (why == NULL)
		return;
	request_fault(r, REASON_HTTP_MALFORMED, why);
	record_judge(r->generation, &r->facts, &r->verdict);
}

/* In a tunnel without TLS: names that share a wildcard share its address. */
static void
check_tunnel(struct request *r)
{
	if (!r->verdict.allow || !entry_is_other(r->flow, &r->host))
		return;
	request_fault(r, REASON_HTTP_HOST_MISMATCH,
	    "another name than the tunnel's");
	record_judge(r->generation, &r->facts, &r->verdict);
}

static void
check_lfs(struct request *r)
{
	const char *why = "";
	enum reason reason = git_lfs_check(r, &why);

	if (reason == REASON_ALLOW)
		return;
	request_fault(r, reason, why);
	record_judge(r->generation, &r->facts, &r->verdict);
}

/* Each of 1,024 connections of HTTP/2 could have 128 under way. */
static enum reason
check_h2_requests(struct request *r)
{
	if (r->flow->sandbox->n_h2_requests <= LIMIT_H2_REQUESTS)
		return REASON_ALLOW;
	snprintf(r->spend.text, sizeof(r->spend.text),
	    "%d requests of this sandbox are under way; wait until one of them "
	    "is over",
	    LIMIT_H2_REQUESTS);
	return REASON_LIMIT_CONNS;
}

/* Too many masked answers: which rule they closed, and what opens it. */
static enum reason
closed_by_echo(struct request *r)
{
	struct slice name =
	    program_rule(r->generation->program, r->verdict.rule).name;

	/* Of a policy that is included it may be longer than the room. */
	name = slice_first(name, 40);
	snprintf(r->spend.text, sizeof(r->spend.text),
	    "rule `%.*s` is closed in this run; `echo: mask` on its "
	    "credential keeps it open",
	    SLICE_ARG(name));
	return REASON_CRED_ECHO;
}

/* Allowed, but not now: no answer of policy's, so a fault. */
static void
check_admission(struct request *r)
{
	const struct sandbox *sb = r->flow->sandbox;
	enum reason reason = sb->asks->may_admit(sb->asks_arg);

	if (!r->verdict.allow)
		return;
	if (sandbox_is_echoing(sb, r->verdict.rule))
		reason = closed_by_echo(r);
	if (reason == REASON_ALLOW)
		reason = check_h2_requests(r);
	if (reason == REASON_ALLOW)
		reason = check_limits(r);
	if (reason == REASON_ALLOW)
		return;
	request_fault(r, reason, r->spend.text);
	record_judge(r->generation, &r->facts, &r->verdict);
}

void
request_judge(struct exchange *x, void *arg)
{
	struct request *r = arg;
	struct flow *f = r->flow;

	/* request_judge_more() comes back to it. */
	if (f->sandbox->asks->is_behind(f->sandbox->asks_arg))
		return;
	if (f->sandbox->generation != NULL)
		r->generation = generation_ref(f->sandbox->generation);
	request_know(r, r->generation);
	r->facts = f->facts;
	r->facts.kind = FACTS_REQUEST;
	r->facts.now_s = clock_wall_us() / 1000000;
	r->judged = true;
	read_request(r);
	/* A connection that was refused keeps its reason for what is in it. */
	if (!f->verdict.allow && !entry_forwards(f)) {
		r->facts.fault = f->facts.fault;
		x->fail = (struct parse_fail){ REASON_ALLOW, "", 0 };
		x->refusal.status = 0;
	}
	record_judge(r->generation, &r->facts, &r->verdict);
	check_tunnel(r);
	git_recognise(r);
	check_upgrade(r);
	check_lfs(r);
	check_admission(r);
	if (!r->verdict.allow) {
		if (!pushing_is(r))
			request_deny(r);
		else if (begin_push(r))
			exchange_allow(x);
		return;
	}
	if (!prepare(r)) {
		exchange_refuse(x, REASON_INTERNAL,
		    "request cannot be written");
		return;
	}
	if (pushing_is(r) && !begin_push(r))
		return;
	entry_begin_request(r);
	record_flow_begin(f);
	/* It waits for what is read first: the commands of a push, a probe. */
	if (r->verdict.n_credentials != 0 && r->pushing == NULL &&
	    !r->probe.may_be)
		record_request_begin(r);
	request_judge_more(r);
}

void
request_judge_more(struct request *r)
{
	const struct flow *f = r->flow;

	if (r->x.phase != EXCHANGE_JUDGE || !r->x.asked)
		return;
	if (!r->judged) {
		request_judge(&r->x, r);
		return;
	}
	if (!r->verdict.allow)
		return;
	/* A push is read first, to be told so in git's own words. */
	if (f->record_failed && r->pushing != NULL)
		exchange_allow(&r->x);
	else if (f->record_failed || r->record_failed)
		exchange_refuse(&r->x, REASON_AUDIT_FULL,
		    "the record could not be written");
	else if (f->is_recorded && (!r->begun || r->is_recorded))
		exchange_allow(&r->x);
}
