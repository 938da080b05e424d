/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * duenna-nft: run by the monitor inside a network namespace, with
 * CAP_NET_ADMIN there, an empty environment and no other descriptor than 0 to
 * 2.  It reads nothing but its arguments and the kernel's answers.
 *
 *	duenna-nft netns-empty TCP-PORT DNS-PORT	load the rules
 *	duenna-nft gate LINK-INDEX TCP-PORT DNS-PORT FLOWS ADDRESS...	... of a gate
 *	duenna-nft clear	take them away; none there is fine, too
 *	duenna-nft counters	"udp N", "icmp N", "other N" on standard output, and
 *				those of a gate that are not 0
 *
 * Exit status 0, 1 with one line on standard error, 2 usage.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>

#include "nft/talk.h"

/* A decimal number, 1 to 2^31 - 1; 0: it is none. */
static uint32_t
number_of(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || n > INT32_MAX)
		return 0;
	return (uint32_t)n;
}

/* A port; 0: it is none. */
static uint16_t
port_of(const char *text)
{
	uint32_t n = number_of(text);

	return n > UINT16_MAX ? 0 : (uint16_t)n;
}

static bool
address_of(const char *text, struct ruleset_address *out)
{
	*out = (struct ruleset_address){ .v6 = strchr(text, ':') != NULL };
	return inet_pton(out->v6 ? AF_INET6 : AF_INET, text, out->bytes) == 1;
}

/* Which of both rulesets it is. */
struct load {
	const struct gate *gate;     /* or NULL: */
	uint16_t tcp_port, dns_port; /* of an empty namespace */
	bool log, replace;
	uint32_t at; /* which message failed */
};

static int
load_once(struct load *l)
{
	static struct ruleset set;
	static struct batch batch;
	struct gate gate;

	if (l->gate != NULL) {
		gate = *l->gate;
		gate.log = l->log;
		ruleset_gate(&set, &gate);
	} else
		ruleset_netns_empty(&set, l->tcp_port, l->dns_port, l->log);
	if (build_ruleset(&set, l->replace, &batch) == -1) {
		errno = EMSGSIZE;
		return -1;
	}
	return talk_batch(&batch, &l->at);
}

static int
load(struct load *l)
{
	int rc = load_once(l);

	if (rc == -1 && errno == EEXIST) {
		l->replace = true;
		rc = load_once(l);
	}
	/* Without NFLOG in this kernel the packets are counted alone. */
	if (rc == -1 && errno == ENOENT) {
		l->log = false;
		rc = load_once(l);
	}
	if (rc == 0)
		return 0;
	fprintf(stderr, "%s (message %" PRIu32 " of the batch)\n",
	    strerror(errno), l->at);
	return 1;
}

static int
netns_empty(const char *tcp, const char *dns)
{
	struct load l = { .tcp_port = port_of(tcp),
		.dns_port = port_of(dns),
		.log = true };

	if (l.tcp_port == 0 || l.dns_port == 0)
		return 2;
	return load(&l);
}

/* Arguments behind the word: LINK-INDEX TCP-PORT DNS-PORT FLOWS ADDRESS... */
static int
gate(char *const *arg, int n)
{
	struct gate g = { .link = number_of(arg[0]),
		.tcp_port = port_of(arg[1]),
		.dns_port = port_of(arg[2]),
		.flows_max = number_of(arg[3]) };
	struct load l = { .gate = &g, .log = true };

	if (g.link == 0 || g.tcp_port == 0 || g.dns_port == 0 ||
	    g.flows_max == 0 || n > 4 + RULESET_ADDRESSES_MAX)
		return 2;
	for (int i = 4; i < n; i++)
		if (!address_of(arg[i], &g.address[g.n_addresses++]))
			return 2;
	return load(&l);
}

static int
clear(void)
{
	static struct batch batch;
	uint32_t at;

	if (build_clear(&batch) == 0 && talk_batch(&batch, &at) == 0)
		return 0;
	fprintf(stderr, "%s\n", strerror(errno));
	return 1;
}

static int
counters(void)
{
	uint64_t packets[COUNTER_COUNT];

	if (talk_counters(packets) == -1) {
		fprintf(stderr, "%s\n", strerror(errno));
		return 1;
	}
	for (enum ruleset_counter c = 0; c < COUNTER_COUNT; c++)
		if (c < COUNTER_ALWAYS || packets[c] != 0)
			printf("%s %" PRIu64 "\n", ruleset_counter_name(c),
			    packets[c]);
	return 0;
}

int
main(int argc, char **argv)
{
	int status = 2;

	if (argc == 4 && strcmp(argv[1], "netns-empty") == 0)
		status = netns_empty(argv[2], argv[3]);
	else if (argc > 6 && strcmp(argv[1], "gate") == 0)
		status = gate(argv + 2, argc - 2);
	else if (argc == 2 && strcmp(argv[1], "clear") == 0)
		status = clear();
	else if (argc == 2 && strcmp(argv[1], "counters") == 0)
		status = counters();
	if (status == 2)
		fprintf(stderr,
		    "usage: duenna-nft netns-empty TCP-PORT DNS-PORT\n"
		    "       duenna-nft gate LINK-INDEX TCP-PORT DNS-PORT "
		    "FLOWS ADDRESS...\n"
		    "       duenna-nft clear\n"
		    "       duenna-nft counters\n");
	return status;
}
