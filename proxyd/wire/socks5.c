/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/socks5.h"

#define PASSWORD_VERSION 1 /* RFC 1929 2 */

enum {
	COMMAND_CONNECT = 1,
	COMMAND_BIND = 2,
	COMMAND_UDP_ASSOCIATE = 3,
};

enum {
	TYPE_IPV4 = 1,
	TYPE_NAME = 3,
	TYPE_IPV6 = 4,
};

/* Before the address: version, command, zero, type. */
#define REQUEST_HEAD 4
#define PORT_SIZE 2

static enum parse
bad(struct parse_fail *fail, const char *detail, size_t at)
{
	*fail = (struct parse_fail){ REASON_PROXY_PROTOCOL, detail, at };
	return PARSE_BAD;
}

/* A byte and so many behind it, from `at` on; false: they are not all there. */
static bool
take_text(struct slice in, size_t *at, struct slice *text)
{
	struct slice rest = slice_from(in, *at);

	if (rest.n == 0 || rest.n - 1 < rest.p[0])
		return false;
	*text = slice_of(rest.p + 1, rest.p[0]);
	*at += 1 + text->n;
	return true;
}

enum parse
socks5_greeting_take(struct slice in, struct socks5_greeting *g, size_t *used,
    struct parse_fail *fail)
{
	struct socks5_greeting got = { 0 };
	struct slice methods;
	size_t at = 1;

	if (in.n == 0)
		return PARSE_MORE;
	if (in.p[0] != SOCKS5_VERSION)
		return bad(fail, "greeting of another version than SOCKS5", 0);
	if (in.n > 1 && in.p[1] == 0)
		return bad(fail, "greeting without a method", 1);
	if (!take_text(in, &at, &methods))
		return PARSE_MORE;
	for (size_t i = 0; i < methods.n; i++) {
		got.has_open = got.has_open || methods.p[i] == SOCKS5_OPEN;
		got.has_password =
		    got.has_password || methods.p[i] == SOCKS5_PASSWORD;
	}
	*g = got;
	*used = at;
	return PARSE_DONE;
}

enum parse
socks5_password_take(struct slice in, struct socks5_password *p, size_t *used,
    struct parse_fail *fail)
{
	struct socks5_password got;
	size_t at = 1;

	if (in.n == 0)
		return PARSE_MORE;
	if (in.p[0] != PASSWORD_VERSION)
		return bad(fail, "user and password of another version", 0);
	if (!take_text(in, &at, &got.user) ||
	    !take_text(in, &at, &got.password))
		return PARSE_MORE;
	*p = got;
	*used = at;
	return PARSE_DONE;
}

/* The four bytes before the address, as far as they have come. */
static enum parse
check_head(struct slice in, enum socks5_reply *reply, struct parse_fail *fail)
{
	*reply = SOCKS5_FAILED;
	if (in.n > 0 && in.p[0] != SOCKS5_VERSION)
		return bad(fail, "request of another version than SOCKS5", 0);
	if (in.n > 1 && in.p[1] != COMMAND_CONNECT) {
		*reply = SOCKS5_NO_COMMAND;
		return bad(fail,
		    in.p[1] == COMMAND_BIND		 ? "BIND" :
			in.p[1] == COMMAND_UDP_ASSOCIATE ? "UDP ASSOCIATE" :
							   "unknown command",
		    1);
	}
	if (in.n > 2 && in.p[2] != 0)
		return bad(fail, "reserved byte is not zero", 2);
	if (in.n <= 3)
		return PARSE_MORE;
	if (in.p[3] == TYPE_IPV4 || in.p[3] == TYPE_NAME ||
	    in.p[3] == TYPE_IPV6)
		return PARSE_DONE;
	*reply = SOCKS5_NO_ADDRESS_TYPE;
	return bad(fail, "unknown type of address", 3);
}

static enum parse
take_name(struct slice in, size_t *at, struct host *host,
    struct parse_fail *fail)
{
	struct parse_fail why;
	struct slice name;

	if (in.n > *at && in.p[*at] == 0)
		return bad(fail, "empty name", *at);
	if (!take_text(in, at, &name))
		return PARSE_MORE;
	/* Brackets belong to URLs; addresses have types of their own here. */
	if (name.p[0] == '[' || host_from_http(name, host, &why) != PARSE_DONE)
		return bad(fail, "name that is no host name",
		    *at - name.n + (name.p[0] == '[' ? 0 : why.at));
	return PARSE_DONE;
}

static enum parse
take_address(struct slice in, size_t *at, struct host *host,
    struct parse_fail *fail)
{
	uint8_t type = in.p[3];

	if (type == TYPE_NAME)
		return take_name(in, at, host, fail);
	struct ip ip = { .family = type == TYPE_IPV4 ? 4 : 6 };
	size_t n = type == TYPE_IPV4 ? 4 : 16;
	struct slice rest = slice_from(in, *at);
	if (rest.n < n)
		return PARSE_MORE;
	memcpy(ip.bytes, rest.p, n);
	host_from_ip(&ip, host);
	*at += n;
	return PARSE_DONE;
}

enum parse
socks5_request_take(struct slice in, struct socks5_request *r, size_t *used,
    enum socks5_reply *reply, struct parse_fail *fail)
{
	struct socks5_request got;
	size_t at = REQUEST_HEAD;
	enum parse answer = check_head(in, reply, fail);

	if (answer == PARSE_DONE)
		answer = take_address(in, &at, &got.host, fail);
	if (answer != PARSE_DONE)
		return answer;
	struct slice port = slice_from(in, at);
	if (port.n < PORT_SIZE)
		return PARSE_MORE;
	got.port = (uint16_t)(port.p[0] << 8 | port.p[1]);
	if (got.port == 0)
		return bad(fail, "port 0", at);
	*r = got;
	*used = at + PORT_SIZE;
	return PARSE_DONE;
}

void
socks5_put_method(struct wr *w, enum socks5_method method)
{
	wr_u8(w, SOCKS5_VERSION);
	wr_u8(w, (uint8_t)method);
}

void
socks5_put_verdict(struct wr *w, bool right)
{
	wr_u8(w, PASSWORD_VERSION);
	wr_u8(w, right ? 0 : 1);
}

void
socks5_put_reply(struct wr *w, enum socks5_reply reply)
{
	wr_u8(w, SOCKS5_VERSION);
	wr_u8(w, (uint8_t)reply);
	wr_u8(w, 0);
	wr_u8(w, TYPE_IPV4);
	wr_u32(w, 0);
	wr_u16(w, 0);
}
