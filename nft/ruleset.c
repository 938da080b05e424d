/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>

#include "base/attr.h"
#include "nft/ruleset.h"

#define PORT_DNS 53

const char *
ruleset_counter_name(enum ruleset_counter counter)
{
	static const char *const names[COUNTER_COUNT] = {
		[COUNTER_UDP] = "udp",
		[COUNTER_ICMP] = "icmp",
		[COUNTER_OTHER] = "other",
		[COUNTER_SPOOF] = "spoof",
		[COUNTER_IPV6] = "ipv6",
		[COUNTER_FLOWS] = "flows",
		[COUNTER_ARRIVED4] = "arrived4",
		[COUNTER_ARRIVED6] = "arrived6",
	};

	return names[counter];
}

void
ruleset_netns_empty(struct ruleset *set, uint16_t tcp_port, uint16_t dns_port,
    bool log)
{
	/* clang-format off */
	const struct rule rows[] = {
		/* Port 53 comes first: a resolver on 127.0.0.53 is ours too. */
		{ CHAIN_NAT, { { MATCH_PROTO, IPPROTO_UDP }, { MATCH_PORT, PORT_DNS } }, ACT_REDIRECT, dns_port },
		{ CHAIN_NAT, { { MATCH_PROTO, IPPROTO_TCP }, { MATCH_PORT, PORT_DNS } }, ACT_REDIRECT, dns_port },
		{ CHAIN_NAT, { { MATCH_LOOP4, 0 } }, ACT_ACCEPT, 0 },
		{ CHAIN_NAT, { { MATCH_LOOP6, 0 } }, ACT_ACCEPT, 0 },
		{ CHAIN_NAT, { { MATCH_PROTO, IPPROTO_TCP } }, ACT_REDIRECT, tcp_port },

		/* Redirected packets are on their way to loopback by now. */
		{ CHAIN_FILTER, { { MATCH_ANSWERS, 0 } }, ACT_ACCEPT, 0 },
		{ CHAIN_FILTER, { { MATCH_LOOP4, 0 } }, ACT_ACCEPT, 0 },
		{ CHAIN_FILTER, { { MATCH_LOOP6, 0 } }, ACT_ACCEPT, 0 },
		{ CHAIN_FILTER, { { MATCH_PROTO, IPPROTO_TCP } }, ACT_ACCEPT, 0 },
		/* No drop here: the loop answers that the port is closed, and
		 * a client of QUIC gives up at once. */
		{ CHAIN_FILTER, { { MATCH_PROTO, IPPROTO_UDP } }, ACT_COUNT, COUNTER_UDP },
		{ CHAIN_FILTER, { { MATCH_PROTO, IPPROTO_UDP } }, ACT_LOG, 0 },
		{ CHAIN_FILTER, { { MATCH_PROTO, IPPROTO_UDP } }, ACT_ACCEPT, 0 },
		/* Dropped, else every address would seem to answer. */
		{ CHAIN_FILTER, { { MATCH_ICMP, ICMP_ECHO } }, ACT_COUNT, COUNTER_ICMP },
		{ CHAIN_FILTER, { { MATCH_ICMP, ICMP_ECHO } }, ACT_LOG, 0 },
		{ CHAIN_FILTER, { { MATCH_ICMP, ICMP_ECHO } }, ACT_DROP, 0 },
		{ CHAIN_FILTER, { { MATCH_ICMP6, ICMP6_ECHO_REQUEST } }, ACT_COUNT, COUNTER_ICMP },
		{ CHAIN_FILTER, { { MATCH_ICMP6, ICMP6_ECHO_REQUEST } }, ACT_LOG, 0 },
		{ CHAIN_FILTER, { { MATCH_ICMP6, ICMP6_ECHO_REQUEST } }, ACT_DROP, 0 },
		/* The kernel's own messages about the above. */
		{ CHAIN_FILTER, { { MATCH_PROTO, IPPROTO_ICMP } }, ACT_ACCEPT, 0 },
		{ CHAIN_FILTER, { { MATCH_PROTO, IPPROTO_ICMPV6 } }, ACT_ACCEPT, 0 },
		{ CHAIN_FILTER, { { MATCH_END, 0 } }, ACT_COUNT, COUNTER_OTHER },
		{ CHAIN_FILTER, { { MATCH_END, 0 } }, ACT_LOG, 0 },
		{ CHAIN_FILTER, { { MATCH_END, 0 } }, ACT_DROP, 0 },
	};
	/* clang-format on */
	_Static_assert(COUNT_OF(rows) <= RULESET_RULES_MAX, "room for all");

	*set = (struct ruleset){ .chains = 1u << CHAIN_NAT | 1u << CHAIN_FILTER,
		.counters = (1u << COUNTER_ALWAYS) - 1 };
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (log || rows[i].act != ACT_LOG)
			set->rule[set->n++] = rows[i];
}
