/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/dns_msg.h"
#include "base/rd.h"

#define LABEL_MAX 63 /* higher values are pointers, or of no meaning */
#define CLASS_IN 1
#define TYPE_SOA 6
#define TYPE_OPT 41
#define FLAG_RESPONSE 0x8000
#define FLAG_RECURSE 0x0100
#define FLAG_CAN_RECURSE 0x0080
#define POINTER_TO_QUESTION 0xc00c
#define UDP_SIZE 1232 /* what we would take: fits any path (dnsflagday.net) */

static enum parse
bad(struct parse_fail *fail, const char *detail, size_t at)
{
	*fail = (struct parse_fail){ REASON_DNS_MALFORMED, detail, at };
	return PARSE_BAD;
}

/* The labels of a name without pointers: a question has none to point to. */
static struct slice
take_name(struct rd *r)
{
	struct slice from = r->in;

	for (;;) {
		uint8_t n = rd_u8(r);
		if (n > LABEL_MAX)
			r->bad = true;
		if (r->bad)
			return (struct slice){ 0 };
		if (n == 0)
			break;
		rd_bytes(r, n);
	}
	size_t used = from.n - r->in.n;
	if (used > DNS_NAME_MAX)
		r->bad = true;
	return r->bad ? (struct slice){ 0 } : slice_first(from, used);
}

/* The one OPT record that a question may carry; `version` is set. */
static bool
take_opt(struct rd *r, uint8_t *version)
{
	uint8_t root = rd_u8(r);
	uint16_t type = rd_u16(r);

	rd_u16(r); /* what the asker can take: our answers fit always */
	rd_u8(r);  /* extended rcode */
	*version = rd_u8(r);
	rd_u16(r); /* flags */
	rd_slice16(r);
	return !r->bad && root == 0 && type == TYPE_OPT;
}

struct counts {
	uint16_t questions, answers, authority, additional;
};

static struct counts
take_counts(struct rd *r)
{
	struct counts c;

	c.questions = rd_u16(r);
	c.answers = rd_u16(r);
	c.authority = rd_u16(r);
	c.additional = rd_u16(r);
	return c;
}

/* What stands behind the header. */
static enum parse
read_sections(struct rd *r, const struct counts *c, struct dns_query *q,
    enum dns_rcode *rcode, struct parse_fail *fail)
{
	struct slice from = r->in;
	uint8_t version = 0;

	*rcode = DNS_FORMERR;
	if (c->questions != 1)
		return bad(fail, "not one question", 4);
	if (c->answers != 0 || c->authority != 0 || c->additional > 1)
		return bad(fail, "records in a question", 6);
	struct slice name = take_name(r);
	uint16_t type = rd_u16(r), class = rd_u16(r);
	if (r->bad)
		return bad(fail, "question malformed", 12);
	q->name = name;
	q->type = type;
	q->question = slice_first(from, from.n - r->in.n);
	if (c->additional == 1) {
		if (!take_opt(r, &version))
			return bad(fail, "additional record is no OPT",
			    12 + q->question.n);
		q->has_edns = true;
	}
	if (r->in.n != 0)
		return bad(fail, "bytes behind the message", 12);
	*rcode = DNS_BADVERS;
	if (version != 0)
		return bad(fail, "version of EDNS", 12 + q->question.n);
	*rcode = DNS_REFUSED;
	if (class != CLASS_IN)
		return bad(fail, "class not IN", 12);
	return PARSE_DONE;
}

enum parse
dns_query_parse(struct slice in, struct dns_query *q, enum dns_rcode *rcode,
    struct parse_fail *fail)
{
	struct rd r = rd_of(in);

	*q = (struct dns_query){ .id = rd_u16(&r) };
	uint16_t flags = rd_u16(&r);
	struct counts counts = take_counts(&r);
	if (r.bad || flags & FLAG_RESPONSE)
		return PARSE_MORE;
	q->recurse = flags & FLAG_RECURSE;
	q->opcode = flags >> 11 & 15;
	*rcode = DNS_NOTIMP;
	if (q->opcode != 0)
		return bad(fail, "opcode not QUERY", 2);
	return read_sections(&r, &counts, q, rcode, fail);
}

enum parse
dns_stream_take(struct slice in, struct slice *msg, size_t *used,
    struct parse_fail *fail)
{
	struct rd r = rd_of(in);
	uint16_t n = rd_u16(&r);

	if (r.bad)
		return PARSE_MORE;
	if (n == 0 || n > DNS_QUERY_MAX)
		return bad(fail, "length of a message", 0);
	*msg = rd_bytes(&r, n);
	if (r.bad)
		return PARSE_MORE;
	*used = 2 + (size_t)n;
	return PARSE_DONE;
}

static void
put_record(struct wr *w, uint16_t type, uint32_t ttl_s, struct slice data)
{
	wr_u16(w, POINTER_TO_QUESTION);
	wr_u16(w, type);
	wr_u16(w, CLASS_IN);
	wr_u32(w, ttl_s);
	wr_slice16(w, data);
}

/* Says how long there is nothing; its names are the root's (RFC 2308 5). */
static void
put_soa(struct wr *w, uint32_t ttl_s)
{
	uint8_t text[22];
	struct wr data = wr_of(text, sizeof(text));

	wr_u8(&data, 0);
	wr_u8(&data, 0);
	wr_u32(&data, 1);	       /* serial */
	for (size_t i = 0; i < 4; i++) /* refresh, retry, expire, minimum */
		wr_u32(&data, ttl_s);
	put_record(w, TYPE_SOA, ttl_s, wr_slice(&data));
}

static void
put_opt(struct wr *w, enum dns_rcode rcode)
{
	wr_u8(w, 0);
	wr_u16(w, TYPE_OPT);
	wr_u16(w, UDP_SIZE);
	wr_u8(w, (uint8_t)(rcode >> 4));
	wr_u8(w, 0); /* version */
	wr_u16(w, 0);
	wr_u16(w, 0);
}

void
dns_put_answer(struct wr *w, const struct dns_query *q,
    const struct dns_answer *a)
{
	bool fits = (a->ip.family == 4 && q->type == DNS_A) ||
	    (a->ip.family == 6 && q->type == DNS_AAAA);
	bool asked = q->question.n != 0;
	bool found = asked && fits && a->rcode == DNS_NOERROR;
	bool nothing = asked && !found &&
	    (a->rcode == DNS_NOERROR || a->rcode == DNS_NXDOMAIN);
	unsigned flags = FLAG_RESPONSE | FLAG_CAN_RECURSE |
	    (unsigned)q->opcode << 11 | (a->rcode & 15u);

	if (q->recurse)
		flags |= FLAG_RECURSE;
	wr_u16(w, q->id);
	wr_u16(w, (uint16_t)flags);
	wr_u16(w, asked);
	wr_u16(w, found);
	wr_u16(w, nothing);
	wr_u16(w, q->has_edns);
	wr_bytes(w, q->question);
	if (found)
		put_record(w, q->type, a->ttl_s,
		    slice_of(a->ip.bytes, a->ip.family == 4 ? 4 : 16));
	if (nothing)
		put_soa(w, a->ttl_s);
	if (q->has_edns)
		put_opt(w, a->rcode);
}
