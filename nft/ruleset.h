/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What we want in the kernel, as plain values: chains, counters, and rules
 * that are a few matches and an action.
 * Pure.
 */
#ifndef NFT_RULESET_H
#define NFT_RULESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULESET_TABLE "duenna"
#define RULESET_LOG_GROUP 100 /* NFLOG group of packets that were not ours */
#define RULESET_LOG_PER_S 20  /* logged packets a second, the rest counted */
#define RULESET_LOG_BURST 50  /* of the above */
#define RULESET_LOG_BYTES 128 /* of a logged packet: headers, no content */
#define RULESET_MATCHES_MAX 3
#define RULESET_RULES_MAX 24

enum match_kind {
	MATCH_END,     /* no more matches in this rule */
	MATCH_PROTO,   /* the transport protocol is `value` */
	MATCH_PORT,    /* the destination port is `value` */
	MATCH_ICMP,    /* ICMP over IPv4, of type `value` */
	MATCH_ICMP6,   /* ICMP over IPv6, of type `value` */
	MATCH_LOOP4,   /* to 127.0.0.0/8 */
	MATCH_LOOP6,   /* to ::1 */
	MATCH_ANSWERS, /* of, or about, a flow that was let through before */
};

struct match {
	enum match_kind kind;
	uint16_t value;
};

enum act {
	ACT_ACCEPT,
	ACT_DROP,
	ACT_REDIRECT, /* to loopback, port `value` */
	ACT_COUNT,    /* by counter `value`, then on to the next rule */
	ACT_LOG,      /* to the NFLOG group, at a limited rate, then on */
};

enum ruleset_chain {
	CHAIN_NAT,    /* nat, output: where a new flow goes */
	CHAIN_FILTER, /* filter, output: what is counted and dropped */
	CHAIN_COUNT
};

enum ruleset_counter {
	COUNTER_UDP,
	COUNTER_ICMP,
	COUNTER_OTHER,
	COUNTER_COUNT
};

struct rule {
	enum ruleset_chain chain;
	struct match match[RULESET_MATCHES_MAX]; /* all of them must match */
	enum act act;
	uint16_t value; /* port, or enum ruleset_counter */
};

struct ruleset {
	struct rule rule[RULESET_RULES_MAX];
	size_t n;
};

/*
 * netns mode, empty: every TCP port to `tcp_port`, port 53 to `dns_port`.
 *
 * log  whether the kernel has NFLOG
 */
void ruleset_netns_empty(struct ruleset *set, uint16_t tcp_port,
    uint16_t dns_port, bool log);

/* The counter's name in the kernel and in the answer to the monitor. */
const char *ruleset_counter_name(enum ruleset_counter counter);

#endif
