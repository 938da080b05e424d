/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision.  Pure: the same program and facts give the same verdict, in
 * the worker, the dialer, `explain`, `audit replay` and every test.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "policy/facts.h"
#include "policy/program.h"
#include "policy/verdict.h"

/*
 * Decide.
 *
 * First match wins, top to bottom; the end is deny.  Order of checks:
 * facts->fault, the destination (dst.*, tls.*), that all names are one name
 * (http.host_mismatch), placeholders (cred.misplaced, cred.foreign), the rules,
 * and for the rule that allows: plaintext (cred.plaintext), the client's own
 * credentials (cred.client_auth), Range on a route with a credential
 * (http.header).
 *
 * FACTS_NAME    allow: some rule could allow this name; else dns.denied, or
 *               dns.qtype for a type other than A and AAAA of an allowed name
 * FACTS_CONNECT allow: some rule could allow a request on this connection;
 *               without SNI and without a name (plain HTTP) only dst and port
 *               are judged.  allow.pass, allow.tcp: all of it passes unread,
 *               by the rule that the verdict names
 * FACTS_REQUEST the whole
 * FACTS_PUSH    the whole, and each command of the push: the first rule that
 *               grants pushes to the repository decides about all of them
 * FACTS_COMMAND the same about one command, for its record
 * FACTS_DIAL    allow: `rule` is an allow rule of host, port and scheme
 */
struct verdict policy_decide(const struct program *p, const struct facts *f);

/*
 * What a connection to that address and port is, before any byte of it: its
 * kind (policy/scheme.h), by the first rule for the name that the address
 * stands for and that port.  SCHEME_HTTPS: it is served, or refused.
 *
 * name	 set to that name, exact or a literal, or empty; lives as long as `p`
 */
enum scheme policy_kind(const struct program *p, const struct ip *dst,
    uint16_t port, struct slice *name);

/*
 * Do rules of git+https speak of the host pattern of that address?  On which
 * port does the first of them?
 */
bool policy_is_git(const struct program *p, const struct ip *dst,
    uint16_t *port);

/*
 * The host pattern, as it is written, that an address was given out for; empty:
 * none, or a name without a rule.  Lives as long as `p`.
 */
struct slice policy_destination(const struct program *p, const struct ip *dst);

/*
 * Does the value of this query key, as sent, count for some rule that speaks of
 * the host?  Records keep the values of such keys and of no others.
 */
bool policy_judges_value(const struct program *p, struct slice host,
    struct slice key);

/*
 * Could a rule allow a WebSocket to that host and port, expired or not?  Where
 * none could, HTTP/2 offers none (RFC 8441 3).
 */
bool policy_may_upgrade(const struct program *p, struct slice host,
    uint16_t port);

/*
 * The one line that tells people which rule was missing, for 403 bodies and
 * `explain`: such as "no rule allows DELETE on api.test/repos; nearest: rule
 * `issues` (policy.yaml:7) allows GET, HEAD".  Written to `out`, cut at `max`.
 * Shows only this program's own rules, nothing of credentials but names.
 */
struct buf;
void policy_explain(const struct program *p, const struct facts *f,
    const struct verdict *v, struct buf *out);

/*
 * For `duenna explain`: what rule `rule` stumbles over with a request, such as
 * "path"; "time" if it would match and has expired; NULL if it matches.
 */
const char *policy_stumble(const struct program *p, const struct facts *f,
    uint32_t rule);

#endif
