/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/request.h"
#include "base/clock.h"
#include "flow/git.h"
#include "flow/git_lfs.h"
#include "flow/pushing.h"
#include "flow/record.h"
#include "http/h2_stream.h"

void
request_fail(struct request *r, enum reason reason, struct slice detail)
{
	snprintf(r->detail, sizeof(r->detail), "%.*s", SLICE_ARG(detail));
	exchange_refuse(&r->x, reason, r->detail);
}

void
request_sent(struct exchange *x, void *arg)
{
	struct request *r = arg;

	(void)x;
	attach_wipe(&r->attach);
}

void
request_refusing(struct exchange *x UNUSED, void *arg)
{
	request_put_what(arg);
	pushing_refusing(arg);
	git_refusing(arg);
}

void
request_keep(struct exchange *x, struct stream *s, void *arg)
{
	struct request *r = arg;
	const struct pool_key key = request_pool_key(r);

	(void)x;
	pool_put(r->flow->sandbox->pool, &key, s);
}

/* Every credential here is one whose origin is known to echo (`echo: mask`):
 * which of them a hit was of is not known. */
static bool
may_echo(const struct request *r)
{
	const struct program *p = r->generation->program;

	for (uint32_t i = 0; i < r->verdict.n_credentials; i++)
		if (!program_credential(p, r->verdict.credentials[i]).echo_mask)
			return false;
	return true;
}

/* What a person should look at, beside the verdict. */
static void
note_alarms(struct request *r)
{
	struct sandbox *sb = r->flow->sandbox;

	if (r->body_placeholder)
		record_alarm(r, REASON_CRED_MISPLACED,
		    "a placeholder stood in a request's body");
	if (r->x.fail.reason == REASON_CRED_LEAK ||
	    r->x.fail.reason == REASON_CRED_MISPLACED ||
	    r->x.fail.reason == REASON_CRED_FOREIGN)
		record_alarm(r, r->x.fail.reason, r->x.fail.detail);
	if (r->n_masked == 0)
		return;
	record_alarm(r, REASON_CRED_ECHO,
	    "the origin sent a credential back; it was masked");
	if (!may_echo(r) && request_by(r) == sb->generation)
		sandbox_note_echo(sb, request_rule(r));
}

/* It is over: nothing is pending any more, and there is one final record. */
static void
request_ended(struct exchange *x, void *arg)
{
	struct request *r = arg;
	struct flow *f = r->flow;

	request_reach_cancel(r);
	if (x->origin_error == H2_HTTP_1_1_REQUIRED)
		request_choose_http11(r);
	attach_wipe(&r->attach);
	spend_end(&r->spend, x->bytes_up, clock_ms());
	f->bytes_up += x->bytes_up;
	f->bytes_down += x->bytes_down;
	/* The client went away between requests: there was none. */
	if (r->ended || (!r->judged && x->fail.reason == REASON_ALLOW))
		return;
	if (!r->judged) {
		r->facts = f->facts;
		r->facts.kind = FACTS_REQUEST;
		if (f->generation != NULL)
			r->generation = generation_ref(f->generation);
	}
	if (x->fail.reason != REASON_ALLOW &&
	    (r->verdict.allow || !r->judged)) {
		r->facts.fault = x->fail.reason;
		record_judge(r->generation, &r->facts, &r->verdict);
	}
	note_alarms(r);
	pushing_ended(r);
	record_request_end(r);
}

/* Of a stream of HTTP/2; that of HTTP/1 is the flow's. */
static void
on_client_news(struct stream *s UNUSED, void *arg)
{
	request_wake(arg);
}

static void
on_limit(void *arg)
{
	request_wake(arg);
}

void
request_know(struct request *r, const struct generation *g)
{
	r->x.refusal.code_only =
	    g != NULL && program_shows_code_alone(g->program);
}

/* The part of `r` from here to there, as far as it is to be zero. */
static void
clear(struct request *r, size_t from, size_t to)
{
	memset((char *)r + from, 0, to - from);
}

/*
 * All zero but the entries of two lists of fields that have none: they are
 * three quarters of it, and each request would have to write them.
 */
static struct request *
allocate(void)
{
	const size_t sent = offsetof(struct request, x.req.fields.at);
	const size_t came = offsetof(struct request, x.res.fields.at);
	const size_t list = sizeof(((struct field_list *)NULL)->at);
	struct request *r = malloc(sizeof(*r));

	if (r == NULL)
		return NULL;
	clear(r, 0, sent);
	clear(r, sent + list, came);
	clear(r, came + list, sizeof(*r));
	return r;
}

/* The bodies that are read before there is an upstream, of either kind. */
static void
read_body(struct exchange *x, void *arg)
{
	struct request *r = arg;

	if (r->lfs != NULL)
		git_lfs_read(r);
	else if (r->pushing != NULL)
		pushing_read(x, r);
	else
		git_probe_read(r);
}

static enum parse
feed_body(struct exchange *x, size_t room, struct slice *out,
    struct parse_fail *fail, void *arg)
{
	struct request *r = arg;

	if (r->lfs != NULL)
		return git_lfs_feed(r, room, out);
	if (r->pushing != NULL)
		return pushing_feed(x, room, out, fail, r);
	return git_probe_feed(r, room, out);
}

struct request *
request_new(struct flow *f, struct stream *client)
{
	static const struct exchange_ops ops = {
		.judge = request_judge,
		.read = read_body,
		.feed = feed_body,
		.reach = request_reach,
		.attach = request_attach,
		.sent = request_sent,
		.answered = request_answered,
		.trailers = request_trailers,
		.refusing = request_refusing,
		.keep = request_keep,
		.ended = request_ended,
		.on_limit = on_limit,
	};
	struct request *r = allocate();
	bool is_h2 = client != f->client;
	enum err err;

	if (r != NULL)
		r->x.version = is_h2 ? &exchange_h2 : &exchange_h1;
	if (r == NULL ||
	    exchange_init(&r->x, f->loop, client, &ops, r, &err) != 0) {
		if (is_h2)
			stream_close(client);
		free(r);
		return NULL;
	}
	if (is_h2) {
		stream_on(client, on_client_news, r);
		f->sandbox->n_h2_requests++;
	}
	r->flow = f;
	attach_init(&r->attach);
	request_know(r, f->generation);
	r->x.flow = f->name;
	r->x.number = ++f->n_requests;
	LIST_INSERT_HEAD(&f->requests, r, entry);
	return r;
}

void
request_free(struct request *r)
{
	LIST_REMOVE(r, entry);
	exchange_release(&r->x);
	pushing_free(r->pushing);
	git_lfs_free(r->lfs);
	r->pushing = NULL;
	if (r->x.client != r->flow->client) {
		stream_close(r->x.client);
		r->flow->sandbox->n_h2_requests--;
	}
	generation_unref(r->generation);
	generation_unref(r->latest);
	search_free(r->forms);
	search_free(r->forms_before);
	free(r->path);
	free(r->git_path);
	free(r->query);
	if (r->n_records == 0)
		free(r);
	else
		r->is_free = true;
}

void
request_drain(struct request *r)
{
	r->x.close = true;
	if (r->flow->h2 != NULL)
		h2_shut(r->flow->h2);
}

void
request_wake(struct request *r)
{
	r->news = true;
	flow_run(r->flow);
}

void
request_on_written(bool written, void *arg)
{
	struct request *r = arg;
	struct flow *f = r->flow;

	r->n_records--;
	if (!r->is_free) {
		r->record_failed = r->record_failed || !written;
		r->is_recorded = r->n_records == 0 && !r->record_failed;
		request_wake(r);
	} else if (r->n_records == 0) {
		free(r);
	}
	flow_drop_record(f);
}

bool
request_run(struct request *r)
{
	enum exchange_phase before, after;

	r->news = false;
	do {
		before = r->x.phase;
		request_judge_more(r);
		request_reach_more(r);
		request_attach_more(r);
		after = exchange_run(&r->x);
	} while (after != before && after != EXCHANGE_DONE &&
	    after != EXCHANGE_GONE);
	return after == EXCHANGE_DONE || after == EXCHANGE_GONE;
}

bool
request_judge_again(struct request *r)
{
	if (r->pushing != NULL || r->lfs != NULL ||
	    !exchange_judge_again(&r->x))
		return false;
	request_reach_cancel(r);
	attach_wipe(&r->attach);
	spend_undo(&r->spend, clock_ms());
	free(r->path);
	free(r->git_path);
	free(r->query);
	r->path = r->git_path = r->query = NULL;
	/* They point into those, and into the program. */
	r->facts = (struct facts){ 0 };
	r->verdict = (struct verdict){ 0 };
	r->git = (struct gitpath){ .service = GITPATH_NONE };
	r->probe = (struct git_probe){ 0 };
	generation_unref(r->generation);
	generation_unref(r->latest);
	r->generation = r->latest = NULL;
	r->judged = r->is_again = r->is_released = false;
	return true;
}

bool
request_may_continue(const struct request *r)
{
	return exchange_may_continue(&r->x);
}

bool
request_was_cut(const struct request *r)
{
	return r->x.phase == EXCHANGE_GONE && r->x.answering;
}

bool
request_is_lost(const struct request *r)
{
	return r->x.phase == EXCHANGE_GONE;
}

bool
request_is_idle(const struct request *r)
{
	return r->x.phase == EXCHANGE_HEAD && !r->x.begun;
}
