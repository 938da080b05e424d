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

#define PRIORITY_NAT (-100) /* NF_IP_PRI_NAT_DST, where redirect belongs */
#define PRIORITY_FILTER 0

/* Where fields stand in packets. */
#define PORT_AT 2	   /* destination port, TCP and UDP */
#define IP4_DESTINATION 16 /* RFC 791 3.1 */
#define IP6_DESTINATION 24 /* RFC 8200 3 */

static const struct {
	const char *name, *type;
	int32_t priority;
} chains[CHAIN_COUNT] = {
	[CHAIN_NAT] = { "nat", "nat", PRIORITY_NAT },
	[CHAIN_FILTER] = { "filter", "filter", PRIORITY_FILTER },
};

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
	nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, NF_INET_LOCAL_OUT);
	nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, chains[chain].priority);
	nftnl_chain_set_u32(c, NFTNL_CHAIN_POLICY, NF_ACCEPT);
	if (head != NULL) {
		nftnl_chain_nlmsg_build_payload(head, c);
		end(b, head);
	}
	nftnl_chain_free(c);
	return head == NULL ? -1 : 0;
}

static void
match_proto(struct nftnl_rule *r, uint8_t proto)
{
	expr_meta(r, NFT_META_L4PROTO);
	expr_is(r, &proto, sizeof(proto));
}

static void
match_icmp(struct nftnl_rule *r, uint8_t proto, uint8_t type)
{
	match_proto(r, proto);
	expr_payload(r, NFT_PAYLOAD_TRANSPORT_HEADER, 0, sizeof(type));
	expr_is(r, &type, sizeof(type));
}

static void
match_loop(struct nftnl_rule *r, uint8_t family)
{
	static const uint8_t mask[4] = { 255, 0, 0, 0 };
	static const uint8_t net4[4] = { 127, 0, 0, 0 };
	static const uint8_t one6[16] = { [15] = 1 };

	expr_meta(r, NFT_META_NFPROTO);
	expr_is(r, &family, sizeof(family));
	if (family == NFPROTO_IPV4) {
		expr_payload(r, NFT_PAYLOAD_NETWORK_HEADER, IP4_DESTINATION, 4);
		expr_mask(r, mask);
		expr_is(r, net4, sizeof(net4));
		return;
	}
	expr_payload(r, NFT_PAYLOAD_NETWORK_HEADER, IP6_DESTINATION, 16);
	expr_is(r, one6, sizeof(one6));
}

static void
put_match(struct nftnl_rule *r, const struct match *m)
{
	static const uint32_t none = 0;
	uint32_t states =
	    NF_CT_STATE_BIT(IP_CT_ESTABLISHED) | NF_CT_STATE_BIT(IP_CT_RELATED);
	uint16_t port = htons(m->value);

	switch (m->kind) {
	case MATCH_END:
		return;
	case MATCH_PROTO:
		match_proto(r, (uint8_t)m->value);
		return;
	case MATCH_PORT:
		expr_payload(r, NFT_PAYLOAD_TRANSPORT_HEADER, PORT_AT,
		    sizeof(port));
		expr_is(r, &port, sizeof(port));
		return;
	case MATCH_ICMP:
		match_icmp(r, IPPROTO_ICMP, (uint8_t)m->value);
		return;
	case MATCH_ICMP6:
		match_icmp(r, IPPROTO_ICMPV6, (uint8_t)m->value);
		return;
	case MATCH_LOOP4:
		match_loop(r, NFPROTO_IPV4);
		return;
	case MATCH_LOOP6:
		match_loop(r, NFPROTO_IPV6);
		return;
	case MATCH_ANSWERS:
		expr_ct(r, NFT_CT_STATE);
		expr_mask(r, &states);
		expr_is_not(r, &none, sizeof(none));
		return;
	}
}

static void
put_act(struct nftnl_rule *r, enum act act, uint16_t value)
{
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
	}
}

static int
put_rule(struct batch *b, const struct rule *rule)
{
	struct nlmsghdr *head =
	    begin(b, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
	struct nftnl_rule *r = nftnl_rule_alloc();

	if (r == NULL)
		abort();
	nftnl_rule_set_str(r, NFTNL_RULE_TABLE, RULESET_TABLE);
	nftnl_rule_set_str(r, NFTNL_RULE_CHAIN, chains[rule->chain].name);
	for (size_t i = 0; i < RULESET_MATCHES_MAX; i++)
		put_match(r, &rule->match[i]);
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
		if (put_counter(b, c) == -1)
			return -1;
	for (enum ruleset_chain c = 0; c < CHAIN_COUNT; c++)
		if (put_chain(b, c) == -1)
			return -1;
	for (size_t i = 0; i < set->n; i++)
		if (put_rule(b, &set->rule[i]) == -1)
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
