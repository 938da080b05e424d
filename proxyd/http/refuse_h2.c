/* SPDX-License-Identifier: Apache-2.0 */
/* Our own answers over HTTP/2. */
#include "http/h2_stream.h"
#include "http/refuse_grpc.h"

/* The fields that it has in HTTP/1.1, too. */
static void
put_fields(const struct refusal *r, const char *flow,
    const struct http_request *req, char retry[16], struct field_list *fields)
{
	fields->n = 0;
	refusal_add(fields, "content-type", refusal_type(r, req));
	refusal_add(fields, "cache-control", "no-store");
	refusal_add(fields, "x-content-type-options", "nosniff");
	refusal_add(fields, "duenna-reason", reason_name(r->reason));
	refusal_add(fields, "duenna-flow", flow);
	if (r->retry_after_s == 0)
		return;
	snprintf(retry, 16, "%u", r->retry_after_s);
	refusal_add(fields, "retry-after", retry);
}

/* Trailers are the whole answer. */
static bool
put_grpc(const struct refusal *r, struct stream *s, const char *flow)
{
	struct field_list fields = { .n = 0 };
	struct buf message;
	char status[16];

	buf_init(&message, REFUSAL_GRPC_MESSAGE_MAX);
	refusal_put_grpc_message(r, flow, &message);
	snprintf(status, sizeof(status), "%u", refusal_grpc_answer(r));
	refusal_add(&fields, "content-type", REFUSAL_GRPC);
	refusal_add(&fields, "grpc-status", status);
	refusal_add(&fields, "duenna-reason", reason_name(r->reason));
	refusal_add(&fields, "duenna-flow", flow);
	bool ok = !message.failed &&
	    field_add(&fields, SLICE("grpc-message"), buf_slice(&message));
	const struct http_new_response res = {
		.status = refusal_status(r),
		.fields = &fields,
		.body = HTTP_BODY_NONE,
	};
	ok = ok && h2_put_response(s, &res, true);
	buf_release(&message);
	return ok;
}

bool
refusal_put_h2(const struct refusal *r, struct stream *s, const char *flow,
    const struct http_request *req, uint64_t *n)
{
	bool is_head = req != NULL && slice_eq(req->method, SLICE("HEAD"));
	struct field_list fields;
	struct buf body;
	char retry[16];

	if (r->grpc)
		return put_grpc(r, s, flow);
	buf_init(&body, REFUSAL_BODY_MAX);
	refusal_put_body(r, flow, req, &body);
	put_fields(r, flow, req, retry, &fields);
	const struct http_new_response res = {
		.status = refusal_status(r),
		.fields = &fields,
		.body = HTTP_BODY_LENGTH,
		.has_length = true,
		.length = body.n,
	};
	bool ok = !body.failed && h2_put_response(s, &res, is_head) &&
	    (is_head || stream_put(s, buf_slice(&body)));
	if (ok && !is_head)
		*n += body.n;
	buf_release(&body);
	return ok;
}
