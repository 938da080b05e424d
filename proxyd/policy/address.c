/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/address.h"
#include "policy/heads.h"
#include "policy/hostset.h"
#include "policy/inside.h"
#include "policy/walk.h"

struct block {
	uint8_t first[16]; /* IPv4: the first four bytes */
	uint8_t bits;
	bool reachable; /* the registry says "globally reachable: true" */
};

/*
 * IANA IPv4 Special-Purpose Address Registry, with multicast and class E.  The
 * longest block that holds an address decides.
 */
/* clang-format off */
static const struct block v4_blocks[] = {
	{ { 0 }, 8, false },			/* "this network", RFC 791 */
	{ { 10 }, 8, false },			/* private, RFC 1918 */
	{ { 100, 64 }, 10, false },		/* shared (CGNAT), RFC 6598 */
	{ { 127 }, 8, false },			/* loopback, RFC 1122 */
	{ { 169, 254 }, 16, false },		/* link-local, RFC 3927 */
	{ { 172, 16 }, 12, false },		/* private, RFC 1918 */
	{ { 192, 0, 0 }, 24, false },		/* IETF protocols, RFC 6890 */
	{ { 192, 0, 0, 9 }, 32, true },		/* PCP anycast, RFC 7723 */
	{ { 192, 0, 0, 10 }, 32, true },	/* TURN anycast, RFC 8155 */
	{ { 192, 0, 2 }, 24, false },		/* TEST-NET-1, RFC 5737 */
	{ { 192, 31, 196 }, 24, true },		/* AS112, RFC 7535 */
	{ { 192, 52, 193 }, 24, true },		/* AMT, RFC 7450 */
	{ { 192, 88, 99 }, 24, false },		/* 6to4 relays, RFC 7526 */
	{ { 192, 168 }, 16, false },		/* private, RFC 1918 */
	{ { 192, 175, 48 }, 24, true },		/* AS112, RFC 7534 */
	{ { 198, 18 }, 15, false },		/* benchmarking, RFC 2544: ours */
	{ { 198, 51, 100 }, 24, false },	/* TEST-NET-2, RFC 5737 */
	{ { 203, 0, 113 }, 24, false },		/* TEST-NET-3, RFC 5737 */
	{ { 224 }, 4, false },			/* multicast, RFC 5771 */
	{ { 240 }, 4, false },			/* reserved, RFC 1112; broadcast */
};

/*
 * IANA IPv6 Special-Purpose Address Registry.  Outside 2000::/3 nothing is
 * global unicast (RFC 4291 2.4); 64:ff9b::/96 is judged by what it carries.
 */
static const struct block v6_blocks[] = {
	{ { 0 }, 0, false },			/* not 2000::/3 */
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, true }, /* NAT64, RFC 6052 */
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, false }, /* RFC 8215 */
	{ { 0x20 }, 3, true },			/* global unicast */
	{ { 0x20, 0x01 }, 23, false },		/* IETF protocols, RFC 2928 */
	{ { 0x20, 0x01, 0, 0 }, 32, false },	/* Teredo, RFC 4380 */
	{ { 0x20, 0x01, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, 128, true },
	{ { 0x20, 0x01, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2 }, 128, true },
	{ { 0x20, 0x01, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3 }, 128, true },
	{ { 0x20, 0x01, 0, 2, 0, 0 }, 48, false }, /* benchmarking, RFC 5180 */
	{ { 0x20, 0x01, 0, 3 }, 32, true },	/* AMT, RFC 7450 */
	{ { 0x20, 0x01, 0, 4, 0x01, 0x12 }, 48, true }, /* AS112, RFC 7535 */
	{ { 0x20, 0x01, 0, 0x10 }, 28, false },	/* ORCHID, RFC 4843 */
	{ { 0x20, 0x01, 0, 0x20 }, 28, true },	/* ORCHIDv2, RFC 7343 */
	{ { 0x20, 0x01, 0, 0x30 }, 28, true },	/* DETs, RFC 9374 */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, false }, /* examples, RFC 3849 */
	{ { 0x20, 0x02 }, 16, false },		/* 6to4, RFC 3056 */
	{ { 0x26, 0x20, 0, 0x4f, 0x80, 0 }, 48, true }, /* AS112, RFC 7534 */
	{ { 0x3f, 0xfe }, 16, false },		/* 6bone, given back: RFC 3701 */
	{ { 0x3f, 0xff }, 20, false },		/* examples, RFC 9637 */
};

/* Where clouds answer with credentials of the machine. */
static const struct block v4_metadata[] = {
	{ { 169, 254, 169, 254 }, 32, false },	/* AWS, Azure, GCP, OpenStack */
	{ { 169, 254, 169, 253 }, 32, false },	/* AWS resolver */
	{ { 169, 254, 169, 123 }, 32, false },	/* AWS time */
	{ { 169, 254, 170, 2 }, 32, false },	/* AWS ECS */
	{ { 169, 254, 170, 23 }, 32, false },	/* AWS EKS pod identity */
	{ { 169, 254, 0, 23 }, 32, false },	/* Tencent */
	{ { 100, 100, 100, 200 }, 32, false },	/* Alibaba */
	{ { 168, 63, 129, 16 }, 32, false },	/* Azure wire server */
	{ { 192, 0, 0, 192 }, 32, false },	/* Oracle */
};

static const struct block v6_metadata[] = {
	{ { 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54 }, 128, false },
	{ { 0xfd, 0x00, 0x0e, 0xc2, [15] = 0x23 }, 128, false }, /* EKS */
	{ { 0xfd, 0x00, 0x0e, 0xc2, [15] = 0xfd }, 128, false }, /* resolver */
	{ { 0xfd, 0x20, 0x00, 0xce, [14] = 0x02, [15] = 0x54 }, 128, false },
	{ { 0xfd, 0x00, 0x00, 0xc1, [12] = 0xa9, 0xfe, 0xa9, 0xfe }, 128, false },
};
/* clang-format on */

static bool
has_prefix(const uint8_t *bytes, const uint8_t *prefix, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(bytes, prefix, whole) != 0)
		return false;
	return rest == 0 || (bytes[whole] ^ prefix[whole]) >> (8 - rest) == 0;
}

static const struct block *
longest(const struct block *blocks, size_t n, const struct ip *ip)
{
	const struct block *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (has_prefix(ip->bytes, blocks[i].first, blocks[i].bits) &&
		    (best == NULL || blocks[i].bits > best->bits))
			best = &blocks[i];
	return best;
}

/*
 * The IPv4 addresses that an IPv6 one carries, whoever unpacks it on the way.
 * Returns how many were written, at most three.
 */
static size_t
embedded(const struct ip *ip, struct ip out[3])
{
	static const uint8_t zero[16];
	const uint8_t *b = ip->bytes;
	size_t n = 0;

	if (ip->family != 6)
		return 0;
	bool zero12 = memcmp(b, zero, 12) == 0;
	bool compatible = zero12 && memcmp(b + 12, zero, 3) != 0;
	bool nat64 = b[0] == 0 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b;
	bool isatap =
	    (b[8] & 0xfd) == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe;
	/* ::ffff:0:a.b.c.d is SIIT's "translated" form, RFC 2765 2.1 */
	bool translated = memcmp(b, zero, 8) == 0 && b[8] == 0xff &&
	    b[9] == 0xff && b[10] == 0 && b[11] == 0;

	if (ip_is_mapped(ip, &out[0]))
		return 1;
	if (compatible || nat64 || isatap || translated)
		out[n++] = ip_v4(b[12], b[13], b[14], b[15]);
	if (b[0] == 0x20 && b[1] == 0x02)
		out[n++] = ip_v4(b[2], b[3], b[4], b[5]);
	if (memcmp(b, "\x20\x01\0\0", 4) == 0) { /* Teredo: server, client */
		out[n++] = ip_v4(b[4], b[5], b[6], b[7]);
		out[n++] = ip_v4(b[12] ^ 0xff, b[13] ^ 0xff, b[14] ^ 0xff,
		    b[15] ^ 0xff);
	}
	return n;
}

static bool
is_plain_metadata(const struct ip *ip)
{
	if (ip->family == 4)
		return longest(v4_metadata, COUNT_OF(v4_metadata), ip) != NULL;
	return longest(v6_metadata, COUNT_OF(v6_metadata), ip) != NULL;
}

bool
address_is_metadata(const struct ip *ip)
{
	struct ip inner[3];
	size_t n = embedded(ip, inner);

	if (is_plain_metadata(ip))
		return true;
	for (size_t i = 0; i < n; i++)
		if (is_plain_metadata(&inner[i]))
			return true;
	return false;
}

bool
address_is_global(const struct ip *ip)
{
	struct ip inner[3];
	size_t n = embedded(ip, inner);

	if (ip->family == 4) {
		const struct block *b =
		    longest(v4_blocks, COUNT_OF(v4_blocks), ip);
		return (b == NULL || b->reachable) && !is_plain_metadata(ip);
	}
	if (ip->family != 6)
		return false;
	const struct block *b = longest(v6_blocks, COUNT_OF(v6_blocks), ip);
	if (b == NULL || !b->reachable || is_plain_metadata(ip))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!address_is_global(&inner[i]))
			return false;
	return true;
}

static bool
is_loopback(const struct ip *ip)
{
	static const uint8_t one[16] = { [15] = 1 };

	if (ip->family == 4)
		return ip->bytes[0] == 127;
	return memcmp(ip->bytes, one, sizeof(one)) == 0;
}

bool
inside_prefix_has(const struct image *m, unsigned table, uint32_t i,
    const struct ip *ip)
{
	uint32_t bits = image_word(m, table, i, PREFIX_BITS);
	struct ip first;

	if (!image_ip(m, table, i, PREFIX_FAMILY, &first) ||
	    first.family != ip->family || bits > (ip->family == 4 ? 32 : 128))
		return false;
	return has_prefix(ip->bytes, first.bytes, bits);
}

/* How a rule opens an address. */
enum opening {
	CLOSED,
	OPEN_RANGE, /* a prefix holds it */
	OPEN_EXACT, /* it is named itself */
};

static enum opening
rule_opens(const struct image *m, uint32_t rule, const struct ip *ip)
{
	uint32_t first = image_word(m, TABLE_RULES, rule, RULE_PREFIXES);
	uint32_t n = image_word(m, TABLE_RULES, rule, RULE_N_PREFIXES);
	uint32_t whole = ip->family == 4 ? 32 : 128;
	enum opening best = CLOSED;

	for (uint32_t i = first; i < first + n; i++) {
		if (!inside_prefix_has(m, TABLE_PREFIXES, i, ip))
			continue;
		if (image_word(m, TABLE_PREFIXES, i, PREFIX_BITS) == whole)
			return OPEN_EXACT;
		best = OPEN_RANGE;
	}
	return best;
}

static enum opening
pattern_opens(const struct image *m, uint32_t host, const struct address_of *of,
    const struct ip *ip)
{
	struct heads_range heads = heads_of(m, host);
	bool literal =
	    image_word(m, TABLE_HOSTS, host, HOST_KIND) == HOST_LITERAL &&
	    hostset_literal(m, ip) == host;
	enum opening best = CLOSED;

	for (uint32_t i = heads.at; i < heads.end && best != OPEN_EXACT; i++) {
		uint32_t route = image_word(m, TABLE_LISTS, i, 0);
		uint32_t rule = image_word(m, TABLE_ROUTES, route, ROUTE_RULE);
		uint32_t flags =
		    image_word(m, TABLE_RULES, rule, RULE_FLAG_BITS);
		if ((flags & RULE_DENY) != 0 ||
		    walk_has_expired(m, rule, of->now_s) ||
		    image_word(m, TABLE_ROUTES, route, ROUTE_PORT) != of->port)
			continue;
		enum opening o = literal ? OPEN_EXACT : rule_opens(m, rule, ip);
		best = o > best ? o : best;
	}
	return best;
}

static enum opening
opens(const struct program *p, const struct address_of *of, const struct ip *ip)
{
	COUNTED struct host_matches found;
	enum opening best = CLOSED;

	if (address_is_metadata(ip))
		return CLOSED;
	hostset_match(&p->image, of->host, &found);
	for (uint32_t i = 0; i < found.n; i++) {
		if (found.at[i].deny_only)
			continue;
		enum opening o =
		    pattern_opens(&p->image, found.at[i].host, of, ip);
		best = o > best ? o : best;
	}
	return best;
}

bool
program_opens(const struct program *p, struct slice host, uint16_t port,
    const struct ip *ip, uint64_t now_s)
{
	const struct address_of of = { host, port, now_s };

	return opens(p, &of, ip) != CLOSED;
}

static bool
is_own(const struct ip *ip, const struct ip *own, size_t n_own)
{
	struct ip inner[3];
	size_t n = embedded(ip, inner);

	for (size_t i = 0; i < n_own; i++) {
		if (ip_eq(ip, &own[i]))
			return true;
		for (size_t j = 0; j < n; j++)
			if (ip_eq(&inner[j], &own[i]))
				return true;
	}
	return false;
}

enum reason
address_judge(const struct program *p, const struct address_of *of,
    const struct ip *ip, const struct ip *own, size_t n_own)
{
	struct ip literal;
	enum reason refused = ip_parse(of->host, &literal) ?
	    REASON_DST_PRIVATE :
	    REASON_UP_PRIVATE;

	if (ip->family != 4 && ip->family != 6)
		return refused;
	if (address_is_metadata(ip))
		return refused;
	enum opening o = opens(p, of, ip);
	if (o == CLOSED && !address_is_global(ip))
		return refused;
	/* A prefix is too wide a word to mean the host itself. */
	if (is_own(ip, own, n_own) && !(is_loopback(ip) && o == OPEN_EXACT))
		return REASON_DST_SELF;
	return REASON_ALLOW;
}
