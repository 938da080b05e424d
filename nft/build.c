/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>

#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/object.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>

#include "nft/build.h"
#include "nft/expr.h"

/* Where our chains stand among the kernel's own (linux/netfilter_ipv4.h). */
#define PRIORITY_RAW (-300)    /* before connection tracking */
#define PRIORITY_MANGLE (-150) /* behind it */
#define PRIORITY_NAT (-100)    /* NF_IP_PRI_NAT_DST, where redirect belongs */
#define PRIORITY_FILTER 0

/* Where fields stand in packets. */
#define PORT_AT 2      /* destination port, TCP and UDP */
#define IP4_HEAD 0     /* RFC 791 3.1: version, length of the head, ... */
#define IP4_FRAGMENT 4 /* identification, flags, offset */
#define IP4_SOURCE 12
#define IP4_DESTINATION 16
#define IP6_NEXT 6 /* RFC 8200 3 */
#define IP6_SOURCE 8
#define IP6_DESTINATION 24

/* clang-format off */
static const struct {
	const char *name, *type;
	uint32_t hook;
	int32_t priority;
	uint32_t policy;
} chains[CHAIN_COUNT] = {
	[CHAIN_NAT] = { "nat", "nat", NF_INET_LOCAL_OUT, PRIORITY_NAT, NF_ACCEPT },
	[CHAIN_FILTER] = { "filter", "filter", NF_INET_LOCAL_OUT, PRIORITY_FILTER, NF_ACCEPT },
	[CHAIN_EARLY] = { "early", "filter", NF_INET_PRE_ROUTING, PRIORITY_RAW, NF_DROP },
	[CHAIN_LIMIT] = { "limit", "filter", NF_INET_PRE_ROUTING, PRIORITY_MANGLE, NF_ACCEPT },
	[CHAIN_TURN] = { "turn", "nat", NF_INET_PRE_ROUTING, PRIORITY_NAT, NF_ACCEPT },
	[CHAIN_INPUT] = { "input", "filter", NF_INET_LOCAL_IN, PRIORITY_FILTER, NF_DROP },
	[CHAIN_FORWARD] = { "forward", "filter", NF_INET_FORWARD, PRIORITY_FILTER, NF_DROP },
};
/* clang-format on */

/* Room for one message; a rule of ours has some hundreds of bytes. */
#define MESSAGE_MAX 1024

/* The next message's header, in place; NULL if there may be no room. */
static struct nlmsghdr *
begin(struct batch *b, uint16_t type, uint16_t flags)
{
	if (b->n + MESSAGE_MAX > sizeof(b->bytes))
		return NULL;
	return nftnl_nlmsg_build_hdr(b->bytes + b->n, type, NFPROTO_INET,
	    flags | NLM_F_ACK, b->seq);
}

static void
end(struct batch *b, const struct nlmsghdr *head)
{
	b->n += NLMSG_ALIGN(head->nlmsg_len);
	b->seq++;
}

static int
put_table(struct batch *b, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *head = begin(b, type, flags);
	struct nftnl_table *t = nftnl_table_alloc();

	if (t == NULL)
		abort();
	nftnl_table_set_str(t, NFTNL_TABLE_NAME, RULESET_TABLE);
	if (head != NULL) {
		nftnl_table_nlmsg_build_payload(head, t);
		end(b, head);
	}
	nftnl_table_free(t);
	return head == NULL ? -1 : 0;
}

static int
put_counter(struct batch *b, enum ruleset_counter counter)
{
	struct nlmsghdr *head = begin(b, NFT_MSG_NEWOBJ, NLM_F_CREATE);
	struct nftnl_obj *o = nftnl_obj_alloc();

	if (o == NULL)
		abort();
	nftnl_obj_set_str(o, NFTNL_OBJ_TABLE, RULESET_TABLE);
	nftnl_obj_set_str(o, NFTNL_OBJ_NAME, ruleset_counter_name(counter));
	nftnl_obj_set_u32(o, NFTNL_OBJ_TYPE, NFT_OBJECT_COUNTER);
	if (head != NULL) {
		nftnl_obj_nlmsg_build_payload(head, o);
		end(b, head);
	}
	nftnl_obj_free(o);
	return head == NULL ? -1 : 0;
}

static int
put_chain(struct batch *b, enum ruleset_chain chain)
{
	struct nlmsghdr *head = begin(b, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	struct nftnl_chain *c = nftnl_chain_alloc();

	if (c == NULL)
		abort();
	nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, RULESET_TABLE);
	nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, chains[chain].name);
	nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, chains[chain].type);
	nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, chains[chain].hook);
	nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, chains[chain].priority);
	nftnl_chain_set_u32(c, NFTNL_CHAIN_POLICY, chains[chain].policy);
	if (head != NULL) {
		nftnl_chain_nlmsg_build_payload(head, c);
		end(b, head);
	}
	nftnl_chain_free(c);
	return head == NULL ? -1 : 0;
}

/* One function a kind of match: what has to be so for the rule to go on. */

static void
is_proto(struct nftnl_rule *r, uint8_t proto)
{
	expr_meta(r, NFT_META_L4PROTO);
	expr_is(r, &proto, sizeof(proto));
}

static void
is_family(struct nftnl_rule *r, uint8_t family)
{
	expr_meta(r, NFT_META_NFPROTO);
	expr_is(r, &family, sizeof(family));
}

/* Bytes of the head at `at` are these. */
static void
is_in_head(struct nftnl_rule *r, uint32_t at, const void *bytes, uint32_t n)
{
	expr_payload(r, NFT_PAYLOAD_NETWORK_HEADER, at, n);
	expr_is(r, bytes, n);
}

/* Four bytes of the head, under a mask, are others than these. */
static void
is_not_in_head(struct nftnl_rule *r, uint32_t at, const uint8_t mask[4],
    const uint8_t bytes[4])
{
	expr_payload(r, NFT_PAYLOAD_NETWORK_HEADER, at, 4);
	expr_mask(r, mask);
	expr_is_not(r, bytes, 4);
}

/* The address at `at` is of 127.0.0.0/8, or ::1. */
static void
is_loop(struct nftnl_rule *r, bool v4, uint32_t at)
{
	static const uint8_t mask[4] = { 255, 0, 0, 0 };
	static const uint8_t net4[4] = { 127, 0, 0, 0 };
	static const uint8_t one6[16] = { [15] = 1 };

	if (!v4) {
		is_in_head(r, at, one6, sizeof(one6));
		return;
	}
	expr_payload(r, NFT_PAYLOAD_NETWORK_HEADER, at, sizeof(net4));
	expr_mask(r, mask);
	expr_is(r, net4, sizeof(net4));
}

static void
has_state(struct nftnl_rule *r, uint32_t states)
{
	static const uint32_t none = 0;

	expr_ct(r, NFT_CT_STATE);
	expr_mask(r, &states);
	expr_is_not(r, &none, sizeof(none));
}

#define MATCHER(name)                                                 \
	static void name(struct nftnl_rule *r, const struct match *m, \
	    const struct ruleset *set UNUSED)

MATCHER(match_end)
{
	(void)r;
	(void)m;
}

MATCHER(match_proto)
{
	is_proto(r, (uint8_t)m->value);
}

MATCHER(match_port)
{
	uint16_t port = htons((uint16_t)m->value);

	expr_payload(r, NFT_PAYLOAD_TRANSPORT_HEADER, PORT_AT, sizeof(port));
	expr_is(r, &port, sizeof(port));
}

MATCHER(match_icmp)
{
	uint8_t type = (uint8_t)m->value;

	is_proto(r, m->kind == MATCH_ICMP ? IPPROTO_ICMP : IPPROTO_ICMPV6);
	expr_payload(r, NFT_PAYLOAD_TRANSPORT_HEADER, 0, sizeof(type));
	expr_is(r, &type, sizeof(type));
}

MATCHER(match_loop)
{
	bool v4 = m->kind == MATCH_LOOP4;

	is_family(r, v4 ? NFPROTO_IPV4 : NFPROTO_IPV6);
	is_loop(r, v4, v4 ? IP4_DESTINATION : IP6_DESTINATION);
}

MATCHER(match_answers)
{
	(void)m;
	has_state(r,
	    NF_CT_STATE_BIT(IP_CT_ESTABLISHED) |
		NF_CT_STATE_BIT(IP_CT_RELATED));
}

MATCHER(match_family)
{
	is_family(r, m->kind == MATCH_IP4 ? NFPROTO_IPV4 : NFPROTO_IPV6);
}

MATCHER(match_next)
{
	uint8_t proto = (uint8_t)m->value;

	is_in_head(r, IP6_NEXT, &proto, sizeof(proto));
}

MATCHER(match_link)
{
	expr_meta(r, NFT_META_IIF);
	if (m->kind == MATCH_LINK)
		expr_is(r, &m->value, sizeof(m->value));
	else
		expr_is_not(r, &m->value, sizeof(m->value));
}

MATCHER(match_options)
{
	static const uint8_t length[4] = { 0x0f }, five[4] = { 0x05 };

	(void)m;
	is_not_in_head(r, IP4_HEAD, length, five);
}

MATCHER(match_fragment)
{
	static const uint8_t place[4] = { 0, 0, 0x3f, 0xff }, whole[4];

	(void)m;
	is_not_in_head(r, IP4_FRAGMENT, place, whole);
}

MATCHER(match_from)
{
	const struct ruleset_address *ip = &set->address[m->value];
	bool v4 = !ip->v6;

	is_in_head(r, v4 ? IP4_SOURCE : IP6_SOURCE, ip->bytes, v4 ? 4 : 16);
}

MATCHER(match_from_loop)
{
	bool v4 = m->kind == MATCH_FROM_LOOP;

	is_loop(r, v4, v4 ? IP4_SOURCE : IP6_SOURCE);
}

MATCHER(match_over)
{
	has_state(r, NF_CT_STATE_BIT(IP_CT_NEW));
	expr_over(r, m->value);
}

static void (*const matchers[MATCH_KINDS])(struct nftnl_rule *,
    const struct match *, const struct ruleset *) = {
	[MATCH_END] = match_end,
	[MATCH_PROTO] = match_proto,
	[MATCH_PORT] = match_port,
	[MATCH_ICMP] = match_icmp,
	[MATCH_ICMP6] = match_icmp,
	[MATCH_LOOP4] = match_loop,
	[MATCH_LOOP6] = match_loop,
	[MATCH_ANSWERS] = match_answers,
	[MATCH_IP4] = match_family,
	[MATCH_IP6] = match_family,
	[MATCH_NEXT] = match_next,
	[MATCH_LINK] = match_link,
	[MATCH_OTHER_LINK] = match_link,
	[MATCH_OPTIONS] = match_options,
	[MATCH_FRAGMENT] = match_fragment,
	[MATCH_FROM] = match_from,
	[MATCH_FROM_LOOP] = match_from_loop,
	[MATCH_FROM_LOOP6] = match_from_loop,
	[MATCH_OVER] = match_over,
};

static void
put_act(struct nftnl_rule *r, enum act act, uint16_t value)
{
	static const uint32_t none = 0;
	uint16_t port = htons(value);

	switch (act) {
	case ACT_ACCEPT:
		expr_verdict(r, NF_ACCEPT);
		return;
	case ACT_DROP:
		expr_verdict(r, NF_DROP);
		return;
	case ACT_REDIRECT:
		expr_immediate(r, &port, sizeof(port));
		expr_redirect(r);
		return;
	case ACT_COUNT:
		expr_counter(r,
		    ruleset_counter_name((enum ruleset_counter)value));
		return;
	case ACT_LOG:
		expr_limit(r, RULESET_LOG_PER_S, RULESET_LOG_BURST);
		expr_log(r, RULESET_LOG_GROUP, RULESET_LOG_BYTES);
		return;
	case ACT_COUNT_DROP:
		expr_counter(r,
		    ruleset_counter_name((enum ruleset_counter)value));
		expr_verdict(r, NF_DROP);
		return;
	case ACT_REJECT:
		expr_reject(r);
		return;
	case ACT_UNMARK:
		expr_immediate(r, &none, sizeof(none));
		expr_set_mark(r);
		return;
	}
}

static int
put_rule(struct batch *b, const struct ruleset *set, const struct rule *rule)
{
	struct nlmsghdr *head =
	    begin(b, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
	struct nftnl_rule *r = nftnl_rule_alloc();

	if (r == NULL)
		abort();
	nftnl_rule_set_str(r, NFTNL_RULE_TABLE, RULESET_TABLE);
	nftnl_rule_set_str(r, NFTNL_RULE_CHAIN, chains[rule->chain].name);
	for (size_t i = 0; i < RULESET_MATCHES_MAX; i++)
		matchers[rule->match[i].kind](r, &rule->match[i], set);
	put_act(r, rule->act, rule->value);
	if (head != NULL) {
		nftnl_rule_nlmsg_build_payload(head, r);
		end(b, head);
	}
	nftnl_rule_free(r);
	return head == NULL ? -1 : 0;
}

int
build_ruleset(const struct ruleset *set, bool replace, struct batch *b)
{
	memset(b, 0, sizeof(*b));
	end(b, nftnl_batch_begin(b->bytes, b->seq));
	/* Made first, so that there is one to delete. */
	if (replace &&
	    (put_table(b, NFT_MSG_NEWTABLE, NLM_F_CREATE) == -1 ||
		put_table(b, NFT_MSG_DELTABLE, 0) == -1))
		return -1;
	if (put_table(b, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL) == -1)
		return -1;
	for (enum ruleset_counter c = 0; c < COUNTER_COUNT; c++)
		if ((set->counters & 1u << c) != 0 && put_counter(b, c) == -1)
			return -1;
	for (enum ruleset_chain c = 0; c < CHAIN_COUNT; c++)
		if ((set->chains & 1u << c) != 0 && put_chain(b, c) == -1)
			return -1;
	for (size_t i = 0; i < set->n; i++)
		if (put_rule(b, set, &set->rule[i]) == -1)
			return -1;
	if (b->n + MESSAGE_MAX > sizeof(b->bytes))
		return -1;
	end(b, nftnl_batch_end(b->bytes + b->n, b->seq));
	return 0;
}

int
build_clear(struct batch *b)
{
	memset(b, 0, sizeof(*b));
	end(b, nftnl_batch_begin(b->bytes, b->seq));
	if (put_table(b, NFT_MSG_NEWTABLE, NLM_F_CREATE) == -1 ||
	    put_table(b, NFT_MSG_DELTABLE, 0) == -1)
		return -1;
	end(b, nftnl_batch_end(b->bytes + b->n, b->seq));
	return 0;
}
