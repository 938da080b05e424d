/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/h2_head.h"
#include "base/ascii.h"
#include "base/rd.h"

#define LENGTH_MASK 0x7fffffffU
#define NEVER_INDEXED 0x80000000U /* in the length of the name */

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

/* The offset of a slice that lies in `in`. */
static size_t
offset(struct slice in, struct slice part)
{
	return (size_t)(part.p - in.p);
}

/* --- lists --------------------------------------------------------------- */

void
h2_fields_put(struct wr *w, const struct field *f)
{
	if (f->name.n > LENGTH_MASK || f->value.n > UINT32_MAX)
		w->bad = true;
	wr_u32(w, (uint32_t)f->name.n | (f->never_indexed ? NEVER_INDEXED : 0));
	wr_u32(w, (uint32_t)f->value.n);
	wr_bytes(w, f->name);
	wr_bytes(w, f->value);
}

bool
h2_fields_take(struct slice *list, struct field *f)
{
	struct rd r = rd_of(*list);
	uint32_t name = rd_u32(&r);
	uint32_t value = rd_u32(&r);

	f->never_indexed = (name & NEVER_INDEXED) != 0;
	f->name = rd_bytes(&r, name & LENGTH_MASK);
	f->value = rd_bytes(&r, value);
	if (r.bad)
		return false;
	*list = r.in;
	return true;
}

/* --- one field ----------------------------------------------------------- */

/* RFC 9113 8.2.1; why it is none, or NULL. */
static const char *
wrong_name(struct slice name)
{
	if (name.n == 0)
		return "empty field name";
	for (size_t i = 0; i < name.n; i++) {
		if (ascii_is_upper(name.p[i]))
			return "upper case in a field name";
		if (!field_is_token_char(name.p[i]))
			return "byte that no field name has";
	}
	return NULL;
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

static const char *
wrong_value(struct slice value)
{
	for (size_t i = 0; i < value.n; i++)
		if (!field_is_value_char(value.p[i]))
			return "control in a field value";
	if (value.n != 0 &&
	    (is_blank(value.p[0]) || is_blank(value.p[value.n - 1])))
		return "blank at an end of a field value";
	return NULL;
}

/* RFC 9113 8.2.2: what belongs to a connection does not exist here. */
static const char *
wrong_field(const struct field *f)
{
	static const char *const hop[] = { "connection", "keep-alive",
		"proxy-connection", "transfer-encoding", "upgrade" };
	const char *why = wrong_name(f->name);

	if (why == NULL)
		why = wrong_value(f->value);
	if (why != NULL)
		return why;
	for (size_t i = 0; i < COUNT_OF(hop); i++)
		if (slice_eq_str(f->name, hop[i]))
			return "field of a connection";
	if (slice_eq(f->name, SLICE("te")) &&
	    !ascii_eq_fold(f->value, SLICE("trailers")))
		return "te other than trailers";
	return NULL;
}

/* --- whole lists --------------------------------------------------------- */

enum pseudo {
	METHOD,
	SCHEME,
	AUTHORITY,
	PATH,
	PROTOCOL,
	STATUS,
	PSEUDO_COUNT
};

#define BIT(pseudo) (1U << (pseudo))
#define OF_REQUEST (BIT(STATUS) - 1)
#define OF_RESPONSE BIT(STATUS)

struct head {
	struct slice list;		   /* the whole */
	struct slice pseudo[PSEUDO_COUNT]; /* of those that are there */
	unsigned has;			   /* which are */
	struct field_list *fields;	   /* the others */
};

static const char *
take_pseudo(struct head *h, const struct field *f, unsigned may)
{
	static const char *const names[PSEUDO_COUNT] = { ":method", ":scheme",
		":authority", ":path", ":protocol", ":status" };
	enum pseudo p = METHOD;

	while (p < PSEUDO_COUNT && !slice_eq_str(f->name, names[p]))
		p++;
	if (p == PSEUDO_COUNT || !(may & BIT(p)))
		return "unknown pseudo field";
	if (h->fields->n != 0)
		return "pseudo field behind others";
	if (h->has & BIT(p))
		return "pseudo field that stands twice";
	if (f->value.n == 0)
		return "empty pseudo field";
	h->has |= BIT(p);
	h->pseudo[p] = f->value;
	return wrong_value(f->value);
}

/* Take the list apart; `may`: pseudo fields that it may have. */
static enum parse
take_fields(struct head *h, unsigned may, struct parse_fail *fail)
{
	struct slice rest = h->list;
	struct field f;

	h->fields->n = 0;
	while (h2_fields_take(&rest, &f)) {
		size_t at = offset(h->list, f.name);
		bool is_pseudo = f.name.n != 0 && f.name.p[0] == ':';
		const char *why =
		    is_pseudo ? take_pseudo(h, &f, may) : wrong_field(&f);
		if (why != NULL)
			return malformed(fail, why, at);
		if (is_pseudo)
			continue;
		if (!field_add(h->fields, f.name, f.value))
			return bad(fail, REASON_LIMIT_BYTES,
			    HTTP_TOO_MANY_FIELDS, at);
		h->fields->at[h->fields->n - 1].never_indexed = f.never_indexed;
	}
	return rest.n == 0 ?
	    PARSE_DONE :
	    malformed(fail, "list that is cut", offset(h->list, rest));
}

/* The length that the fields say, if they do. */
static enum parse
take_length(struct head *h, bool *has_length, uint64_t *length,
    struct parse_fail *fail)
{
	struct field *f = field_find(h->fields, SLICE("content-length"));

	*length = 0;
	*has_length = f != NULL;
	return f == NULL ? PARSE_DONE :
			   field_length(h->list, f->value, length, fail);
}

/* --- requests ------------------------------------------------------------ */

/* Which of them there must be (RFC 9113 8.3.1, 8.5; RFC 8441 4). */
static enum parse
check_pseudo(const struct head *h, struct parse_fail *fail)
{
	bool is_connect = slice_eq(h->pseudo[METHOD], SLICE("CONNECT"));
	bool is_extended = (h->has & BIT(PROTOCOL)) != 0;

	if (!(h->has & BIT(METHOD)))
		return malformed(fail, "no :method", 0);
	if (!field_is_token(h->pseudo[METHOD]))
		return malformed(fail, "byte that no method has",
		    offset(h->list, h->pseudo[METHOD]));
	if (!(h->has & BIT(AUTHORITY)))
		return malformed(fail, "no :authority", 0);
	if (is_extended && !is_connect)
		return malformed(fail, ":protocol without CONNECT", 0);
	if (is_connect && !is_extended)
		return h->has & (BIT(SCHEME) | BIT(PATH)) ?
		    malformed(fail, "CONNECT with a scheme or path", 0) :
		    PARSE_DONE;
	if (!(h->has & BIT(SCHEME)))
		return malformed(fail, "no :scheme", 0);
	if (!(h->has & BIT(PATH)))
		return malformed(fail, "no :path", 0);
	/* Else it is for somebody who serves both on one connection. */
	if (!slice_eq(h->pseudo[SCHEME], SLICE("https")))
		return malformed(fail, ":scheme not https",
		    offset(h->list, h->pseudo[SCHEME]));
	return PARSE_DONE;
}

/* A byte that would end the target for another parser. */
static bool
has_blank(struct slice s)
{
	return memchr(s.p, ' ', s.n) != NULL || memchr(s.p, '\t', s.n) != NULL;
}

static enum parse
read_target(const struct head *h, struct http_request *req,
    struct parse_fail *fail)
{
	bool has_path = (h->has & BIT(PATH)) != 0;
	struct slice raw = h->pseudo[has_path ? PATH : AUTHORITY];
	size_t at = offset(h->list, raw);

	req->raw_target = raw;
	if (raw.n > LIMIT_TARGET_SIZE)
		return bad(fail, REASON_LIMIT_BYTES, HTTP_TARGET_TOO_LONG, at);
	if (has_blank(raw))
		return malformed(fail, "blank in a target", at);
	if (has_path && raw.p[0] != '/' && !slice_eq(raw, SLICE("*")))
		return malformed(fail, ":path that is no path", at);
	enum parse answer = target_parse(raw, &req->target, fail);
	if (answer == PARSE_BAD)
		fail->at += at;
	return answer;
}

static uint16_t
port_of(const struct target_authority *a)
{
	return a->has_port ? a->port : 443;
}

/* One name: `:authority`; a field of HTTP/1 may only repeat it. */
static enum parse
read_host(const struct head *h, struct http_request *req,
    struct parse_fail *fail)
{
	struct slice authority = h->pseudo[AUTHORITY];
	struct field *f = field_find(h->fields, SLICE("host"));
	struct target_authority host;

	if (target_authority(authority, &req->host, fail) != PARSE_DONE) {
		fail->at += offset(h->list, authority);
		return PARSE_BAD;
	}
	if (f == NULL)
		return PARSE_DONE;
	size_t at = offset(h->list, f->value);
	if (target_authority(f->value, &host, fail) != PARSE_DONE) {
		fail->at += at;
		return PARSE_BAD;
	}
	if (!host_eq(&host.host, &req->host.host) ||
	    port_of(&host) != port_of(&req->host))
		return malformed(fail, "host differs from :authority", at);
	(void)field_remove(h->fields, SLICE("host"));
	return PARSE_DONE;
}

enum parse
h2_request_take(struct slice list, bool ends, struct http_request *req,
    struct parse_fail *fail)
{
	struct head h = { .list = list, .fields = &req->fields };
	bool has_length;

	if (take_fields(&h, OF_REQUEST, fail) != PARSE_DONE ||
	    check_pseudo(&h, fail) != PARSE_DONE ||
	    field_check(list, h.fields, FIELD_IS_SINGLE, fail) != PARSE_DONE ||
	    take_length(&h, &has_length, &req->length, fail) != PARSE_DONE ||
	    read_target(&h, req, fail) != PARSE_DONE ||
	    read_host(&h, req, fail) != PARSE_DONE)
		return PARSE_BAD;
	if (ends && req->length != 0)
		return bad(fail, REASON_HTTP_FRAMING, "length without a body",
		    0);
	req->method = h.pseudo[METHOD];
	req->protocol = h.pseudo[PROTOCOL];
	req->body = has_length ? HTTP_BODY_LENGTH :
	    ends	       ? HTTP_BODY_NONE :
				 HTTP_BODY_OPEN;
	req->expect = http_expect_of(&req->fields);
	req->is_http10 = false;
	req->keep_alive = true;
	req->has_upgrade = req->protocol.n != 0;
	return PARSE_DONE;
}

/* --- responses ----------------------------------------------------------- */

static enum parse
read_status(const struct head *h, unsigned *status, struct parse_fail *fail)
{
	struct slice s = h->pseudo[STATUS];

	if (s.n != 3)
		return malformed(fail, "no :status of three digits", 0);
	*status = 0;
	for (size_t i = 0; i < 3; i++) {
		if (!ascii_is_digit(s.p[i]))
			return malformed(fail, "status is not a number",
			    offset(h->list, s) + i);
		*status = *status * 10 + s.p[i] - '0';
	}
	if (*status < 100)
		return malformed(fail, "status below 100", offset(h->list, s));
	if (*status == 101)
		return malformed(fail, "101 in HTTP/2", offset(h->list, s));
	return PARSE_DONE;
}

/* Where the body ends: RFC 9110 6.4.1, RFC 9113 8.1.1. */
static enum parse
read_body(struct http_response *res, bool ends, struct slice method,
    struct parse_fail *fail)
{
	bool empty = res->status < 200 || res->status == 204;
	bool none =
	    empty || res->status == 304 || slice_eq(method, SLICE("HEAD"));

	if (res->status < 200 && ends)
		return malformed(fail, "1xx that ends the stream", 0);
	if (empty && res->length != 0)
		return malformed(fail, "body where none can be", 0);
	if (ends && !none && res->length != 0)
		return malformed(fail, "length without a body", 0);
	if (none)
		res->body = HTTP_BODY_NONE;
	else if (res->has_length)
		res->body = HTTP_BODY_LENGTH;
	else
		res->body = ends ? HTTP_BODY_NONE : HTTP_BODY_OPEN;
	return PARSE_DONE;
}

enum parse
h2_response_take(struct slice list, bool ends, struct slice method,
    struct http_response *res, struct parse_fail *fail)
{
	struct head h = { .list = list, .fields = &res->fields };

	if (take_fields(&h, OF_RESPONSE, fail) != PARSE_DONE ||
	    read_status(&h, &res->status, fail) != PARSE_DONE ||
	    field_check(list, h.fields, FIELD_IS_SINGLE_ANSWER, fail) !=
		PARSE_DONE ||
	    take_length(&h, &res->has_length, &res->length, fail) !=
		PARSE_DONE ||
	    read_body(res, ends, method, fail) != PARSE_DONE) {
		fail->reason = REASON_UP_RESPONSE;
		return PARSE_BAD;
	}
	res->phrase = (struct slice){ 0 };
	res->is_http10 = false;
	res->keep_alive = true;
	return PARSE_DONE;
}

bool
h2_is_informational(struct slice list)
{
	struct field f;

	return h2_fields_take(&list, &f) &&
	    slice_eq(f.name, SLICE(":status")) && f.value.n == 3 &&
	    f.value.p[0] == '1';
}

/* --- trailers ------------------------------------------------------------ */

enum parse
h2_trailers_take(struct slice list, enum reason reason,
    struct field_list *fields, struct parse_fail *fail)
{
	struct head h = { .list = list, .fields = fields };

	if (list.n > LIMIT_TRAILER_SIZE)
		return bad(fail, reason, HTTP_TRAILERS_TOO_LONG,
		    LIMIT_TRAILER_SIZE);
	if (take_fields(&h, 0, fail) != PARSE_DONE) {
		fail->reason = reason;
		return PARSE_BAD;
	}
	for (size_t i = 0; i < fields->n; i++)
		if (!field_may_trail(fields->at[i].name,
			reason == REASON_UP_RESPONSE))
			return bad(fail, reason, HTTP_NO_TRAILER,
			    offset(list, fields->at[i].name));
	return PARSE_DONE;
}
