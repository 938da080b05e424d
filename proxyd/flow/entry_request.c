/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to a proxy, each with an absolute URL. */
#include "base/ascii.h"
#include "flow/entry.h"
#include "flow/record.h"
#include "flow/request.h"

static const char *
check_form(const struct target *t)
{
	if (t->form == TARGET_ORIGIN)
		return "a proxy is asked with an absolute URL";
	if (t->form == TARGET_ABSOLUTE &&
	    !ascii_eq_fold(t->scheme, SLICE("http")))
		return "a proxy is asked for https by CONNECT";
	return NULL;
}

void
entry_read_request(struct request *r)
{
	const struct flow *f = r->flow;
	struct http_request *req = &r->x.req;
	const struct target *t = &req->target;
	const char *why = check_form(t);

	if (!entry_forwards(f))
		return;
	if (!entry_shows_token(f->sandbox, &req->fields))
		request_fault(r, REASON_PROXY_AUTH,
		    "a request without the token");
	/* It was for us, and is nobody's foreign credential. */
	(void)field_remove(&req->fields, SLICE("proxy-authorization"));
	if (why != NULL)
		request_fault(r, REASON_HTTP_TARGET_FORM, why);
	if (t->form != TARGET_ABSOLUTE || f->generation == NULL)
		return;
	r->facts.dst = entry_address(f, &t->authority.host);
	r->facts.port = t->authority.has_port ? t->authority.port : 80;
	if (t->authority.host.is_ip && entry_is_given(f, &r->facts.dst))
		request_fault(r, REASON_DST_UNMAPPED_IP,
		    "an address that stands for names");
}

void
entry_begin_request(struct request *r)
{
	struct flow *f = r->flow;

	if (!entry_forwards(f) || f->begun)
		return;
	f->dst = f->facts.dst = r->facts.dst;
	f->port = f->facts.port = r->facts.port;
	record_judge(f->generation, &f->facts, &f->verdict);
}
