/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closed list of reasons: why something was allowed or refused.  Every
 * audit record has exactly one.  A new refusal adds its row here and in
 * docs/audit.md in the same change; a test compares the two.
 *
 * A row: enum member, name in the log, HTTP status of our own answer (0: no
 * answer of ours carries it), meaning.
 */
#ifndef BASE_REASON_H
#define BASE_REASON_H

#include <stdbool.h>

#include "base/slice.h"

/* clang-format off */
#define REASON_LIST(X)                                                         \
	X(ALLOW, "allow", 0, "allowed by a rule; the record names it")         \
	X(ALLOW_PASS, "allow.pass", 0, "allowed by a tls:// rule, unread")     \
	X(ALLOW_TCP, "allow.tcp", 0, "allowed by a tcp:// rule, unread")       \
	X(DENY_RULE, "deny.rule", 403, "an explicit deny rule matched first")  \
	X(L3_PROTO, "l3.proto", 0, "packet that is neither TCP to duenna nor DNS to the answerer") \
	X(L3_SPOOF, "l3.spoof", 0, "source address or MAC does not fit the ingress interface") \
	X(L3_LINK, "l3.link", 0, "the sandbox's link is not, or no longer, what was attached") \
	X(L3_IPV6, "l3.ipv6", 0, "IPv6 from a sandbox that was given none")    \
	X(DST_PORT, "dst.port", 403, "port without a rule for this name")      \
	X(DST_UNMAPPED_IP, "dst.unmapped_ip", 403, "destination was not handed out to this sandbox, and no rule names it") \
	X(DST_PRIVATE, "dst.private", 403, "a rule names this literal, but it must not be dialled") \
	X(DST_SELF, "dst.self", 403, "destination is duenna or the host itself") \
	X(DNS_DENIED, "dns.denied", 0, "name without a rule")                  \
	X(DNS_MALFORMED, "dns.malformed", 0, "message that the DNS parser refuses") \
	X(DNS_QTYPE, "dns.qtype", 0, "allowed name, but another type than A or AAAA") \
	X(TLS_NOT_TLS, "tls.not_tls", 0, "first bytes are not a TLS handshake") \
	X(TLS_NO_SNI, "tls.no_sni", 0, "ClientHello without a server name")    \
	X(TLS_SNI_INVALID, "tls.sni_invalid", 0, "server name that is not a canonical name") \
	X(TLS_SNI_DENIED, "tls.sni_denied", 403, "server name without a rule") \
	X(TLS_DST_MISMATCH, "tls.dst_mismatch", 403, "server name does not belong to the host pattern of the address") \
	X(TLS_VERSION, "tls.version", 0, "protocol version, suites or ALPN that are not served") \
	X(TLS_HELLO_SIZE, "tls.hello_size", 0, "ClientHello above the size limit") \
	X(TLS_HELLO_TIMEOUT, "tls.hello_timeout", 0, "first bytes or ClientHello not complete at the deadline") \
	X(TLS_ECH, "tls.ech", 0, "encrypted ClientHello offered: noted beside the verdict") \
	X(HTTP_MALFORMED, "http.malformed", 400, "request or field that the HTTP grammar refuses") \
	X(HTTP_FRAMING, "http.framing", 400, "length or chunk that is ambiguous or wrong") \
	X(HTTP_HOST_MISMATCH, "http.host_mismatch", 421, "Host differs from the connection's name or port") \
	X(HTTP_HOST_DENIED, "http.host_denied", 403, "well-formed host without a rule") \
	X(HTTP_TARGET_FORM, "http.target_form", 400, "form of the request target that is not served") \
	X(HTTP_PATH_INVALID, "http.path_invalid", 400, "path that has no canonical form") \
	X(HTTP_PATH_DENIED, "http.path_denied", 403, "no rule allows this path") \
	X(HTTP_METHOD_DENIED, "http.method_denied", 403, "no rule allows this method here") \
	X(HTTP_QUERY_DENIED, "http.query_denied", 403, "no rule allows these query keys or values here") \
	X(HTTP_BODY_DENIED, "http.body_denied", 403, "no rule allows this body, or it cannot be read") \
	X(HTTP_UPGRADE, "http.upgrade", 403, "protocol upgrade or scheme without a rule") \
	X(HTTP_CONNECT, "http.connect", 400, "CONNECT where it does not belong") \
	X(HTTP_HEADER, "http.header", 400, "header that must not be there")    \
	X(PROXY_PROTOCOL, "proxy.protocol", 400, "what came to a proxy is neither HTTP nor SOCKS5, or a command that is not served") \
	X(PROXY_AUTH, "proxy.auth", 407, "a proxy's client did not show its token") \
	X(H2_PROTOCOL, "h2.protocol", 0, "HTTP/2 protocol error")              \
	X(H2_ABUSE, "h2.abuse", 0, "HTTP/2 frame or reset budget used up")     \
	X(CRED_MISPLACED, "cred.misplaced", 403, "placeholder in another place than its slot") \
	X(CRED_FOREIGN, "cred.foreign", 403, "placeholder of another sandbox, or unknown") \
	X(CRED_PLAINTEXT, "cred.plaintext", 403, "token would go over plain HTTP: withheld") \
	X(CRED_CLIENT_AUTH, "cred.client_auth", 403, "client's own credential in a known slot") \
	X(CRED_UNAVAILABLE, "cred.unavailable", 503, "the credential could not be read, released or attached, or a git server did not take it") \
	X(CRED_ECHO, "cred.echo", 403, "the origin sent a token back: masked or cut, alarm") \
	X(CRED_LEAK, "cred.leak", 403, "a known secret was on its way out in the wrong place") \
	X(UP_RESOLVE, "up.resolve", 504, "the name could not be resolved")     \
	X(UP_PRIVATE, "up.private", 502, "the name resolved to an address that must not be dialled") \
	X(UP_CONNECT, "up.connect", 502, "the origin could not be reached")    \
	X(UP_CERT, "up.cert", 502, "TLS to the origin failed or its certificate does not fit") \
	X(UP_RESPONSE, "up.response", 502, "response that is malformed, cut or ambiguous") \
	X(GIT_MALFORMED, "git.malformed", 400, "pkt-line or command list that the grammar refuses") \
	X(GIT_REPO, "git.repo", 403, "repository without a rule")              \
	X(GIT_SERVICE, "git.service", 403, "service not granted for the repository") \
	X(GIT_REF, "git.ref", 403, "ref without a rule, or outside the charset") \
	X(GIT_UPDATE, "git.update", 403, "kind of change not granted for the ref") \
	X(GIT_PACK, "git.pack", 403, "pack breaks a content rule or is not one clean pack") \
	X(GIT_API, "git.api", 403, "REST or GraphQL way to a repository that has a git rule") \
	X(LIMIT_CONNS, "limit.conns", 429, "too many connections, streams or dials") \
	X(LIMIT_RATE, "limit.rate", 429, "too many per time")                  \
	X(LIMIT_BYTES, "limit.bytes", 413, "too large (414 target, 431 head)") \
	X(LIMIT_TIME, "limit.time", 504, "too slow (408 towards a slow client)") \
	X(POLICY_NONE, "policy.none", 503, "no policy for this sandbox")       \
	X(POLICY_CHANGED, "policy.changed", 403, "ended because a newer policy no longer allows it") \
	X(AUDIT_FULL, "audit.full", 503, "not allowed because it could not be recorded") \
	X(CLIENT_ABORT, "client.abort", 0, "the sandbox ended it before a verdict or before completion") \
	X(SHUTDOWN, "shutdown", 503, "duenna is stopping, or a role is being restarted") \
	X(INTERNAL, "internal", 503, "fault inside duenna; treated as denied")
/* clang-format on */

enum reason {
#define X(id, name, status, meaning) REASON_##id,
	REASON_LIST(X)
#undef X
	REASON_COUNT
};

/* The name in the log, such as "http.method_denied". */
const char *reason_name(enum reason r);

/* One sentence for people. */
const char *reason_meaning(enum reason r);

/* Status of our own HTTP answer; 0 if no answer of ours carries it. */
unsigned reason_status(enum reason r);

/* True for the three that allow. */
bool reason_is_allow(enum reason r);

/* The reason of that name, or REASON_COUNT. */
enum reason reason_find(struct slice name);

#endif
