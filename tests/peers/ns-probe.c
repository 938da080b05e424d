/* SPDX-License-Identifier: Apache-2.0 */
/* A monitor in small, for trying the room ns/ before there is a duenna. */
#include "ns/netns.h"

int
main(int argc, char **argv)
{
	struct fail fail = { 0 };
	struct netns ns;
	struct netns_counters c;
	struct netns_config config = { .nft_path = argv[argc - 1],
		.user = netns_user_self() };

	if (netns_start(&config, &ns, &fail) == -1) {
		fprintf(stderr, "ns-probe: %s\n", fail.text);
		return 125;
	}
	printf("tcp %d dns %d\n", ns.tcp_port, ns.dns_port);
	if (netns_counters(&ns, &c, &fail) == -1) {
		fprintf(stderr, "ns-probe: %s\n", fail.text);
		return 125;
	}
	printf("udp %lu icmp %lu other %lu\n", c.udp, c.icmp, c.other);
	netns_release(&ns);
	return 0;
}
