/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/h1_head.h"
#include "base/ascii.h"
#include "base/limits.h"

const struct h1_limits h1_limits = {
	.head = LIMIT_HEAD_SIZE,
	.target = LIMIT_TARGET_SIZE,
	.fields = LIMIT_HEAD_FIELDS,
};

static enum parse
bad(struct parse_fail *fail, enum reason reason, const char *detail, size_t at)
{
	*fail = (struct parse_fail){ reason, detail, at };
	return PARSE_BAD;
}

static enum parse
malformed(struct parse_fail *fail, const char *detail, size_t at)
{
	return bad(fail, REASON_HTTP_MALFORMED, detail, at);
}

static enum parse
misframed(struct parse_fail *fail, const char *detail, size_t at)
{
	return bad(fail, REASON_HTTP_FRAMING, detail, at);
}

/* The offset of a slice that lies in `in`. */
static size_t
offset(struct slice in, struct slice part)
{
	return (size_t)(part.p - in.p);
}

/*
 * Is it worth reading `in` from its start?  It is when its end is there, or
 * something that ends it too early, or when it has doubled since it was last
 * read: so a fault shows soon and a peer that drips bytes costs linear time.
 */
static bool
is_worth_reading(struct slice in, struct http_scan *scan)
{
	bool ends = false;

	for (; scan->seen < in.n && !ends; scan->seen++) {
		size_t i = scan->seen;
		bool after_cr = i > 0 && in.p[i - 1] == '\r';
		bool is_lf = in.p[i] == '\n';
		/* A bare CR or LF is refused at once. */
		ends = after_cr != is_lf ||
		    (is_lf && i >= 3 && in.p[i - 2] == '\n');
	}
	if (!ends && in.n < scan->next)
		return false;
	scan->next = in.n * 2;
	return true;
}

/* A CRLF at `at`: PARSE_DONE; the beginning of one: PARSE_MORE. */
static enum parse
take_crlf(struct slice in, size_t at, struct parse_fail *fail)
{
	if (at == in.n)
		return PARSE_MORE;
	if (in.p[at] == '\n')
		return malformed(fail, "bare LF", at);
	if (at + 1 == in.n)
		return PARSE_MORE;
	if (in.p[at + 1] != '\n')
		return malformed(fail, "bare CR", at);
	return PARSE_DONE;
}

/* The fields up to and with the empty line; `at` is moved behind it. */
static enum parse
take_fields(struct slice in, size_t *at, size_t max, struct field_list *list,
    struct parse_fail *fail)
{
	list->n = 0;
	while (*at == in.n || in.p[*at] != '\r') {
		struct field f;
		size_t n;
		enum parse answer =
		    field_take(slice_from(in, *at), &f, &n, fail);
		if (answer == PARSE_BAD)
			fail->at += *at;
		if (answer != PARSE_DONE)
			return answer;
		if (list->n >= max || !field_add(list, f.name, f.value))
			return bad(fail, REASON_LIMIT_BYTES,
			    HTTP_TOO_MANY_FIELDS, *at);
		*at += n;
	}
	enum parse answer = take_crlf(in, *at, fail);
	if (answer == PARSE_DONE)
		*at += 2;
	return answer;
}

struct framing {
	bool chunked;
	bool has_length;
	uint64_t length;
};

/* What the fields say of the body; each kind stands once by now. */
static enum parse
read_framing(struct slice in, struct field_list *list, bool is_http10,
    struct framing *framing, struct parse_fail *fail)
{
	struct field *te = field_find(list, SLICE("transfer-encoding"));
	struct field *cl = field_find(list, SLICE("content-length"));

	*framing = (struct framing){ 0 };
	if (te != NULL) {
		size_t at = offset(in, te->name);
		if (cl != NULL)
			return misframed(fail, "length and transfer coding",
			    at);
		if (is_http10)
			return misframed(fail, "transfer coding in HTTP/1.0",
			    at);
		if (!ascii_eq_fold(te->value, SLICE("chunked")))
			return misframed(fail, "transfer coding not chunked",
			    at);
		framing->chunked = true;
	}
	if (cl == NULL)
		return PARSE_DONE;
	framing->has_length = true;
	return field_length(in, cl->value, &framing->length, fail);
}

/* Every element of every Connection field is a token. */
static enum parse
check_connection(struct slice in, const struct field_list *list,
    struct parse_fail *fail)
{
	for (size_t i = 0; i < list->n; i++) {
		struct slice rest = list->at[i].value, element;
		if (!ascii_eq_fold(list->at[i].name, SLICE("connection")))
			continue;
		while (field_take_element(&rest, &element))
			if (!field_is_token(element))
				return malformed(fail,
				    "connection option is no token",
				    offset(in, element));
	}
	return PARSE_DONE;
}

/* HTTP/1.0 or HTTP/1.1, exactly. */
static bool
read_version(struct slice s, bool *is_http10)
{
	*is_http10 = slice_eq(s, SLICE("HTTP/1.0"));
	return *is_http10 || slice_eq(s, SLICE("HTTP/1.1"));
}

/* The parts of a request line, by its two spaces; targets are judged later. */
static enum parse
split_request_line(struct slice in, size_t *at, struct http_request *req,
    struct parse_fail *fail)
{
	size_t from = *at, i = from, space[2], spaces = 0;

	for (; i < in.n && in.p[i] != '\r' && in.p[i] != '\n'; i++) {
		uint8_t c = in.p[i];
		if (c == ' ' && spaces == 2)
			return malformed(fail, "third space in a request line",
			    i);
		if (c == ' ')
			space[spaces++] = i;
		else if (spaces == 0 && (c < ' ' || c >= 0x7f))
			return malformed(fail, "byte that no method has", i);
		if (c == ' ' && (i == from || in.p[i - 1] == ' '))
			return malformed(fail, "empty part of a request line",
			    i);
	}
	enum parse end = take_crlf(in, i, fail);
	if (end != PARSE_DONE)
		return end;
	if (spaces != 2)
		return malformed(fail, "request line without three parts",
		    from);
	req->method = slice_of(in.p + from, space[0] - from);
	req->raw_target =
	    slice_of(in.p + space[0] + 1, space[1] - space[0] - 1);
	struct slice version = slice_of(in.p + space[1] + 1, i - space[1] - 1);
	if (slice_eq(version, SLICE("HTTP/2.0")))
		return malformed(fail, "HTTP/2 that no ALPN agreed on",
		    space[1] + 1);
	if (!read_version(version, &req->is_http10))
		return malformed(fail, "version not HTTP/1.1 or 1.0",
		    space[1] + 1);
	*at = i + 2;
	return PARSE_DONE;
}

static enum parse
take_request_line(struct slice in, const struct h1_limits *limits, size_t *at,
    struct http_request *req, struct parse_fail *fail)
{
	/* One empty line before it is tolerated (RFC 9112 2.2). */
	if (in.n != 0 && in.p[0] == '\r') {
		enum parse answer = take_crlf(in, 0, fail);
		if (answer != PARSE_DONE)
			return answer;
		*at = 2;
	}
	enum parse answer = split_request_line(in, at, req, fail);
	if (answer != PARSE_DONE)
		return answer;
	size_t target = offset(in, req->raw_target);
	if (req->raw_target.n > limits->target)
		return bad(fail, REASON_LIMIT_BYTES, HTTP_TARGET_TOO_LONG,
		    target);
	answer = target_parse(req->raw_target, &req->target, fail);
	if (answer == PARSE_BAD)
		fail->at += target;
	return answer;
}

static enum parse
read_host(struct slice in, bool any, struct http_request *req,
    struct parse_fail *fail)
{
	struct field *host = field_find(&req->fields, SLICE("host"));

	/* Clients of HTTP/1.0 ask a proxy by the request line alone. */
	if (host == NULL && req->is_http10 &&
	    req->target.form == TARGET_AUTHORITY &&
	    slice_eq(req->method, SLICE("CONNECT"))) {
		req->host = req->target.authority;
		return PARSE_DONE;
	}
	if (host == NULL)
		return malformed(fail, "no Host", 0);
	if (any) {
		req->host = (struct target_authority){ 0 };
		return PARSE_DONE;
	}
	enum parse answer = target_authority(host->value, &req->host, fail);
	if (answer == PARSE_BAD)
		fail->at += offset(in, host->value);
	return answer;
}

/* What the fields of a whole head mean. */
static enum parse
read_request(struct slice in, const struct h1_limits *limits,
    struct http_request *req, struct parse_fail *fail)
{
	struct framing framing;

	if (field_check(in, &req->fields, FIELD_IS_SINGLE, fail) !=
		PARSE_DONE ||
	    read_framing(in, &req->fields, req->is_http10, &framing, fail) !=
		PARSE_DONE ||
	    check_connection(in, &req->fields, fail) != PARSE_DONE ||
	    read_host(in, limits->any_host, req, fail) != PARSE_DONE)
		return PARSE_BAD;
	/* No client sends one, and some origins do not look for it: it would
	 * be another request to them (RFC 9110 9.3.2). */
	if (slice_eq(req->method, SLICE("HEAD")) &&
	    (framing.chunked || framing.length != 0))
		return misframed(fail, "a body of HEAD", 0);
	/* It would make others wait for more behind an answer of no length. */
	if (req->is_http10 && field_is_named(&req->fields, SLICE("keep-alive")))
		return malformed(fail, "keep-alive in HTTP/1.0", 0);

	req->body = framing.chunked ? HTTP_BODY_OPEN :
	    framing.has_length	    ? HTTP_BODY_LENGTH :
				      HTTP_BODY_NONE;
	req->length = framing.length;
	req->keep_alive =
	    !req->is_http10 && !field_is_named(&req->fields, SLICE("close"));
	req->has_upgrade = field_find(&req->fields, SLICE("upgrade")) != NULL;
	/* A client of HTTP/1.0 cannot mean it (RFC 9110 10.1.1). */
	req->expect =
	    req->is_http10 ? HTTP_EXPECT_NONE : http_expect_of(&req->fields);
	return PARSE_DONE;
}

/* A head that is not whole: wait, unless it is too long already. */
static enum parse
more(struct slice in, size_t max, struct parse_fail *fail)
{
	if (in.n < max)
		return PARSE_MORE;
	return bad(fail, REASON_LIMIT_BYTES, HTTP_HEAD_TOO_LONG, max);
}

enum parse
h1_request_take(struct slice in, const struct h1_limits *limits,
    struct http_request *req, size_t *used, struct parse_fail *fail)
{
	size_t at = 0;

	if (!is_worth_reading(in, &req->scan))
		return more(in, limits->head, fail);
	enum parse answer = take_request_line(in, limits, &at, req, fail);
	if (answer == PARSE_DONE)
		answer =
		    take_fields(in, &at, limits->fields, &req->fields, fail);
	if (answer == PARSE_MORE)
		return more(in, limits->head, fail);
	if (answer == PARSE_DONE && at > limits->head)
		return bad(fail, REASON_LIMIT_BYTES, HTTP_HEAD_TOO_LONG,
		    limits->head);
	if (answer == PARSE_DONE)
		answer = read_request(in, limits, req, fail);
	if (answer == PARSE_DONE)
		*used = at;
	return answer;
}

/* HTTP/1.x SP 3DIGIT, then an end, or a space and a phrase. */
static enum parse
take_status_line(struct slice in, size_t *at, struct http_response *res,
    struct parse_fail *fail)
{
	size_t end = 0;

	while (end < in.n && field_is_value_char(in.p[end]))
		end++;
	if (end < in.n && in.p[end] != '\r' && in.p[end] != '\n')
		return malformed(fail, "control in a status line", end);
	enum parse answer = take_crlf(in, end, fail);
	if (answer != PARSE_DONE)
		return answer;
	struct slice line = slice_first(in, end);
	if (!read_version(slice_first(line, 8), &res->is_http10))
		return malformed(fail, "version not HTTP/1.1 or 1.0", 0);
	/* Some origins leave out the space before an empty phrase. */
	if (line.n < 12 || line.p[8] != ' ' ||
	    (line.n > 12 && line.p[12] != ' '))
		return malformed(fail, "status line without three parts", 0);
	res->status = 0;
	for (size_t i = 9; i < 12; i++) {
		if (!ascii_is_digit(line.p[i]))
			return malformed(fail, "status is not a number", i);
		res->status = res->status * 10 + line.p[i] - '0';
	}
	if (res->status < 100)
		return malformed(fail, "status below 100", 9);
	res->phrase = slice_from(line, 13);
	*at = end + 2;
	return PARSE_DONE;
}

/* RFC 9112 6.3, without its tolerance. */
static enum parse
read_response(struct slice in, struct slice method, struct http_response *res,
    struct parse_fail *fail)
{
	struct framing framing;
	bool head = slice_eq(method, SLICE("HEAD"));
	bool empty = res->status < 200 || res->status == 204;

	if (field_check(in, &res->fields, FIELD_IS_SINGLE_ANSWER, fail) !=
		PARSE_DONE ||
	    read_framing(in, &res->fields, res->is_http10, &framing, fail) !=
		PARSE_DONE ||
	    check_connection(in, &res->fields, fail) != PARSE_DONE)
		return PARSE_BAD;
	if (empty && (framing.chunked || framing.length != 0))
		return misframed(fail, "body where none can be", 0);

	res->has_length = framing.has_length;
	res->length = framing.length;
	if (head || empty || res->status == 304)
		res->body = HTTP_BODY_NONE;
	else if (framing.chunked)
		res->body = HTTP_BODY_OPEN;
	else if (framing.has_length)
		res->body = HTTP_BODY_LENGTH;
	else
		res->body = HTTP_BODY_UNTIL_CLOSE;
	res->keep_alive = !res->is_http10 &&
	    res->body != HTTP_BODY_UNTIL_CLOSE &&
	    !field_is_named(&res->fields, SLICE("close"));
	return PARSE_DONE;
}

enum parse
h1_response_take(struct slice in, const struct h1_limits *limits,
    struct slice method, struct http_response *res, size_t *used,
    struct parse_fail *fail)
{
	size_t at = 0;
	enum parse answer = PARSE_MORE;

	if (is_worth_reading(in, &res->scan))
		answer = take_status_line(in, &at, res, fail);
	if (answer == PARSE_DONE)
		answer =
		    take_fields(in, &at, limits->fields, &res->fields, fail);
	if (answer == PARSE_MORE)
		answer = more(in, limits->head, fail);
	else if (answer == PARSE_DONE && at > limits->head)
		answer = bad(fail, REASON_LIMIT_BYTES, HTTP_HEAD_TOO_LONG,
		    limits->head);
	else if (answer == PARSE_DONE)
		answer = read_response(in, method, res, fail);
	if (answer == PARSE_DONE)
		*used = at;
	if (answer == PARSE_BAD)
		fail->reason = REASON_UP_RESPONSE;
	return answer;
}
