/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "wire/dns_msg.h"
#include "wire/host.h"

static void
check_answer(const struct dns_query *q, enum dns_rcode rcode, struct ip ip)
{
	uint8_t out[DNS_ANSWER_MAX];
	struct wr w = wr_of(out, sizeof(out));
	struct dns_query none;
	struct parse_fail fail;
	enum dns_rcode unused;

	dns_put_answer(&w, q,
	    &(struct dns_answer){ .rcode = rcode, .ip = ip, .ttl_s = 30 });
	CHECK(!w.bad && w.n >= 12);
	/* Nobody answers our answers. */
	CHECK(
	    dns_query_parse(wr_slice(&w), &none, &unused, &fail) == PARSE_MORE);
}

static void
check_message(struct slice in)
{
	struct dns_query q;
	struct parse_fail fail;
	enum dns_rcode rcode = DNS_NOERROR;
	struct host host;

	enum parse got = dns_query_parse(in, &q, &rcode, &fail);
	if (got == PARSE_MORE)
		return;
	CHECK(lies_in(q.name, in) && lies_in(q.question, in));
	check_answer(&q, rcode, (struct ip){ 0 });
	if (got == PARSE_BAD) {
		CHECK(rcode != DNS_NOERROR && fail.at <= in.n);
		return;
	}
	CHECK(q.name.n >= 1 && q.name.n <= DNS_NAME_MAX);
	CHECK(q.question.n == q.name.n + 4);
	check_answer(&q, DNS_NOERROR, ip_v4(198, 18, 0, 2));
	check_answer(&q, DNS_NXDOMAIN, (struct ip){ 0 });
	if (host_from_dns(q.name, &host, &fail) == PARSE_DONE)
		CHECK(host.n + 2u == q.name.n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = { data, size }, msg;
	struct parse_fail fail;
	size_t used;

	check_message(rest);
	while (dns_stream_take(rest, &msg, &used, &fail) == PARSE_DONE) {
		CHECK(used <= rest.n && used == msg.n + 2);
		check_message(msg);
		rest = slice_from(rest, used);
	}
	return 0;
}
