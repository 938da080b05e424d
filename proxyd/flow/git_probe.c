/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/git_probe.h"
#include "flow/record.h"
#include "flow/request.h"

#define FLUSH SLICE("0000")
#define RESULT_TYPE "application/x-git-upload-pack-result"

bool
git_probe_may_be(const struct request *r)
{
	const struct http_request *req = &r->x.req;

	return r->git.service == GITPATH_FETCH && !r->git.discover &&
	    req->body == HTTP_BODY_LENGTH && req->length == GIT_PROBE_SIZE &&
	    field_count(&req->fields, SLICE("content-encoding")) == 0;
}

/* 200 and nothing in it. */
static void
answer(struct request *r)
{
	struct refusal *refusal = &r->x.refusal;

	refusal->type = RESULT_TYPE;
	refusal->for_git = true;
	refusal->status = 200;
	r->probe.answered = true;
	exchange_refuse(&r->x, REASON_ALLOW, "");
}

/* It was none.  What carries a credential is announced first. */
static void
go_on(struct request *r)
{
	if (r->verdict.n_credentials != 0 && !r->begun)
		record_request_begin(r);
	if (r->record_failed) {
		exchange_refuse(&r->x, REASON_AUDIT_FULL,
		    "the record could not be written");
	} else if (!r->begun || r->is_recorded) {
		exchange_feed(&r->x, HTTP_BODY_LENGTH, r->probe.n);
		exchange_allow(&r->x);
	}
}

void
git_probe_read(struct request *r)
{
	struct git_probe *p = &r->probe;
	struct parse_fail fail;
	struct slice in;
	enum parse got;

	while ((got = exchange_pull(&r->x, &in, &fail)) == PARSE_MORE &&
	    in.n != 0 && p->n < GIT_PROBE_SIZE) {
		in = slice_first(in, GIT_PROBE_SIZE - p->n);
		memcpy(p->got + p->n, in.p, in.n);
		p->n += in.n;
		exchange_pulled(&r->x, in.n);
	}
	if (got == PARSE_MORE)
		return;
	if (got == PARSE_BAD) {
		exchange_refuse(&r->x, fail.reason, fail.detail);
	} else if (slice_eq(slice_of(p->got, p->n), FLUSH)) {
		answer(r);
	} else {
		go_on(r);
	}
}

enum parse
git_probe_feed(struct request *r, size_t room, struct slice *out)
{
	struct git_probe *p = &r->probe;

	*out = slice_first(slice_of(p->got + p->fed, p->n - p->fed), room);
	p->fed += out->n;
	return p->fed == p->n ? PARSE_DONE : PARSE_MORE;
}
