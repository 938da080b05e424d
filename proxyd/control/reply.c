/* SPDX-License-Identifier: Apache-2.0 */
#include "control/reply.h"
#include "base/json.h"

/* RFC 9110 15: those of the closed list of codes. */
static const char *
phrase(unsigned status)
{
	static const struct {
		unsigned status;
		const char *phrase;
	} rows[] = {
		{ 200, "OK" },
		{ 201, "Created" },
		{ 400, "Bad Request" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 409, "Conflict" },
		{ 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 422, "Unprocessable Content" },
		{ 500, "Internal Server Error" },
		{ 503, "Service Unavailable" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].status == status)
			return rows[i].phrase;
	return "Unknown";
}

static void
put_head(struct buf *out, unsigned status, const char *type, size_t length)
{
	buf_putf(out,
	    "HTTP/1.1 %u %s\r\n"
	    "Content-Type: %s\r\n"
	    "Content-Length: %zu\r\n"
	    "Cache-Control: no-store\r\n"
	    "X-Content-Type-Options: nosniff\r\n",
	    status, phrase(status), type, length);
}

static void
end_head(struct buf *out, bool close)
{
	buf_put_str(out, close ? "Connection: close\r\n\r\n" : "\r\n");
}

void
reply_put_head(struct buf *out, const struct route *route,
    enum control_code code, size_t length, bool close)
{
	put_head(out, control_code_status(code), route->type, length);
	end_head(out, close);
}

static void
put_body(struct buf *body, const struct control_answer *a, const char *where)
{
	unsigned status = control_code_status(a->code);
	struct json j;

	json_init(&j, body);
	json_object_begin(&j);
	if (status >= 400) {
		json_key_str(&j, "type", "about:blank");
		json_key_str(&j, "title", phrase(status));
		json_key_number(&j, "status", status);
	}
	json_key_str(&j, "code", control_code_name(a->code));
	json_key(&j, "detail");
	if (a->detail.n != 0)
		json_text(&j, a->detail);
	else
		json_str(&j, control_code_what(a->code));
	if (where[0] != '\0')
		json_key_str(&j, "where", where);
	json_object_end(&j);
	buf_put_byte(body, '\n');
}

static void
put_whole(struct buf *out, const struct control_answer *a, const char *where,
    const char *allow, bool close)
{
	unsigned status = control_code_status(a->code);
	struct buf body;

	buf_init(&body, REPLY_MAX);
	put_body(&body, a, where);
	put_head(out, status,
	    status >= 400 ? "application/problem+json" : "application/json",
	    body.n);
	if (allow[0] != '\0')
		buf_putf(out, "Allow: %s\r\n", allow);
	if (status == 503)
		buf_put_str(out, "Retry-After: 1\r\n");
	end_head(out, close);
	buf_put(out, buf_slice(&body));
	if (body.failed)
		out->failed = true;
	buf_release(&body);
}

void
reply_put_done(struct buf *out, const struct control_answer *a, bool close)
{
	put_whole(out, a, "", "", close);
}

void
reply_put_problem(struct buf *out, const struct control_answer *a,
    const char *where, const char *allow, bool close)
{
	put_whole(out, a, where, allow, close);
}
