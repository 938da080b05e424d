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
#define RULESET_MATCHES_MAX 4
#define RULESET_RULES_MAX 128
#define RULESET_ADDRESSES_MAX 16 /* as CONTROL_ADDRESSES_MAX, priv/control.h */

enum match_kind {
	MATCH_END,     /* no more matches in this rule */
	MATCH_PROTO,   /* the transport protocol is `value` */
	MATCH_PORT,    /* the destination port is `value` */
	MATCH_ICMP,    /* ICMP over IPv4, of type `value` */
	MATCH_ICMP6,   /* ICMP over IPv6, of type `value` */
	MATCH_LOOP4,   /* to 127.0.0.0/8 */
	MATCH_LOOP6,   /* to ::1 */
	MATCH_ANSWERS, /* of, or about, a flow that was let through before */
	MATCH_IP4,
	MATCH_IP6,
	MATCH_NEXT,	  /* IPv6 without extensions, then protocol `value` */
	MATCH_LINK,	  /* came in over the link of index `value` */
	MATCH_OTHER_LINK, /* came in over another */
	MATCH_OPTIONS,	  /* IPv4 with options */
	MATCH_FRAGMENT,	  /* of IPv4, not put together before the rules */
	MATCH_FROM,	  /* from address number `value` of the ruleset */
	MATCH_FROM_LOOP,  /* from 127.0.0.0/8 */
	MATCH_FROM_LOOP6, /* from ::1 */
	MATCH_OVER, /* begins a flow, with `value` of them there already */
	MATCH_KINDS
};

struct match {
	enum match_kind kind;
	uint32_t value;
};

enum act {
	ACT_ACCEPT,
	ACT_DROP,
	ACT_REDIRECT,	/* to loopback, port `value` */
	ACT_COUNT,	/* by counter `value`, then on to the next rule */
	ACT_LOG,	/* to the NFLOG group, at a limited rate, then on */
	ACT_REJECT,	/* dropped, and told that nobody is at that port */
	ACT_COUNT_DROP, /* by counter `value`, in one rule: its match counts */
	ACT_UNMARK,	/* take its mark off, then on */
};

enum ruleset_chain {
	CHAIN_NAT,     /* nat, output: where a new flow goes */
	CHAIN_FILTER,  /* filter, output: what is counted and dropped */
	CHAIN_EARLY,   /* filter, prerouting, first of all; drops */
	CHAIN_LIMIT,   /* filter, prerouting, behind connection tracking */
	CHAIN_TURN,    /* nat, prerouting: where a new flow goes */
	CHAIN_INPUT,   /* filter, input; drops */
	CHAIN_FORWARD, /* filter, forward; drops */
	CHAIN_COUNT
};

enum ruleset_counter {
	COUNTER_UDP,
	COUNTER_ICMP,
	COUNTER_OTHER,
	COUNTER_SPOOF,	  /* from an address that cannot be the sandbox's */
	COUNTER_IPV6,	  /* IPv6 of a sandbox that has none */
	COUNTER_FLOWS,	  /* beyond what a sandbox may have at once */
	COUNTER_ARRIVED4, /* TCP over IPv4 that came to our listener */
	COUNTER_ARRIVED6,
	COUNTER_COUNT
};
#define COUNTER_ALWAYS COUNTER_SPOOF /* every ruleset has those before it */

struct rule {
	enum ruleset_chain chain;
	struct match match[RULESET_MATCHES_MAX]; /* all of them must match */
	enum act act;
	uint16_t value; /* port, or enum ruleset_counter */
};

/* base/ip.h would bring netinet/in.h, which clashes with linux/netfilter.h. */
struct ruleset_address {
	bool v6;
	uint8_t bytes[16]; /* network order; the first 4 for IPv4 */
};

struct ruleset {
	uint32_t chains, counters; /* sets of 1 << enum: which it has */
	struct ruleset_address address[RULESET_ADDRESSES_MAX];
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

/* A gate: the sandbox is behind a link that ends here. */
struct gate {
	uint32_t link; /* index */
	uint16_t tcp_port, dns_port;
	uint32_t flows_max; /* that connection tracking knows of at once */
	struct ruleset_address
	    address[RULESET_ADDRESSES_MAX]; /* the link's own */
	size_t n_addresses;
	bool log;
};

/*
 * netns mode, gate: TCP and port 53 from the link to us, and nothing else in,
 * nothing forwarded.  IPv6 only where an address of it is among the link's.
 */
void ruleset_gate(struct ruleset *set, const struct gate *gate);

/* The counter's name in the kernel and in the answer to the monitor. */
const char *ruleset_counter_name(enum ruleset_counter counter);

#endif
