/* SPDX-License-Identifier: Apache-2.0 */
#include "http/refuse_grpc.h"
#include "base/ascii.h"

/* gRPC's own numbers. */
enum grpc_status {
	GRPC_UNKNOWN = 2,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
};

bool
refusal_is_grpc(const struct http_request *req)
{
	const struct slice type = SLICE(REFUSAL_GRPC);
	struct slice is = { 0 };

	for (size_t i = 0; i < req->fields.n; i++)
		if (ascii_eq_fold(req->fields.at[i].name,
			SLICE("content-type")))
			is = req->fields.at[i].value;
	if (is.n < type.n || !ascii_eq_fold(slice_first(is, type.n), type))
		return false;
	/* gRPC-Web has answers of its own: `application/grpc-web`. */
	return is.n == type.n || is.p[type.n] == '+' || is.p[type.n] == ';';
}

unsigned
refusal_grpc_status(unsigned http_status)
{
	switch (http_status) {
	case 400:
		return GRPC_INTERNAL;
	case 403:
		return GRPC_PERMISSION_DENIED;
	case 429:
	case 502:
	case 503:
	case 504:
		return GRPC_UNAVAILABLE;
	default:
		return GRPC_UNKNOWN;
	}
}

unsigned
refusal_grpc_answer(const struct refusal *r)
{
	return r->grpc ? refusal_grpc_status(refusal_http_status(r)) : 0;
}

void
refusal_put_grpc_message(const struct refusal *r, const char *flow,
    struct buf *out)
{
	struct buf line;

	buf_init(&line, REFUSAL_LINE_MAX);
	refusal_put_line(r, flow, &line);
	for (size_t i = 0; i < line.n && out->n + 3 <= REFUSAL_GRPC_MESSAGE_MAX;
	     i++) {
		uint8_t c = line.p[i];
		if (c < 0x20 || c > 0x7e || c == '%')
			buf_putf(out, "%%%02X", c);
		else
			buf_put_byte(out, c);
	}
	buf_release(&line);
}
