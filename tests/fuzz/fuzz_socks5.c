/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each of the three messages: no more is taken than there is; what is whole was
 * not whole before its last byte, and stays the same with bytes behind it; what
 * is bad is never good with more; a host is its own canonical form.
 */
#include "fuzz.h"
#include "wire/socks5.h"

union out {
	struct socks5_greeting greeting;
	struct socks5_password password;
	struct socks5_request request;
};

static enum parse
take(unsigned which, struct slice in, union out *out, size_t *used)
{
	enum socks5_reply reply = SOCKS5_SUCCEEDED;
	struct parse_fail fail = { 0 };
	enum parse answer = which == 0 ?
	    socks5_greeting_take(in, &out->greeting, used, &fail) :
	    which == 1 ?
	    socks5_password_take(in, &out->password, used, &fail) :
	    socks5_request_take(in, &out->request, used, &reply, &fail);

	if (answer == PARSE_BAD) {
		CHECK(fail.reason == REASON_PROXY_PROTOCOL && fail.at < in.n);
		CHECK(which != 2 || reply != SOCKS5_SUCCEEDED);
	}
	return answer;
}

static void
check_output(unsigned which, const union out *out, struct slice in)
{
	struct parse_fail fail;
	uint8_t text[HOST_PUT_MAX];
	struct host again;

	if (which == 1)
		CHECK(lies_in(out->password.user, in) &&
		    lies_in(out->password.password, in));
	if (which != 2)
		return;
	size_t n = host_put(&out->request.host, text);
	CHECK(out->request.port != 0);
	CHECK(host_from_http(slice_of(text, n), &again, &fail) == PARSE_DONE);
	CHECK(host_eq(&again, &out->request.host));
}

static void
look(unsigned which, struct slice in)
{
	union out out, second;
	size_t used = 0, again = 0;
	enum parse got = take(which, in, &out, &used);

	for (size_t n = 0; n < in.n && n < SOCKS5_MAX; n++) {
		enum parse part =
		    take(which, slice_first(in, n), &second, &again);
		if (got == PARSE_DONE)
			CHECK((part == PARSE_DONE) == (n >= used));
		if (part == PARSE_BAD)
			CHECK(got == PARSE_BAD);
	}
	if (got == PARSE_MORE)
		CHECK(in.n < SOCKS5_MAX);
	if (got != PARSE_DONE)
		return;
	CHECK(used <= in.n && used <= SOCKS5_MAX);
	check_output(which, &out, in);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (unsigned which = 0; which < 3; which++)
		look(which, slice_of(data, size));
	return 0;
}
