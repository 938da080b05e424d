/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>

#include "base/attr.h"
#include "nft/ruleset.h"

#define PORT_DNS 53

static void
add(struct ruleset *set, const struct gate *gate, const struct rule *rule)
{
	if (rule->act == ACT_LOG && !gate->log)
		return;
	assert(set->n < RULESET_RULES_MAX);
	set->rule[set->n++] = *rule;
}

static void
add_all(struct ruleset *set, const struct gate *gate, const struct rule *rows,
    size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(set, gate, &rows[i]);
}

/* Count it, log it, end it. */
static void
end(struct ruleset *set, const struct gate *gate, const struct rule *what,
    enum ruleset_counter counter, enum act act)
{
	struct rule rule = *what;

	rule.act = ACT_COUNT;
	rule.value = (uint16_t)counter;
	add(set, gate, &rule);
	rule.act = ACT_LOG;
	rule.value = 0;
	add(set, gate, &rule);
	rule.act = act;
	add(set, gate, &rule);
}

static bool
has_ipv6(const struct gate *gate)
{
	for (size_t i = 0; i < gate->n_addresses; i++)
		if (gate->address[i].v6)
			return true;
	return false;
}

/* What cannot come from a sandbox of good faith. */
static void
early_wrong(struct ruleset *set, const struct gate *gate)
{
	/* clang-format off */
	static const struct {
		struct rule rule;
		enum ruleset_counter counter;
	} rows[] = {
		{ { CHAIN_EARLY, { { MATCH_IP4, 0 }, { MATCH_OPTIONS, 0 } }, ACT_DROP, 0 }, COUNTER_OTHER },
		{ { CHAIN_EARLY, { { MATCH_IP4, 0 }, { MATCH_FRAGMENT, 0 } }, ACT_DROP, 0 }, COUNTER_OTHER },
		{ { CHAIN_EARLY, { { MATCH_IP4, 0 }, { MATCH_FROM_LOOP, 0 } }, ACT_DROP, 0 }, COUNTER_SPOOF },
		{ { CHAIN_EARLY, { { MATCH_IP6, 0 }, { MATCH_FROM_LOOP6, 0 } }, ACT_DROP, 0 }, COUNTER_SPOOF },
	};
	/* clang-format on */
	struct rule other = { CHAIN_EARLY, { { MATCH_OTHER_LINK, gate->link } },
		ACT_DROP, 0 };
	struct rule ipv6 = { CHAIN_EARLY, { { MATCH_IP6, 0 } }, ACT_DROP, 0 };
	struct rule from = { .chain = CHAIN_EARLY };

	end(set, gate, &other, COUNTER_OTHER, ACT_DROP);
	if (!has_ipv6(gate))
		end(set, gate, &ipv6, COUNTER_IPV6, ACT_DROP);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		end(set, gate, &rows[i].rule, rows[i].counter, ACT_DROP);
	for (uint32_t i = 0; i < gate->n_addresses; i++) {
		bool v4 = !gate->address[i].v6;
		from.match[0].kind = v4 ? MATCH_IP4 : MATCH_IP6;
		from.match[1] = (struct match){ MATCH_FROM, i };
		end(set, gate, &from, COUNTER_SPOOF, ACT_DROP);
	}
}

/* What may go on from there, and what becomes of the rest. */
static void
early_known(struct ruleset *set, const struct gate *gate)
{
	/* clang-format off */
	static const struct rule rows[] = {
		{ CHAIN_EARLY, { { MATCH_END, 0 } }, ACT_UNMARK, 0 },
		{ CHAIN_EARLY, { { MATCH_IP4, 0 }, { MATCH_PROTO, IPPROTO_TCP } }, ACT_ACCEPT, 0 },
		{ CHAIN_EARLY, { { MATCH_IP4, 0 }, { MATCH_PROTO, IPPROTO_UDP }, { MATCH_PORT, PORT_DNS } }, ACT_ACCEPT, 0 },
		/* An extension header may say where to go next, RFC 5095. */
		{ CHAIN_EARLY, { { MATCH_IP6, 0 }, { MATCH_NEXT, IPPROTO_TCP } }, ACT_ACCEPT, 0 },
		{ CHAIN_EARLY, { { MATCH_IP6, 0 }, { MATCH_NEXT, IPPROTO_UDP }, { MATCH_PORT, PORT_DNS } }, ACT_ACCEPT, 0 },
		{ CHAIN_EARLY, { { MATCH_IP6, 0 }, { MATCH_NEXT, IPPROTO_ICMPV6 }, { MATCH_ICMP6, ND_NEIGHBOR_SOLICIT } }, ACT_ACCEPT, 0 },
		{ CHAIN_EARLY, { { MATCH_IP6, 0 }, { MATCH_NEXT, IPPROTO_ICMPV6 }, { MATCH_ICMP6, ND_NEIGHBOR_ADVERT } }, ACT_ACCEPT, 0 },
	};
	static const struct rule udp = { CHAIN_EARLY, { { MATCH_PROTO, IPPROTO_UDP } }, ACT_DROP, 0 };
	static const struct rule icmp = { CHAIN_EARLY, { { MATCH_PROTO, IPPROTO_ICMP } }, ACT_DROP, 0 };
	static const struct rule icmp6 = { CHAIN_EARLY, { { MATCH_PROTO, IPPROTO_ICMPV6 } }, ACT_DROP, 0 };
	static const struct rule rest = { CHAIN_EARLY, { { MATCH_END, 0 } }, ACT_DROP, 0 };
	/* clang-format on */

	add_all(set, gate, rows, COUNT_OF(rows));
	/* Told at once: a client of QUIC falls back to TCP. */
	end(set, gate, &udp, COUNTER_UDP, ACT_REJECT);
	end(set, gate, &icmp, COUNTER_ICMP, ACT_DROP);
	end(set, gate, &icmp6, COUNTER_ICMP, ACT_DROP);
	end(set, gate, &rest, COUNTER_OTHER, ACT_DROP);
}

/* Turned to us, and in by no other way. */
static void
turned(struct ruleset *set, const struct gate *gate)
{
	const uint32_t tcp = gate->tcp_port, dns = gate->dns_port;
	/* clang-format off */
	const struct rule over = { CHAIN_LIMIT, { { MATCH_OVER, gate->flows_max } }, ACT_COUNT_DROP, COUNTER_FLOWS };
	const struct rule rows[] = {
		{ CHAIN_TURN, { { MATCH_PROTO, IPPROTO_UDP }, { MATCH_PORT, PORT_DNS } }, ACT_REDIRECT, gate->dns_port },
		{ CHAIN_TURN, { { MATCH_PROTO, IPPROTO_TCP }, { MATCH_PORT, PORT_DNS } }, ACT_REDIRECT, gate->dns_port },
		{ CHAIN_TURN, { { MATCH_PROTO, IPPROTO_TCP } }, ACT_REDIRECT, gate->tcp_port },

		{ CHAIN_INPUT, { { MATCH_LINK, gate->link }, { MATCH_IP4, 0 }, { MATCH_PROTO, IPPROTO_TCP }, { MATCH_PORT, tcp } }, ACT_COUNT, COUNTER_ARRIVED4 },
		{ CHAIN_INPUT, { { MATCH_LINK, gate->link }, { MATCH_IP6, 0 }, { MATCH_PROTO, IPPROTO_TCP }, { MATCH_PORT, tcp } }, ACT_COUNT, COUNTER_ARRIVED6 },
		{ CHAIN_INPUT, { { MATCH_LINK, gate->link }, { MATCH_PROTO, IPPROTO_TCP }, { MATCH_PORT, tcp } }, ACT_ACCEPT, 0 },
		{ CHAIN_INPUT, { { MATCH_LINK, gate->link }, { MATCH_PROTO, IPPROTO_TCP }, { MATCH_PORT, dns } }, ACT_ACCEPT, 0 },
		{ CHAIN_INPUT, { { MATCH_LINK, gate->link }, { MATCH_PROTO, IPPROTO_UDP }, { MATCH_PORT, dns } }, ACT_ACCEPT, 0 },
		{ CHAIN_INPUT, { { MATCH_LINK, gate->link }, { MATCH_ICMP6, ND_NEIGHBOR_SOLICIT } }, ACT_ACCEPT, 0 },
		{ CHAIN_INPUT, { { MATCH_LINK, gate->link }, { MATCH_ICMP6, ND_NEIGHBOR_ADVERT } }, ACT_ACCEPT, 0 },
	};
	static const struct rule in = { CHAIN_INPUT, { { MATCH_END, 0 } }, ACT_DROP, 0 };
	static const struct rule through = { CHAIN_FORWARD, { { MATCH_END, 0 } }, ACT_DROP, 0 };
	/* clang-format on */

	add(set, gate, &over);
	add_all(set, gate, rows, COUNT_OF(rows));
	end(set, gate, &in, COUNTER_OTHER, ACT_DROP);
	end(set, gate, &through, COUNTER_OTHER, ACT_DROP);
}

void
ruleset_gate(struct ruleset *set, const struct gate *gate)
{
	*set = (struct ruleset){ .chains = 1u << CHAIN_EARLY |
		    1u << CHAIN_LIMIT | 1u << CHAIN_TURN | 1u << CHAIN_INPUT |
		    1u << CHAIN_FORWARD,
		.counters = (1u << COUNTER_COUNT) - 1 };
	memcpy(set->address, gate->address, sizeof(set->address));
	early_wrong(set, gate);
	early_known(set, gate);
	turned(set, gate);
}
