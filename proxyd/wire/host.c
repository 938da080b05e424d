/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/host.h"
#include "base/ascii.h"

/* What one way in tolerates, and how it names a refusal. */
struct door {
	enum reason byte;  /* for bytes that are never in a name */
	enum reason shape; /* for names that break another rule */
	uint8_t min_labels;
};

static const struct door http = { REASON_HTTP_MALFORMED, REASON_HTTP_MALFORMED,
	2 };
static const struct door sni = { REASON_TLS_SNI_INVALID, REASON_TLS_SNI_INVALID,
	2 };
static const struct door dns = { REASON_DNS_MALFORMED, REASON_DNS_DENIED, 2 };
static const struct door policy = { REASON_HTTP_MALFORMED,
	REASON_HTTP_MALFORMED, 2 };
static const struct door suffix = { REASON_HTTP_MALFORMED,
	REASON_HTTP_MALFORMED, 1 };

static enum parse
bad(struct parse_fail *fail, enum reason reason, const char *detail, size_t at)
{
	*fail = (struct parse_fail){ reason, detail, at };
	return PARSE_BAD;
}

static bool
is_name_byte(uint8_t c)
{
	return ascii_is_alnum(c) || c == '-' || c == '_';
}

/* One label, without its dots; `at` is where it begins in the input. */
static enum parse
check_label(struct slice label, size_t at, const struct door *door,
    struct parse_fail *fail)
{
	if (label.n == 0)
		return bad(fail, door->shape, "empty label", at);
	for (size_t i = 0; i < label.n; i++) {
		if (label.p[i] >= 0x80)
			return bad(fail, door->byte,
			    "not ASCII: write A-labels", at + i);
		if (!is_name_byte(label.p[i]))
			return bad(fail, door->byte, "byte that no name has",
			    at + i);
	}
	if (label.n > HOST_LABEL_MAX)
		return bad(fail, door->shape, "label over 63 bytes", at);
	if (label.p[0] == '-')
		return bad(fail, door->shape, "label begins with a hyphen", at);
	if (label.p[label.n - 1] == '-')
		return bad(fail, door->shape, "label ends with a hyphen",
		    at + label.n - 1);
	return PARSE_DONE;
}

/* Append a checked label; the caller has seen to it that it fits. */
static void
add_label(struct host *host, struct slice label)
{
	char *to = host->text + host->n;

	for (size_t i = 0; i < label.n; i++) {
		to[i] = (char)ascii_lower(label.p[i]);
		host->has_underscore |= label.p[i] == '_';
	}
	if (label.n >= 4 && memcmp(to, "xn--", 4) == 0)
		host->has_alabel = true;
	host->n = (uint8_t)(host->n + label.n);
	host->n_labels++;
}

/* The end of a label: the next dot, or the end of `in`. */
static size_t
label_end(struct slice in, size_t from)
{
	while (from < in.n && in.p[from] != '.')
		from++;
	return from;
}

bool
host_ends_in_number(struct slice text)
{
	size_t from = text.n;
	bool digits = true, hex = true;

	while (from > 0 && text.p[from - 1] != '.')
		from--;
	struct slice last = slice_from(text, from);
	for (size_t i = 0; i < last.n; i++) {
		digits = digits && ascii_is_digit(last.p[i]);
		if (i >= 2)
			hex = hex && ascii_hex(last.p[i]) >= 0;
	}
	if (last.n == 0)
		return false;
	return digits ||
	    (hex && last.n >= 2 && last.p[0] == '0' &&
		ascii_lower(last.p[1]) == 'x');
}

static enum parse
check_whole(const struct host *host, const struct door *door,
    struct parse_fail *fail)
{
	if (host->n_labels < door->min_labels)
		return bad(fail, door->shape, "name of one label", 0);
	if (host_ends_in_number(host_slice(host)))
		return bad(fail, door->shape, "last label is a number", 0);
	return PARSE_DONE;
}

static enum parse
from_text(struct slice in, const struct door *door, struct host *host,
    struct parse_fail *fail)
{
	struct host h = { 0 };
	size_t at = 0;

	if (in.n == 0)
		return bad(fail, door->shape, "empty name", 0);
	do {
		size_t end = label_end(in, at);
		struct slice label = { in.p + at, end - at };
		if (check_label(label, at, door, fail) != PARSE_DONE)
			return PARSE_BAD;
		if (end > HOST_MAX)
			return bad(fail, door->shape, "name over 253 bytes",
			    HOST_MAX);
		if (at != 0)
			h.text[h.n++] = '.';
		add_label(&h, label);
		at = end + 1;
	} while (at <= in.n);
	if (check_whole(&h, door, fail) != PARSE_DONE)
		return PARSE_BAD;
	*host = h;
	return PARSE_DONE;
}

static bool
is_dotted_quad(struct slice in, struct ip *ip)
{
	return ip_parse(in, ip) && ip->family == 4;
}

/* An IPv6 address in brackets; `in` begins with the first. */
static enum parse
from_brackets(struct slice in, const struct door *door, struct host *host,
    struct parse_fail *fail)
{
	struct ip ip;

	if (in.p[in.n - 1] != ']')
		return bad(fail, door->shape, "no closing bracket", in.n);
	if (!ip_parse(slice_of(in.p + 1, in.n - 2), &ip) || ip.family != 6)
		return bad(fail, door->shape, "no IPv6 address in brackets", 1);
	host_from_ip(&ip, host);
	return PARSE_DONE;
}

enum parse
host_from_http(struct slice in, struct host *host, struct parse_fail *fail)
{
	struct ip ip;

	if (in.n >= 2 && in.p[0] == '[')
		return from_brackets(in, &http, host, fail);
	if (is_dotted_quad(in, &ip)) {
		host_from_ip(&ip, host);
		return PARSE_DONE;
	}
	if (in.n > 1 && in.p[in.n - 1] == '.')
		in.n--;
	return from_text(in, &http, host, fail);
}

enum parse
host_from_sni(struct slice in, struct host *host, struct parse_fail *fail)
{
	return from_text(in, &sni, host, fail);
}

enum parse
host_from_dns(struct slice in, struct host *host, struct parse_fail *fail)
{
	struct host h = { 0 };
	size_t at = 0;

	while (at < in.n && in.p[at] != 0) {
		size_t n = in.p[at++];
		if (n > HOST_LABEL_MAX || n > in.n - at)
			return bad(fail, dns.byte, "label runs past the name",
			    at - 1);
		struct slice label = { in.p + at, n };
		if (check_label(label, at, &dns, fail) != PARSE_DONE)
			return PARSE_BAD;
		if (h.n + n + (h.n != 0) > HOST_MAX)
			return bad(fail, dns.byte, "name over 253 bytes", at);
		if (h.n != 0)
			h.text[h.n++] = '.';
		add_label(&h, label);
		at += n;
	}
	if (at + 1 != in.n)
		return bad(fail, dns.byte, "name without its root", at);
	if (check_whole(&h, &dns, fail) != PARSE_DONE)
		return PARSE_BAD;
	*host = h;
	return PARSE_DONE;
}

enum parse
host_from_policy(struct slice in, struct host *host, struct parse_fail *fail)
{
	uint8_t text[HOST_PUT_MAX];
	struct host h;
	struct ip ip;

	if (in.n >= 2 && in.p[0] == '[') {
		if (from_brackets(in, &policy, &h, fail) != PARSE_DONE)
			return PARSE_BAD;
		if (!slice_eq(in, slice_of(text, host_put(&h, text))))
			return bad(fail, policy.shape,
			    "address not as it is printed", 1);
		*host = h;
		return PARSE_DONE;
	}
	if (is_dotted_quad(in, &ip)) {
		host_from_ip(&ip, host);
		return PARSE_DONE;
	}
	return from_text(in, &policy, host, fail);
}

enum parse
host_from_suffix(struct slice in, struct host *host, struct parse_fail *fail)
{
	return from_text(in, &suffix, host, fail);
}

void
host_from_ip(const struct ip *ip, struct host *host)
{
	char text[IP_TEXT_SIZE];

	*host = (struct host){ .is_ip = true, .ip = *ip };
	ip_text(ip, text);
	host->n = (uint8_t)strnlen(text, sizeof(text));
	memcpy(host->text, text, host->n);
}

bool
host_eq(const struct host *a, const struct host *b)
{
	return a->is_ip == b->is_ip && slice_eq(host_slice(a), host_slice(b));
}

size_t
host_put(const struct host *host, uint8_t out[HOST_PUT_MAX])
{
	size_t bracket = host->is_ip && host->ip.family == 6;

	out[0] = '[';
	memcpy(out + bracket, host->text, host->n);
	if (bracket != 0)
		out[host->n + 1] = ']';
	return host->n + 2 * bracket;
}
