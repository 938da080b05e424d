/* SPDX-License-Identifier: Apache-2.0 */
/* The batch for an empty namespace, byte for byte as in tests/golden/nft. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include "base/buf.h"
#include "nft/build.h"

#define TEXT_MAX 1048576

/* One line a message: number, kind, flags, then the bytes behind the head. */
static void
put_messages(struct buf *out, const struct batch *b)
{
	size_t at = 0;

	while (at < b->n) {
		struct nlmsghdr h;
		memcpy(&h, b->bytes + at, sizeof(h));
		buf_putf(out, "%u type=%04x flags=%04x ", h.nlmsg_seq,
		    h.nlmsg_type, h.nlmsg_flags);
		for (size_t i = sizeof(h); i < h.nlmsg_len; i++)
			buf_putf(out, "%02x", (uint8_t)b->bytes[at + i]);
		buf_put_byte(out, '\n');
		at += NLMSG_ALIGN(h.nlmsg_len);
	}
	assert_int_equal(at, b->n);
}

static void
read_golden(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	do {
		uint8_t *room = buf_room(out, 4096);
		n = fread(room, 1, 4096, f);
		buf_added(out, n);
	} while (n != 0);
	fclose(f);
}

static void
build_ruleset_gives_the_golden_bytes(void **state)
{
	static const char path[] =
	    DOCS "/../tests/golden/nft/netns-empty.batch";
	static struct batch b;
	struct ruleset set;
	struct buf is, want;

	(void)state;
	buf_init(&is, TEXT_MAX);
	buf_init(&want, TEXT_MAX);
	ruleset_netns_empty(&set, 40001, 40002, true);
	assert_int_equal(build_ruleset(&set, true, &b), 0);
	put_messages(&is, &b);
	if (getenv("UPDATE_GOLDEN") != NULL) {
		FILE *f = fopen(path, "w");
		assert_non_null(f);
		fwrite(is.p, 1, is.n, f);
		fclose(f);
	}
	read_golden(path, &want);
	assert_string_equal(buf_text(&is), buf_text(&want));
	buf_release(&is);
	buf_release(&want);
}

static void
build_ruleset_says_when_it_does_not_fit(void **state)
{
	static struct batch b;
	struct ruleset set;

	(void)state;
	ruleset_netns_empty(&set, 1, 2, true);
	assert_int_equal(build_ruleset(&set, false, &b), 0);
	/* The batch has room for what we ask; the check has to be there. */
	assert_true(b.n < sizeof(b.bytes));
	assert_int_equal(b.n % 4, 0);
}

static void
ruleset_without_a_log_is_the_same_but_for_it(void **state)
{
	struct ruleset with, without;
	size_t k = 0;

	(void)state;
	ruleset_netns_empty(&with, 1, 2, true);
	ruleset_netns_empty(&without, 1, 2, false);
	for (size_t i = 0; i < with.n; i++) {
		if (with.rule[i].act == ACT_LOG)
			continue;
		assert_memory_equal(&with.rule[i], &without.rule[k++],
		    sizeof(struct rule));
	}
	assert_int_equal(k, without.n);
	assert_true(with.n > without.n);
}

/* Port 53 is ours before 127.0.0.0/8 is let through: DN, 127.0.0.53. */
static void
ruleset_takes_port_53_before_loopback(void **state)
{
	struct ruleset set;

	(void)state;
	ruleset_netns_empty(&set, 1, 2, true);
	assert_int_equal(set.rule[0].chain, CHAIN_NAT);
	assert_int_equal(set.rule[0].act, ACT_REDIRECT);
	assert_int_equal(set.rule[0].value, 2);
	assert_int_equal(set.rule[1].value, 2);
	assert_int_equal(set.rule[2].match[0].kind, MATCH_LOOP4);
}

/*
 * LC-12: a table of an owner vanishes with its process.  None of ours has a
 * flag at all, and the rules stay when this program has ended.
 */
static void
build_ruleset_gives_no_table_a_flag(void **state)
{
	static struct batch b;
	struct ruleset set;
	size_t n_tables = 0;

	(void)state;
	ruleset_netns_empty(&set, 1, 2, true);
	assert_int_equal(build_ruleset(&set, true, &b), 0);
	for (size_t at = 0; at < b.n;) {
		const struct nlmsghdr *h =
		    (const struct nlmsghdr *)(const void *)(b.bytes + at);
		const struct nlattr *attr;
		at += NLMSG_ALIGN(h->nlmsg_len);
		if (h->nlmsg_type !=
		    (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE))
			continue;
		n_tables++;
		mnl_attr_for_each(attr, h,
		    sizeof(struct nfgenmsg)) if (mnl_attr_get_type(attr) ==
		    NFTA_TABLE_FLAGS)
		    assert_int_equal(mnl_attr_get_u32(attr), 0);
	}
	assert_int_equal(n_tables, 2);
}

static void
fill_gate(struct gate *gate, bool v6)
{
	*gate = (struct gate){ .link = 2,
		.tcp_port = 40001,
		.dns_port = 40002,
		.flows_max = 4096,
		.n_addresses = RULESET_ADDRESSES_MAX,
		.log = true };
	for (uint8_t i = 0; i < RULESET_ADDRESSES_MAX; i++)
		gate->address[i] = (struct ruleset_address){ .v6 = v6,
			.bytes = { 0xfd, [15] = i } };
}

static void
ruleset_gate_fits_with_all_addresses(void **state)
{
	static struct batch b;
	static struct ruleset set;
	struct gate gate;

	(void)state;
	fill_gate(&gate, true);
	ruleset_gate(&set, &gate);
	assert_int_equal(build_ruleset(&set, true, &b), 0);
	assert_true(b.n < sizeof(b.bytes));
}

/* Does one of the rules accept IPv6 in the chain that comes first? */
static bool
accepts_ipv6(const struct ruleset *set)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct rule *r = &set->rule[i];
		if (r->chain != CHAIN_EARLY)
			continue;
		if (r->match[0].kind == MATCH_IP6 && r->act == ACT_ACCEPT)
			return true;
		if (r->match[0].kind == MATCH_IP6 &&
		    r->match[1].kind == MATCH_END && r->act == ACT_DROP)
			return false;
	}
	return false;
}

static void
ruleset_gate_has_ipv6_only_with_an_address_of_it(void **state)
{
	static struct ruleset set;
	struct gate gate;

	(void)state;
	fill_gate(&gate, false);
	ruleset_gate(&set, &gate);
	assert_false(accepts_ipv6(&set));
	fill_gate(&gate, true);
	ruleset_gate(&set, &gate);
	assert_true(accepts_ipv6(&set));
}

/* Nothing is ever handed on, and no answer to a flow of ours lets others in. */
static void
ruleset_gate_forwards_nothing(void **state)
{
	static struct ruleset set;
	struct gate gate;

	(void)state;
	fill_gate(&gate, true);
	ruleset_gate(&set, &gate);
	for (size_t i = 0; i < set.n; i++) {
		if (set.rule[i].chain == CHAIN_FORWARD)
			assert_int_not_equal(set.rule[i].act, ACT_ACCEPT);
		for (size_t k = 0; k < RULESET_MATCHES_MAX; k++)
			assert_int_not_equal(set.rule[i].match[k].kind,
			    MATCH_ANSWERS);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(build_ruleset_gives_the_golden_bytes),
		cmocka_unit_test(build_ruleset_says_when_it_does_not_fit),
		cmocka_unit_test(ruleset_without_a_log_is_the_same_but_for_it),
		cmocka_unit_test(build_ruleset_gives_no_table_a_flag),
		cmocka_unit_test(ruleset_takes_port_53_before_loopback),
		cmocka_unit_test(ruleset_gate_fits_with_all_addresses),
		cmocka_unit_test(
		    ruleset_gate_has_ipv6_only_with_an_address_of_it),
		cmocka_unit_test(ruleset_gate_forwards_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
