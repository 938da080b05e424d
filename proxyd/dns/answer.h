/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to a question of a sandbox: a function of question and program.
 *
 * An allowed name has the synthetic address of its host pattern (A); there is
 * no IPv6 in a sandbox yet, so AAAA of an allowed name has no data.  A refused
 * name has the refusal address, where the connection is explained, or does not
 * exist, if the owner wants that (RFC 8020: of no type).  Other types have no
 * data.  Nothing is asked of anybody, and nothing is remembered.
 *
 * Source: RFC 1035 4; RFC 2308 2.2 (no data); RFC 6891 6.1.3 (BADVERS).
 * Pure but for the clock.
 */
#ifndef DNS_ANSWER_H
#define DNS_ANSWER_H

#include "base/slice.h"
#include "base/wr.h"
#include "policy/facts.h"
#include "policy/program.h"
#include "wire/host.h"

/* What was decided; facts.host points in here, so it is not to be copied. */
struct dns_said {
	enum reason reason; /* ALLOW, DNS_DENIED, DNS_MALFORMED, DNS_QTYPE */
	const char *detail; /* a literal, for people; empty if there is none */
	struct facts facts; /* FACTS_NAME */
	struct verdict verdict;
	char name[HOST_MAX + 1]; /* bytes that no host name has are `?` here */
};

/*
 * Answer one message.
 *
 * msg	 a datagram, or one message of a stream
 * w	 the answer is appended, at most DNS_ANSWER_MAX bytes; nothing, if
 *	 nothing is to be said (an answer, less than a header)
 */
void dns_answer(const struct program *p, struct slice msg, struct wr *w,
    struct dns_said *said);

/* What is said of a question that was refused before it was read. */
void dns_refuse(const struct program *p, enum reason reason, const char *detail,
    struct dns_said *said);

#endif
