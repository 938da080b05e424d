/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wr.h"
#include "row.h"
#include "wire/hello.h"

/* Parts of a ClientHello, to be put together by make(). */
#define RANDOM "0123456789abcdef0123456789abcdef"
#define HEAD12 "\x03\x03" RANDOM "\0\0\2\x13\1\1\0"
#define SNI "\0\0\0\x0c\0\x0a\0\0\7ok.test"
#define SNI_NONE ""
#define VERSIONS "\0\x2b\0\5\4\3\4\3\3"
#define ALPN "\0\x10\0\x0e\0\x0c\2h2\x08http/1.1"
#define ECH "\xfe\x0d\0\1\0"

struct made {
	uint8_t bytes[70000];
	size_t n;
};

/* A message of `head` and extensions, in records of at most `record` bytes. */
static void
make(struct made *m, struct slice head, const struct slice *extensions,
    size_t record)
{
	static uint8_t message[66000];
	struct wr w = wr_of(message, sizeof(message));
	struct wr out = wr_of(m->bytes, sizeof(m->bytes));

	wr_u8(&w, 1);
	wr_number(&w, head.n + (extensions ? extensions->n + 2 : 0), 3);
	wr_bytes(&w, head);
	if (extensions != NULL)
		wr_slice16(&w, *extensions);
	struct slice rest = wr_slice(&w);
	assert_int_not_equal(rest.n, 0);
	while (rest.n != 0) {
		struct slice part = slice_first(rest, record);
		wr_bytes(&out, SLICE("\x16\3\1"));
		wr_slice16(&out, part);
		rest = slice_from(rest, part.n);
	}
	assert_false(out.bad);
	m->n = out.n;
}

static uint8_t scratch[LIMIT_HELLO_SIZE];

static enum parse
take(struct slice in, struct hello *h, struct parse_fail *fail)
{
	struct slice copy = exact(in);

	*h = (struct hello){ 0 };
	*fail = (struct parse_fail){ .detail = "" };
	enum parse answer = hello_take(copy, scratch, h, fail);
	drop(copy);
	return answer;
}

static const struct {
	const char *name;
	struct slice head, extensions;
	bool none; /* no extensions at all, not even their length */
	struct slice sni;
	bool no_sni, alpn, ech;
	enum alpn_offer offer;
	uint16_t version;
} good[] = {
	{ "1.3", IN(HEAD12), IN(SNI VERSIONS ALPN), .sni = IN("ok.test"),
	    .alpn = true, .offer = ALPN_OFFER_H2_HTTP11,
	    .version = HELLO_TLS13 },
	{ "1.2", IN(HEAD12), IN(SNI), .sni = IN("ok.test"),
	    .version = HELLO_TLS12 },
	{ "1.2 by list", IN("\3\1" RANDOM "\0\0\2\x13\1\1\0"),
	    IN("\0\x2b\0\3\2\3\3" SNI), .sni = IN("ok.test"),
	    .version = HELLO_TLS12 },
	{ "1.3 in the old field is 1.2", IN("\3\4" RANDOM "\0\0\2\x13\1\1\0"),
	    IN(SNI), .sni = IN("ok.test"), .version = HELLO_TLS12 },
	{ "a session, many suites",
	    IN("\3\3" RANDOM "\x20" RANDOM "\0\4\x13\1\x13\2\2\1\0"), IN(SNI),
	    .sni = IN("ok.test"), .version = HELLO_TLS12 },
	{ "TL-08 no server name", IN(HEAD12), IN(VERSIONS), .no_sni = true,
	    .version = HELLO_TLS13 },
	{ "no extensions", IN(HEAD12), .none = true, .no_sni = true,
	    .version = HELLO_TLS12 },
	{ "empty extensions", IN(HEAD12), IN(""), .no_sni = true,
	    .version = HELLO_TLS12 },
	{ "TL-09 empty name", IN(HEAD12), IN("\0\0\0\5\0\3\0\0\0"),
	    .sni = IN(""), .version = HELLO_TLS12 },
	{ "TL-09 anything as a name", IN(HEAD12), IN("\0\0\0\7\0\5\0\0\2\0\n"),
	    .sni = IN("\0\n"), .version = HELLO_TLS12 },
	{ "TL-19 ECH", IN(HEAD12), IN(ECH SNI), .sni = IN("ok.test"),
	    .ech = true, .version = HELLO_TLS12 },
	{ "only http/1.1", IN(HEAD12), IN("\0\x10\0\x0b\0\x09\x08http/1.1"),
	    .no_sni = true, .alpn = true, .offer = ALPN_OFFER_HTTP11,
	    .version = HELLO_TLS12 },
	{ "only h2", IN(HEAD12), IN("\0\x10\0\5\0\3\2h2"), .no_sni = true,
	    .alpn = true, .offer = ALPN_OFFER_H2, .version = HELLO_TLS12 },
	{ "grease twice", IN(HEAD12), IN("\x0a\x0a\0\0" SNI "\x0a\x0a\0\0"),
	    .sni = IN("ok.test"), .version = HELLO_TLS12 },
};

/* TL-11: records of every size, each prefix of them. */
static void
hello_takes_each_good_one_in_any_records(void **state)
{
	static struct made m;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		print_message("# %s\n", good[i].name);
		for (size_t record = 1; record < 200; record += 7) {
			struct hello h;
			struct parse_fail fail;

			make(&m, good[i].head,
			    good[i].none ? NULL : &good[i].extensions, record);
			struct slice in = { m.bytes, m.n };
			assert_int_equal(take(in, &h, &fail), PARSE_DONE);
			assert_slice(h.sni, good[i].sni);
			assert_int_equal(h.has_sni, !good[i].no_sni);
			assert_int_equal(h.has_alpn, good[i].alpn);
			assert_int_equal(h.offer, good[i].offer);
			assert_int_equal(h.has_ech, good[i].ech);
			assert_int_equal(h.version, good[i].version);
			for (size_t n = 0; n < m.n; n += 1 + record / 8)
				assert_int_equal(take(slice_first(in, n), &h,
						     &fail),
				    PARSE_MORE);
		}
	}
}

/* The same struct for one byte more each time, as the worker does. */
static void
hello_goes_on_where_it_was(void **state)
{
	static struct made m;
	struct slice extensions = SLICE(SNI VERSIONS ALPN), rest, name;
	struct hello h = { 0 };
	struct parse_fail fail;

	(void)state;
	make(&m, SLICE(HEAD12), &extensions, 1);
	for (size_t n = 0; n < m.n; n++) {
		struct slice in = exact(slice_of(m.bytes, n));
		assert_int_equal(hello_take(in, scratch, &h, &fail),
		    PARSE_MORE);
		drop(in);
	}
	assert_int_equal(hello_take(slice_of(m.bytes, m.n), scratch, &h, &fail),
	    PARSE_DONE);
	assert_slice(h.sni, SLICE("ok.test"));
	rest = h.alpn;
	assert_true(hello_take_alpn(&rest, &name));
	assert_slice(name, SLICE("h2"));
	assert_true(hello_take_alpn(&rest, &name));
	assert_slice(name, SLICE("http/1.1"));
	assert_false(hello_take_alpn(&rest, &name));
}

/* Messages that are put together, but refused. */
static const struct {
	const char *name;
	struct slice head, extensions;
	enum reason reason;
	const char *detail;
} bad[] = {
	{ "TL-10 two names", IN(HEAD12), IN("\0\0\0\x0a\0\x08\0\0\1a\0\0\1b"),
	    REASON_TLS_SNI_INVALID, "two server names" },
	{ "another type of name", IN(HEAD12), IN("\0\0\0\6\0\4\1\0\1a"),
	    REASON_TLS_SNI_INVALID, "server name of another type" },
	{ "empty list of names", IN(HEAD12), IN("\0\0\0\2\0\0"),
	    REASON_TLS_NOT_TLS, "server name extension malformed" },
	{ "bytes behind the list", IN(HEAD12), IN("\0\0\0\7\0\4\0\0\1a\0"),
	    REASON_TLS_NOT_TLS, "server name extension malformed" },
	{ "name past the list", IN(HEAD12), IN("\0\0\0\6\0\4\0\0\2a"),
	    REASON_TLS_NOT_TLS, "server name extension malformed" },
	{ "two name extensions", IN(HEAD12), IN(SNI SNI), REASON_TLS_NOT_TLS,
	    "extension twice" },
	{ "extension past the end", IN(HEAD12), IN("\0\x17\0\1"),
	    REASON_TLS_NOT_TLS, "extensions malformed" },
	{ "empty ALPN", IN(HEAD12), IN("\0\x10\0\2\0\0"), REASON_TLS_NOT_TLS,
	    "ALPN extension malformed" },
	{ "empty name in ALPN", IN(HEAD12), IN("\0\x10\0\6\0\4\2h2\0"),
	    REASON_TLS_NOT_TLS, "ALPN extension malformed" },
	{ "name past ALPN", IN(HEAD12), IN("\0\x10\0\5\0\3\3h2"),
	    REASON_TLS_NOT_TLS, "ALPN extension malformed" },
	{ "odd versions", IN(HEAD12), IN("\0\x2b\0\4\3\3\3\3"),
	    REASON_TLS_NOT_TLS, "versions extension malformed" },
	{ "no versions", IN(HEAD12), IN("\0\x2b\0\1\0"), REASON_TLS_NOT_TLS,
	    "versions extension malformed" },
	{ "TL-16 1.1 by list", IN(HEAD12), IN("\0\x2b\0\3\2\3\2"),
	    REASON_TLS_VERSION, "no TLS 1.2 or 1.3 offered" },
	{ "TL-16 1.1", IN("\3\2" RANDOM "\0\0\2\x13\1\1\0"), IN(SNI),
	    REASON_TLS_VERSION, "no TLS 1.2 or 1.3 offered" },
	{ "TL-16 SSL 3", IN("\3\0" RANDOM "\0\0\2\x13\1\1\0"), IN(SNI),
	    REASON_TLS_VERSION, "no TLS 1.2 or 1.3 offered" },
	{ "cut in the random",
	    IN("\3\3"
	       "0123"),
	    IN(""), REASON_TLS_NOT_TLS, "hello malformed" },
	{ "session of 33", IN("\3\3" RANDOM "\x21" RANDOM "x\0\2\x13\1\1\0"),
	    IN(SNI), REASON_TLS_NOT_TLS, "hello malformed" },
	{ "no suites", IN("\3\3" RANDOM "\0\0\0\1\0"), IN(SNI),
	    REASON_TLS_NOT_TLS, "hello malformed" },
	{ "odd suites", IN("\3\3" RANDOM "\0\0\3\x13\1\0\1\0"), IN(SNI),
	    REASON_TLS_NOT_TLS, "hello malformed" },
	{ "no compression", IN("\3\3" RANDOM "\0\0\2\x13\1\0"), IN(SNI),
	    REASON_TLS_NOT_TLS, "hello malformed" },
};

static void
hello_refuses_each_bad_one(void **state)
{
	static struct made m;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct hello h;
		struct parse_fail fail;

		print_message("# %s\n", bad[i].name);
		make(&m, bad[i].head, &bad[i].extensions, 16384);
		assert_int_equal(take(slice_of(m.bytes, m.n), &h, &fail),
		    PARSE_BAD);
		assert_string_equal(fail.detail, bad[i].detail);
		assert_int_equal(fail.reason, bad[i].reason);
		assert_int_equal(fail.at, 0);
	}
}

/* Bytes that are refused before there is a message. */
static const struct {
	const char *name;
	struct slice in;
	enum reason reason;
	const char *detail;
	size_t at;
} records[] = {
	{ "TL-21 HTTP", IN("GET / HTTP/1.1\r\n"), REASON_TLS_NOT_TLS,
	    "no handshake record", 0 },
	{ "TL-21 one byte of SSH", IN("S"), REASON_TLS_NOT_TLS,
	    "no handshake record", 0 },
	{ "TL-15 alert", IN("\x15\3\1\0\2\2\x28"), REASON_TLS_NOT_TLS,
	    "no handshake record", 0 },
	{ "TL-15 application data", IN("\x17\3\3\0\1x"), REASON_TLS_NOT_TLS,
	    "no handshake record", 0 },
	{ "TL-16 SSL 2", IN("\x80\x2e\1\0\2"), REASON_TLS_VERSION,
	    "hello of SSL 2", 0 },
	{ "high bit and no hello", IN("\x80\x2e\2"), REASON_TLS_NOT_TLS,
	    "no handshake record", 0 },
	{ "high bit in a later record", IN("\x16\3\1\0\1\1\x80\x2e\1"),
	    REASON_TLS_NOT_TLS, "no handshake record", 6 },
	{ "version 2 of the record", IN("\x16\2"), REASON_TLS_NOT_TLS,
	    "record of no TLS version", 1 },
	{ "empty record", IN("\x16\3\1\0\0"), REASON_TLS_NOT_TLS,
	    "empty record", 3 },
	{ "empty record in between", IN("\x16\3\1\0\1\1\x16\3\1\0\0"),
	    REASON_TLS_NOT_TLS, "empty record", 9 },
	{ "record over 16 KiB", IN("\x16\3\1\x40\1"), REASON_TLS_NOT_TLS,
	    "record over 16 KiB", 3 },
	{ "alert in between", IN("\x16\3\1\0\1\1\x15\3\1"), REASON_TLS_NOT_TLS,
	    "no handshake record", 6 },
	{ "ServerHello", IN("\x16\3\1\0\1\2"), REASON_TLS_NOT_TLS,
	    "first message is no ClientHello", 0 },
	{ "bytes behind the hello", IN("\x16\3\1\0\6\1\0\0\1xy"),
	    REASON_TLS_NOT_TLS, "bytes behind the hello", 5 },
	{ "TL-13 16 MB", IN("\x16\3\1\0\4\1\xff\xff\xff"),
	    REASON_TLS_HELLO_SIZE, "hello over the limit", 0 },
};

static void
hello_refuses_each_bad_record(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(records); i++) {
		struct hello h;
		struct parse_fail fail;

		print_message("# %s\n", records[i].name);
		assert_int_equal(take(records[i].in, &h, &fail), PARSE_BAD);
		assert_string_equal(fail.detail, records[i].detail);
		assert_int_equal(fail.reason, records[i].reason);
		assert_int_equal(fail.at, records[i].at);
		for (size_t n = 0; n < records[i].in.n; n++)
			assert_int_not_equal(take(slice_first(records[i].in, n),
						 &h, &fail),
			    PARSE_DONE);
	}
}

/* TL-12: the name behind padding of `n` bytes. */
static enum parse
behind(size_t n, size_t record, struct parse_fail *fail)
{
	static uint8_t text[66000];
	static struct made m;
	struct wr w = wr_of(text, sizeof(text));
	struct hello h;

	wr_bytes(&w, SLICE("\0\x15"));
	wr_u16(&w, (uint16_t)n);
	memset(text + 4, 0, n);
	w.n += n;
	wr_bytes(&w, SLICE(SNI));
	struct slice extensions = wr_slice(&w);
	make(&m, SLICE(HEAD12), &extensions, record);
	enum parse answer = take(slice_of(m.bytes, m.n), &h, fail);
	if (answer == PARSE_DONE)
		assert_slice(h.sni, SLICE("ok.test"));
	return answer;
}

static void
hello_has_a_limit(void **state)
{
	struct parse_fail fail;
	size_t most = LIMIT_HELLO_SIZE - 2 * 5 - 4 - 41 - 2 - 4 - 16;

	(void)state;
	assert_int_equal(behind(12000, 16384, &fail), PARSE_DONE);
	assert_int_equal(behind(most, 16384, &fail), PARSE_DONE);
	assert_int_equal(behind(most + 1, 16384, &fail), PARSE_BAD);
	assert_int_equal(fail.reason, REASON_TLS_HELLO_SIZE);
	assert_string_equal(fail.detail, "records over the limit");
	assert_int_equal(behind(40000, 16384, &fail), PARSE_BAD);
	assert_string_equal(fail.detail, "hello over the limit");
	/* Small records count with their heads. */
	assert_int_equal(behind(5000, 1, &fail), PARSE_DONE);
	assert_int_equal(behind(5600, 1, &fail), PARSE_BAD);
	assert_string_equal(fail.detail, "records over the limit");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_takes_each_good_one_in_any_records),
		cmocka_unit_test(hello_goes_on_where_it_was),
		cmocka_unit_test(hello_refuses_each_bad_one),
		cmocka_unit_test(hello_refuses_each_bad_record),
		cmocka_unit_test(hello_has_a_limit),
	};

	return cmocka_run_group_tests_name("hello", tests, NULL, NULL);
}
