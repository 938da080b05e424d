/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * duenna-nft: run by the monitor inside a network namespace, with
 * CAP_NET_ADMIN there, an empty environment and no other descriptor than 0 to
 * 2.  It reads nothing but its arguments and the kernel's answers.
 *
 *	duenna-nft netns-empty TCP-PORT DNS-PORT	load the rules
 *	duenna-nft clear	take them away; none there is fine, too
 *	duenna-nft counters	"udp N", "icmp N", "other N" on standard output
 *
 * Exit status 0, 1 with one line on standard error, 2 usage.
 */
#include <errno.h>
#include <inttypes.h>

#include "nft/talk.h"

/* A port in decimal, 1 to 65535; 0: it is none. */
static uint16_t
port_of(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || n > UINT16_MAX)
		return 0;
	return (uint16_t)n;
}

struct load {
	uint16_t tcp_port, dns_port;
	bool log, replace;
	uint32_t at; /* which message failed */
};

static int
load(struct load *l)
{
	struct ruleset set;
	static struct batch batch;

	ruleset_netns_empty(&set, l->tcp_port, l->dns_port, l->log);
	if (build_ruleset(&set, l->replace, &batch) == -1) {
		errno = EMSGSIZE;
		return -1;
	}
	return talk_batch(&batch, &l->at);
}

static int
netns_empty(const char *tcp, const char *dns)
{
	struct load l = { .tcp_port = port_of(tcp),
		.dns_port = port_of(dns),
		.log = true };

	if (l.tcp_port == 0 || l.dns_port == 0)
		return 2;
	int rc = load(&l);
	if (rc == -1 && errno == EEXIST) {
		l.replace = true;
		rc = load(&l);
	}
	/* Without NFLOG in this kernel the packets are counted alone. */
	if (rc == -1 && errno == ENOENT) {
		l.log = false;
		rc = load(&l);
	}
	if (rc == 0)
		return 0;
	fprintf(stderr, "%s (message %" PRIu32 " of the batch)\n",
	    strerror(errno), l.at);
	return 1;
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
		printf("%s %" PRIu64 "\n", ruleset_counter_name(c), packets[c]);
	return 0;
}

int
main(int argc, char **argv)
{
	int status = 2;

	if (argc == 4 && strcmp(argv[1], "netns-empty") == 0)
		status = netns_empty(argv[2], argv[3]);
	else if (argc == 2 && strcmp(argv[1], "clear") == 0)
		status = clear();
	else if (argc == 2 && strcmp(argv[1], "counters") == 0)
		status = counters();
	if (status == 2)
		fprintf(stderr,
		    "usage: duenna-nft netns-empty TCP-PORT DNS-PORT\n"
		    "       duenna-nft clear\n"
		    "       duenna-nft counters\n");
	return status;
}
