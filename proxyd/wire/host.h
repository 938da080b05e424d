/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one canonical form of host names and IP literals.
 *
 * A name has labels of letters, digits, inner hyphens and underscores, 1 to 63
 * bytes each, at least two of them, at most 253 bytes in all; its last label
 * is never a number.  Nothing is decoded, trimmed or repaired.  Every stage
 * after these constructors takes a struct host and never text, so a name is
 * compared, logged, resolved and dialled in one spelling only.
 *
 * Source: RFC 1123 2.1, RFC 5890 2.3.1 (A-labels), RFC 3986 3.2.2 (literals).
 * Pure: no allocation, no I/O, no state between calls.
 */
#ifndef WIRE_HOST_H
#define WIRE_HOST_H

#include "base/attr.h"
#include "base/ip.h"
#include "base/parse.h"
#include "base/slice.h"

#define HOST_MAX 253	  /* bytes of a name without its trailing dot */
#define HOST_LABEL_MAX 63 /* bytes of one label */
#define HOST_PUT_MAX 256  /* bytes that host_put() writes at most */

struct host {
	char text[HOST_MAX + 1]; /* lower case, no trailing dot, and a NUL */
	uint8_t n;		 /* bytes of text, 1..HOST_MAX */
	uint8_t n_labels;	 /* 0 for an address */
	bool is_ip;		 /* text is RFC 5952 or a dotted quad; see ip */
	bool has_underscore;	 /* such a name needs an exact rule */
	bool has_alabel;	 /* some label begins with xn--: likewise */
	struct ip ip;		 /* family 0 unless is_ip */
};

/*
 * The constructors.  Each reads all of its input and answers PARSE_DONE or
 * PARSE_BAD, never PARSE_MORE.  `host` is set on PARSE_DONE only, `fail` on
 * PARSE_BAD only; fail->at is an offset in the input.
 */

/*
 * From the host part of Host, of :authority or of an absolute target: one
 * trailing dot is tolerated, a dotted quad and an IPv6 address in brackets are
 * addresses.  Reason REASON_HTTP_MALFORMED.
 */
MUST_USE enum parse host_from_http(struct slice in, struct host *host,
    struct parse_fail *fail);

/*
 * From the server name of a ClientHello: no trailing dot, no address (RFC 6066
 * section 3).  Reason REASON_TLS_SNI_INVALID.
 */
MUST_USE enum parse host_from_sni(struct slice in, struct host *host,
    struct parse_fail *fail);

/*
 * From a DNS name as it stands on the wire, uncompressed: length bytes and
 * labels, up to and with the root's zero.  REASON_DNS_MALFORMED where a byte
 * stands that no host name has, REASON_DNS_DENIED where the name is well
 * formed but no rule can name it (one label, a number, an odd hyphen).
 */
MUST_USE enum parse host_from_dns(struct slice in, struct host *host,
    struct parse_fail *fail);

/*
 * From policy text: A-labels, no trailing dot, addresses as they are printed,
 * IPv6 in brackets; upper case is folded.  The reason is of no meaning there.
 */
MUST_USE enum parse host_from_policy(struct slice in, struct host *host,
    struct parse_fail *fail);

/*
 * As host_from_policy, for what stands behind the wildcard and its dot in a
 * host pattern: one label is enough, and no address.
 */
MUST_USE enum parse host_from_suffix(struct slice in, struct host *host,
    struct parse_fail *fail);

/* From an address, for leaves and records. */
void host_from_ip(const struct ip *ip, struct host *host);

bool host_eq(const struct host *a, const struct host *b);

/*
 * True if the last label is a number as some resolver reads one: decimal,
 * octal, or 0x and hex digits.  Such text is never a name.
 */
bool host_ends_in_number(struct slice text);

/*
 * Write the host as it stands in a Host field or a URL, IPv6 in brackets.
 * Returns the bytes written, at most HOST_PUT_MAX; no NUL.
 */
size_t host_put(const struct host *host, uint8_t out[HOST_PUT_MAX]);

static inline struct slice
host_slice(const struct host *host)
{
	return slice_of(host->text, host->n);
}

#endif
