/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/netfilter/nf_tables.h>

#include <libnftnl/expr.h>

#include "nft/expr.h"

#define REG NFT_REG_1
#define WORD 4 /* bytes of the mask */

/* Append an expression of this name; it is the rule's from then on. */
static struct nftnl_expr *
add(struct nftnl_rule *r, const char *name)
{
	struct nftnl_expr *e = nftnl_expr_alloc(name);

	if (e == NULL)
		abort();
	nftnl_rule_add_expr(r, e);
	return e;
}

void
expr_meta(struct nftnl_rule *r, uint32_t key)
{
	struct nftnl_expr *e = add(r, "meta");

	nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, key);
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, REG);
}

void
expr_payload(struct nftnl_rule *r, uint32_t base, uint32_t offset, uint32_t len)
{
	struct nftnl_expr *e = add(r, "payload");

	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, REG);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, base);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, len);
}

void
expr_ct(struct nftnl_rule *r, uint32_t key)
{
	struct nftnl_expr *e = add(r, "ct");

	nftnl_expr_set_u32(e, NFTNL_EXPR_CT_KEY, key);
	nftnl_expr_set_u32(e, NFTNL_EXPR_CT_DREG, REG);
}

void
expr_immediate(struct nftnl_rule *r, const void *data, uint32_t len)
{
	struct nftnl_expr *e = add(r, "immediate");

	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, REG);
	nftnl_expr_set_data(e, NFTNL_EXPR_IMM_DATA, data, len);
}

void
expr_mask(struct nftnl_rule *r, const void *mask)
{
	struct nftnl_expr *e = add(r, "bitwise");
	static const uint8_t zero[WORD];

	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_SREG, REG);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_DREG, REG);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_OP, NFT_BITWISE_BOOL);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_LEN, WORD);
	nftnl_expr_set_data(e, NFTNL_EXPR_BITWISE_MASK, mask, WORD);
	nftnl_expr_set_data(e, NFTNL_EXPR_BITWISE_XOR, zero, WORD);
}

static void
compare(struct nftnl_rule *r, uint32_t op, const void *data, uint32_t len)
{
	struct nftnl_expr *e = add(r, "cmp");

	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, REG);
	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, op);
	nftnl_expr_set_data(e, NFTNL_EXPR_CMP_DATA, data, len);
}

void
expr_is(struct nftnl_rule *r, const void *data, uint32_t len)
{
	compare(r, NFT_CMP_EQ, data, len);
}

void
expr_is_not(struct nftnl_rule *r, const void *data, uint32_t len)
{
	compare(r, NFT_CMP_NEQ, data, len);
}

void
expr_verdict(struct nftnl_rule *r, uint32_t verdict)
{
	struct nftnl_expr *e = add(r, "immediate");

	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, verdict);
}

void
expr_redirect(struct nftnl_rule *r)
{
	struct nftnl_expr *e = add(r, "redir");

	nftnl_expr_set_u32(e, NFTNL_EXPR_REDIR_REG_PROTO_MIN, REG);
}

void
expr_counter(struct nftnl_rule *r, const char *name)
{
	struct nftnl_expr *e = add(r, "objref");

	nftnl_expr_set_u32(e, NFTNL_EXPR_OBJREF_IMM_TYPE, NFT_OBJECT_COUNTER);
	nftnl_expr_set_str(e, NFTNL_EXPR_OBJREF_IMM_NAME, name);
}

void
expr_limit(struct nftnl_rule *r, uint64_t per_s, uint32_t burst)
{
	struct nftnl_expr *e = add(r, "limit");

	nftnl_expr_set_u64(e, NFTNL_EXPR_LIMIT_RATE, per_s);
	nftnl_expr_set_u64(e, NFTNL_EXPR_LIMIT_UNIT, 1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LIMIT_BURST, burst);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LIMIT_TYPE, NFT_LIMIT_PKTS);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LIMIT_FLAGS, 0);
}

void
expr_log(struct nftnl_rule *r, uint16_t group, uint32_t len)
{
	struct nftnl_expr *e = add(r, "log");

	nftnl_expr_set_u16(e, NFTNL_EXPR_LOG_GROUP, group);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LOG_SNAPLEN, len);
}

void
expr_over(struct nftnl_rule *r, uint32_t n)
{
	struct nftnl_expr *e = add(r, "connlimit");

	nftnl_expr_set_u32(e, NFTNL_EXPR_CONNLIMIT_COUNT, n);
	nftnl_expr_set_u32(e, NFTNL_EXPR_CONNLIMIT_FLAGS, NFT_CONNLIMIT_F_INV);
}

void
expr_reject(struct nftnl_rule *r)
{
	struct nftnl_expr *e = add(r, "reject");

	nftnl_expr_set_u32(e, NFTNL_EXPR_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
	nftnl_expr_set_u8(e, NFTNL_EXPR_REJECT_CODE,
	    NFT_REJECT_ICMPX_PORT_UNREACH);
}

void
expr_set_mark(struct nftnl_rule *r)
{
	struct nftnl_expr *e = add(r, "meta");

	nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, NFT_META_MARK);
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_SREG, REG);
}
