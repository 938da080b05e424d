/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One small constructor an nftables expression, each appended to a rule; they
 * die without memory.  Register 1 is the only one in use.
 * Pure.
 */
#ifndef NFT_EXPR_H
#define NFT_EXPR_H

#include <libnftnl/rule.h>
#include <stdint.h>

/* Load into the register: a packet's meta field (enum nft_meta_keys). */
void expr_meta(struct nftnl_rule *r, uint32_t key);

/* ... `len` bytes of the packet (base: enum nft_payload_bases). */
void expr_payload(struct nftnl_rule *r, uint32_t base, uint32_t offset,
    uint32_t len);

/* ... a field of its connection (enum nft_ct_keys). */
void expr_ct(struct nftnl_rule *r, uint32_t key);

/* ... bytes of ours. */
void expr_immediate(struct nftnl_rule *r, const void *data, uint32_t len);

/* register &= mask, 4 bytes in the packet's order. */
void expr_mask(struct nftnl_rule *r, const void *mask);

/* Go on only if the register is (is not) `data`. */
void expr_is(struct nftnl_rule *r, const void *data, uint32_t len);
void expr_is_not(struct nftnl_rule *r, const void *data, uint32_t len);

/* NF_ACCEPT or NF_DROP. */
void expr_verdict(struct nftnl_rule *r, uint32_t verdict);

/* Redirect to this host, to the port in the register. */
void expr_redirect(struct nftnl_rule *r);

/* Count by the counter object `name`. */
void expr_counter(struct nftnl_rule *r, const char *name);

/* Go on at most `per_s` times a second. */
void expr_limit(struct nftnl_rule *r, uint64_t per_s, uint32_t burst);

/* Go on only with more than `n` flows that connection tracking knows of. */
void expr_over(struct nftnl_rule *r, uint32_t n);

/* Drop, and answer ICMP "port unreachable" of its family. */
void expr_reject(struct nftnl_rule *r);

/* Set the packet's mark to what is in the register. */
void expr_set_mark(struct nftnl_rule *r);

/* Hand the first `len` bytes to an NFLOG group. */
void expr_log(struct nftnl_rule *r, uint16_t group, uint32_t len);

#endif
