/* SPDX-License-Identifier: Apache-2.0 */
#include "http/refuse.h"
#include "base/ascii.h"
#include "base/json.h"
#include "wire/accept.h"

#define WHY_MAX ((size_t)REFUSAL_LINE_MAX)
#define ANSWER_MAX (REFUSAL_BODY_MAX + 2048)

void
refusal_init(struct refusal *r)
{
	*r = (struct refusal){ .reason = REASON_INTERNAL };
	buf_init(&r->what, REFUSAL_TEXT_MAX);
	buf_init(&r->policy, REFUSAL_TEXT_MAX);
	buf_init(&r->first, REFUSAL_FIRST_MAX);
	buf_init(&r->last, REFUSAL_LAST_MAX);
}

void
refusal_release(struct refusal *r)
{
	buf_release(&r->what);
	buf_release(&r->policy);
	buf_release(&r->first);
	buf_release(&r->last);
}

void
refusal_put_escaped(struct buf *out, struct slice text, size_t max)
{
	size_t end = out->n + max;

	while (text.n != 0) {
		/* Room for one that is escaped, or for the dots. */
		size_t room = out->n + 3 < end ? end - out->n - 3 : 0;
		size_t n = ascii_plain(slice_first(text, room));
		if (room == 0) {
			buf_put_str(out, "...");
			return;
		}
		buf_put(out, slice_first(text, n));
		if (n == 0) {
			buf_putf(out, "\\x%02x", text.p[0]);
			n = 1;
		}
		text = slice_from(text, n);
	}
}

/* RFC 9110 15; only those that answers of ours have. */
static const char *
phrase(unsigned status)
{
	static const struct {
		unsigned status;
		const char *phrase;
	} rows[] = {
		{ 400, "Bad Request" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 407, "Proxy Authentication Required" },
		{ 408, "Request Timeout" },
		{ 413, "Content Too Large" },
		{ 414, "URI Too Long" },
		{ 417, "Expectation Failed" },
		{ 421, "Misdirected Request" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].status == status)
			return rows[i].phrase;
	return "Refused";
}

/* What has to do with the moment, not with what was asked for. */
static bool
may_pass(enum reason reason)
{
	static const enum reason list[] = { REASON_CRED_UNAVAILABLE,
		REASON_UP_RESOLVE, REASON_UP_CONNECT, REASON_UP_RESPONSE,
		REASON_LIMIT_CONNS, REASON_LIMIT_RATE, REASON_LIMIT_TIME,
		REASON_POLICY_NONE, REASON_AUDIT_FULL, REASON_SHUTDOWN,
		REASON_INTERNAL };

	for (size_t i = 0; i < COUNT_OF(list); i++)
		if (list[i] == reason)
			return true;
	return false;
}

/* What policy says of it, without the reason's meaning, said before it. */
static struct slice
new_words(const struct refusal *r)
{
	struct slice said = slice_of_str(reason_meaning(r->reason));
	struct slice all = buf_slice(&r->policy);

	if (!slice_has_prefix(all, said))
		return all;
	all = slice_from(all, said.n);
	return slice_has_prefix(all, SLICE("; ")) ? slice_from(all, 2) : all;
}

/* What was refused and why, and behind `between` what policy says of it. */
static void
put_why(const struct refusal *r, const char *between, struct buf *out)
{
	struct slice policy = new_words(r);

	buf_put_str(out, "duenna refused ");
	buf_put(out,
	    r->what.n == 0 ? SLICE("this connection") : buf_slice(&r->what));
	buf_putf(out, ": %s: %s", reason_name(r->reason),
	    reason_meaning(r->reason));
	if (policy.n != 0) {
		buf_put_str(out, between);
		buf_put(out, policy);
	}
}

static void
put_text(const struct refusal *r, const char *flow, struct buf *out)
{
	if (r->code_only) {
		buf_putf(out, "duenna: %s; flow %s\n", reason_name(r->reason),
		    flow);
		return;
	}
	put_why(r, "\n", out);
	if (r->reason == REASON_UP_RESOLVE)
		buf_put_str(out,
		    "\nresolvers of its own for such a name, or a proxy: "
		    "`upstream:` of the owner's configuration");
	buf_putf(out, "\n%s this by `duenna audit show --flow %s`\n",
	    may_pass(r->reason) || r->retry_after_s != 0 ?
		"trying again later may help; the sandbox's owner finds" :
		"trying again will not help; the sandbox's owner may change "
		"the policy and finds",
	    flow);
}

void
refusal_put_line(const struct refusal *r, const char *flow, struct buf *out)
{
	if (r->code_only)
		buf_putf(out, "duenna: %s", reason_name(r->reason));
	else
		put_why(r, "; ", out);
	buf_putf(out, "; flow %s", flow);
}

/* The rule that decided, and what the nearest would allow. */
static void
put_rules(const struct refusal *r, struct json *j)
{
	json_key_text(j, "rule", r->rule);
	json_key(j, "allowed");
	json_array_begin(j);
	if (r->allowed.n != 0)
		json_text(j, r->allowed);
	json_array_end(j);
}

static void
put_json(const struct refusal *r, unsigned status, const char *flow,
    struct buf *out)
{
	struct buf why;
	struct json j;

	buf_init(&why, WHY_MAX);
	if (r->code_only)
		buf_put_str(&why, reason_name(r->reason));
	else
		put_why(r, "; ", &why);
	json_init(&j, out);
	json_object_begin(&j);
	json_key_str(&j, "type", "about:blank");
	json_key_str(&j, "title", phrase(status));
	json_key_number(&j, "status", status);
	json_key_text(&j, "detail", buf_slice(&why));
	json_key_text(&j, "message", buf_slice(&why));
	json_key_str(&j, "reason", reason_name(r->reason));
	json_key_str(&j, "flow", flow);
	if (!r->code_only)
		put_rules(r, &j);
	json_object_end(&j);
	buf_put_byte(out, '\n');
	buf_release(&why);
}

unsigned
refusal_http_status(const struct refusal *r)
{
	if (r->status != 0)
		return r->status;
	if (reason_status(r->reason) != 0)
		return reason_status(r->reason);
	return 403;
}

unsigned
refusal_status(const struct refusal *r)
{
	return r->grpc ? 200 : refusal_http_status(r);
}

const char *
refusal_type(const struct refusal *r, const struct http_request *req)
{
	if (r->type != NULL)
		return r->type;
	return refusal_is_json(req) ? REFUSAL_JSON : REFUSAL_TEXT;
}

void
refusal_add(struct field_list *fields, const char *name, const char *value)
{
	if (!field_add(fields, slice_of_str(name), slice_of_str(value)))
		fields->n = 0;
}

bool
refusal_is_json(const struct http_request *req)
{
	return req != NULL && accept_prefers_json(&req->fields);
}

void
refusal_put_body(const struct refusal *r, const char *flow,
    const struct http_request *req, struct buf *body)
{
	if (r->type != NULL)
		buf_put(body, buf_slice(&r->first));
	else if (refusal_is_json(req))
		put_json(r, refusal_status(r), flow, body);
	else
		put_text(r, flow, body);
}

bool
refusal_put(const struct refusal *r, struct stream *s, const char *flow,
    const struct http_request *req)
{
	unsigned status = refusal_status(r);
	bool is_head = req != NULL && slice_eq(req->method, SLICE("HEAD"));
	struct buf body, answer;

	buf_init(&body, REFUSAL_BODY_MAX);
	buf_init(&answer, ANSWER_MAX);
	refusal_put_body(r, flow, req, &body);
	buf_putf(&answer,
	    "HTTP/1.1 %u %s\r\n"
	    "Content-Type: %s\r\n"
	    "Content-Length: %zu\r\n"
	    "Cache-Control: no-store\r\n"
	    "X-Content-Type-Options: nosniff\r\n"
	    "Duenna-Reason: %s\r\n"
	    "Duenna-Flow: %s\r\n",
	    status, phrase(status), refusal_type(r, req), body.n,
	    reason_name(r->reason), flow);
	if (status == 407) /* RFC 9110 11.7.1 */
		buf_put_str(&answer,
		    "Proxy-Authenticate: Basic realm=\"duenna\"\r\n");
	if (r->retry_after_s != 0) /* RFC 9110 10.2.3 */
		buf_putf(&answer, "Retry-After: %u\r\n", r->retry_after_s);
	buf_put_str(&answer, "Connection: close\r\n\r\n");
	if (!is_head)
		buf_put(&answer, buf_slice(&body));
	bool ok =
	    !body.failed && !answer.failed && stream_put(s, buf_slice(&answer));
	buf_release(&body);
	buf_release(&answer);
	return ok;
}
