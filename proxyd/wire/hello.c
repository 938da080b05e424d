/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/hello.h"
#include "base/rd.h"

#define RECORD_HEAD 5
#define RECORD_MAX 16384 /* bytes of plaintext in a record (RFC 8446 5.1) */
#define MESSAGE_HEAD 4
#define TYPE_HANDSHAKE 22
#define TYPE_CLIENT_HELLO 1

enum extension {
	EXT_SERVER_NAME = 0,
	EXT_ALPN = 16,
	EXT_VERSIONS = 43,
	EXT_ECH = 0xfe0d,
};

static enum parse
bad(struct parse_fail *fail, enum reason reason, const char *detail, size_t at)
{
	*fail = (struct parse_fail){ reason, detail, at };
	return PARSE_BAD;
}

static enum parse
not_tls(struct parse_fail *fail, const char *detail, size_t at)
{
	return bad(fail, REASON_TLS_NOT_TLS, detail, at);
}

/* The first bytes of the record at `at`: each wrong one is wrong at once. */
static enum parse
check_record(struct slice in, size_t at, size_t *length,
    struct parse_fail *fail)
{
	struct slice r = slice_from(in, at);

	/* The hello of SSL 2: a length with its high bit set, then the type. */
	if (at == 0 && r.n > 0 && r.p[0] & 0x80) {
		if (r.n < 3)
			return PARSE_MORE;
		return r.p[2] == TYPE_CLIENT_HELLO ?
		    bad(fail, REASON_TLS_VERSION, "hello of SSL 2", 0) :
		    not_tls(fail, "no handshake record", 0);
	}
	if (r.n > 0 && r.p[0] != TYPE_HANDSHAKE)
		return not_tls(fail, "no handshake record", at);
	if (r.n > 1 && r.p[1] != 3)
		return not_tls(fail, "record of no TLS version", at + 1);
	if (r.n < RECORD_HEAD)
		return PARSE_MORE;
	*length = (size_t)r.p[3] << 8 | r.p[4];
	if (*length == 0)
		return not_tls(fail, "empty record", at + 3);
	if (*length > RECORD_MAX)
		return not_tls(fail, "record over 16 KiB", at + 3);
	return PARSE_DONE;
}

/* The type and length of the message, as far as they are there. */
static enum parse
check_message(const uint8_t *scratch, size_t n, size_t *length,
    struct parse_fail *fail)
{
	if (n > 0 && scratch[0] != TYPE_CLIENT_HELLO)
		return not_tls(fail, "first message is no ClientHello", 0);
	if (n < MESSAGE_HEAD)
		return PARSE_MORE;
	*length = MESSAGE_HEAD +
	    ((size_t)scratch[1] << 16 | (size_t)scratch[2] << 8 | scratch[3]);
	if (*length > LIMIT_HELLO_SIZE)
		return bad(fail, REASON_TLS_HELLO_SIZE, "hello over the limit",
		    0);
	return PARSE_DONE;
}

/* Put whole records together until the message is. */
static enum parse
gather(struct slice in, uint8_t *scratch, struct hello *h,
    struct parse_fail *fail)
{
	for (;;) {
		size_t record, message = 0;
		enum parse answer = check_record(in, h->at, &record, fail);
		if (answer == PARSE_BAD)
			return answer;
		if (h->at + RECORD_HEAD > LIMIT_HELLO_SIZE ||
		    (answer == PARSE_DONE &&
			record > LIMIT_HELLO_SIZE - h->at - RECORD_HEAD))
			return bad(fail, REASON_TLS_HELLO_SIZE,
			    "records over the limit", h->at);
		if (answer == PARSE_MORE || in.n - h->at - RECORD_HEAD < record)
			return PARSE_MORE;
		memcpy(scratch + h->n, in.p + h->at + RECORD_HEAD, record);
		h->n += record;
		h->at += RECORD_HEAD + record;
		answer = check_message(scratch, h->n, &message, fail);
		if (answer == PARSE_BAD)
			return answer;
		/* OpenSSL wants the end of the message to end a record. */
		if (answer == PARSE_DONE && h->n > message)
			return not_tls(fail, "bytes behind the hello", message);
		if (answer == PARSE_DONE && h->n == message)
			return PARSE_DONE;
	}
}

/* One list of one host name: other types and a second name are refused. */
static enum parse
read_sni(struct slice body, struct hello *h, struct parse_fail *fail)
{
	struct rd r = rd_of(body), list = rd_of(rd_slice16(&r));
	uint8_t type = rd_u8(&list);
	struct slice name = rd_slice16(&list);

	if (!rd_is_done(&r) || list.bad)
		return not_tls(fail, "server name extension malformed", 0);
	if (type != 0)
		return bad(fail, REASON_TLS_SNI_INVALID,
		    "server name of another type", 0);
	if (list.in.n != 0)
		return bad(fail, REASON_TLS_SNI_INVALID, "two server names", 0);
	h->has_sni = true;
	h->sni = name;
	return PARSE_DONE;
}

static enum parse
read_alpn(struct slice body, struct hello *h, struct parse_fail *fail)
{
	struct rd r = rd_of(body), list;
	struct slice names = rd_slice16(&r);

	list = rd_of(names);
	if (!rd_is_done(&r) || names.n == 0)
		return not_tls(fail, "ALPN extension malformed", 0);
	while (list.in.n != 0 && !list.bad) {
		struct slice name = rd_slice8(&list);
		if (name.n == 0)
			return not_tls(fail, "ALPN extension malformed", 0);
	}
	h->has_alpn = true;
	h->alpn = names;
	h->offer = alpn_offer_read(names);
	return PARSE_DONE;
}

/* With this extension the old version field counts for nothing. */
static enum parse
read_versions(struct slice body, struct hello *h, struct parse_fail *fail)
{
	struct rd r = rd_of(body), list;
	struct slice versions = rd_slice8(&r);

	list = rd_of(versions);
	if (!rd_is_done(&r) || versions.n == 0 || versions.n % 2 != 0)
		return not_tls(fail, "versions extension malformed", 0);
	h->version = 0;
	while (list.in.n != 0) {
		uint16_t v = rd_u16(&list);
		if ((v == HELLO_TLS12 || v == HELLO_TLS13) && v > h->version)
			h->version = v;
	}
	return PARSE_DONE;
}

static enum parse
read_extension(uint16_t type, struct slice body, struct hello *h,
    struct parse_fail *fail)
{
	switch (type) {
	case EXT_SERVER_NAME:
		return read_sni(body, h, fail);
	case EXT_ALPN:
		return read_alpn(body, h, fail);
	case EXT_VERSIONS:
		return read_versions(body, h, fail);
	case EXT_ECH:
		h->has_ech = true;
		return PARSE_DONE;
	default:
		return PARSE_DONE;
	}
}

static enum parse
read_extensions(struct slice all, struct hello *h, struct parse_fail *fail)
{
	struct rd r = rd_of(all);
	uint64_t seen = 0;

	while (r.in.n != 0 && !r.bad) {
		uint16_t type = rd_u16(&r);
		struct slice body = rd_slice16(&r);
		if (r.bad)
			break;
		/* A bit for each low type: those that mean something. */
		uint64_t bit = type < 64 ? (uint64_t)1 << type : 0;
		if (seen & bit)
			return not_tls(fail, "extension twice", 0);
		seen |= bit;
		if (read_extension(type, body, h, fail) != PARSE_DONE)
			return PARSE_BAD;
	}
	return r.bad ? not_tls(fail, "extensions malformed", 0) : PARSE_DONE;
}

/* The whole message, without its head. */
static enum parse
read_message(struct slice body, struct hello *h, struct parse_fail *fail)
{
	struct rd r = rd_of(body);
	uint16_t version = rd_u16(&r);
	struct slice extensions = { 0 };

	rd_bytes(&r, 32); /* random */
	struct slice session = rd_slice8(&r);
	struct slice suites = rd_slice16(&r);
	struct slice compressions = rd_slice8(&r);
	if (!r.bad && r.in.n != 0)
		extensions = rd_slice16(&r);
	if (!rd_is_done(&r) || session.n > 32 || suites.n == 0 ||
	    suites.n % 2 != 0 || compressions.n == 0)
		return not_tls(fail, "hello malformed", 0);

	h->version = version >= HELLO_TLS12 ? HELLO_TLS12 : 0;
	if (read_extensions(extensions, h, fail) != PARSE_DONE)
		return PARSE_BAD;
	if (h->version == 0)
		return bad(fail, REASON_TLS_VERSION,
		    "no TLS 1.2 or 1.3 offered", 0);
	return PARSE_DONE;
}

enum parse
hello_take(struct slice in, uint8_t *scratch, struct hello *hello,
    struct parse_fail *fail)
{
	enum parse answer = gather(in, scratch, hello, fail);

	if (answer != PARSE_DONE)
		return answer;
	return read_message(slice_of(scratch + MESSAGE_HEAD,
				hello->n - MESSAGE_HEAD),
	    hello, fail);
}

bool
hello_take_alpn(struct slice *rest, struct slice *name)
{
	struct rd r = rd_of(*rest);

	*name = rd_slice8(&r);
	*rest = r.in;
	return !r.bad;
}
