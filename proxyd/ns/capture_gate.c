/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "base/limits.h"
#include "ns/capture_make.h"
#include "ns/rtnl.h"
#include "ns/setup.h"

/* Whether packets of this link meet our rules before anything else. */
static int
check_link(int fd, const struct link *link, struct fail *fail)
{
	if (strcmp(link->kind, "veth") != 0 && strcmp(link->kind, "tun") != 0)
		return fail_set(fail, ERR_DENIED,
		    "the link %s is of the kind %s; expected a veth or a tap",
		    link->name, link->kind[0] == '\0' ? "device" : link->kind);
	if (link->master != 0)
		return fail_set(fail, ERR_DENIED,
		    "the link %s is a port of a bridge, bond or vrf, which "
		    "takes its packets before our rules see them",
		    link->name);
	int hook = links_has_hook(fd, link->index);
	if (hook == -1)
		return fail_errno(fail, "cannot look for programs on %s",
		    link->name);
	if (link->has_xdp || hook == 1)
		return fail_set(fail, ERR_DENIED,
		    "a program of %s takes the packets of the link %s before "
		    "our rules see them",
		    hook == 1 ? "tc" : "XDP", link->name);
	return 0;
}

static int
find_link(int fd, const char *name, struct link *out, struct fail *fail)
{
	struct links links;

	*out = (struct link){ 0 };
	if (links_read(fd, &links) == -1)
		return fail_errno(fail,
		    "cannot read the links of the namespace");
	for (size_t i = 0; i < links.n && i < LINKS_MAX; i++) {
		const struct link *l = &links.link[i];
		if (strcmp(l->name, name) == 0)
			*out = *l;
		else if (l->index != RTNL_LO)
			return fail_set(fail, ERR_DENIED,
			    "the namespace has the link %s beside %s; one of "
			    "mode gate may have the sandbox's link and "
			    "loopback alone",
			    l->name, name);
	}
	if (out->index == 0)
		return fail_set(fail, ERR_MISSING,
		    "the namespace has no link %s", name);
	return check_link(fd, out, fail);
}

static bool
has_address(const struct capture_gate *g, const struct ip *ip)
{
	for (size_t i = 0; i < g->n_addresses; i++)
		if (ip_eq(&g->addresses[i].ip, ip))
			return true;
	return false;
}

/* What it has and what it is given. */
static int
find_addresses(int fd, const struct capture_config *config,
    struct capture_gate *g, struct fail *fail)
{
	if (links_addresses(fd, g->link.index, g->addresses, &g->n_addresses) ==
	    -1)
		return fail_errno(fail, "cannot read the addresses of %s",
		    g->link.name);
	for (size_t i = 0; i < config->n_addresses; i++) {
		if (has_address(g, &config->addresses[i].ip))
			continue;
		if (g->n_addresses++ < CONTROL_ADDRESSES_MAX)
			g->addresses[g->n_addresses - 1] = config->addresses[i];
	}
	if (g->n_addresses > CONTROL_ADDRESSES_MAX)
		return fail_set(fail, ERR_FULL,
		    "the link %s has more than %d addresses", g->link.name,
		    CONTROL_ADDRESSES_MAX);
	if (g->n_addresses == 0)
		return fail_set(fail, ERR_MISSING,
		    "the link %s has no address, and none was given: say in "
		    "`addresses` which one the sandbox has as its gateway, "
		    "such as 10.0.0.1/30",
		    g->link.name);
	return 0;
}

static int
load_rules(const char *nft_path, const struct inlet *in,
    const struct capture_gate *g, struct fail *fail)
{
	char link[16], tcp[8], dns[8], flows[16], out[128];
	char program[] = "duenna-nft", mode[] = "gate";
	char texts[CONTROL_ADDRESSES_MAX][IP_TEXT_SIZE];
	char *argv[6 + CONTROL_ADDRESSES_MAX + 1] = { program, mode, link, tcp,
		dns, flows };

	snprintf(link, sizeof(link), "%d", g->link.index);
	snprintf(tcp, sizeof(tcp), "%d", in->tcp_port);
	snprintf(dns, sizeof(dns), "%d", in->dns_port);
	snprintf(flows, sizeof(flows), "%d", LIMIT_TRACKED);
	for (size_t i = 0; i < g->n_addresses; i++) {
		ip_text(&g->addresses[i].ip, texts[i]);
		argv[6 + i] = texts[i];
	}
	return setup_nft(nft_path, argv, out, sizeof(out), fail);
}

/* The addresses, then the links themselves: last, when the rules stand. */
static int
raise_links(int fd, const struct capture_config *config,
    const struct capture_gate *g, struct fail *fail)
{
	char text[IP_TEXT_SIZE];

	for (size_t i = 0; i < config->n_addresses; i++) {
		const struct control_address *a = &config->addresses[i];
		if (rtnl_address(fd, g->link.index, &a->ip, a->prefix) == 0 ||
		    errno == EEXIST)
			continue;
		fail_errno(fail, "cannot give %s an address", g->link.name);
		ip_text(&a->ip, text);
		size_t n = strlen(fail->text);
		snprintf(fail->text + n, sizeof(fail->text) - n, " (%s)", text);
		return -1;
	}
	if (rtnl_link_set(fd, RTNL_LO, true) == -1 ||
	    rtnl_link_set(fd, g->link.index, true) == -1)
		return fail_errno(fail, "cannot raise the link %s",
		    g->link.name);
	return 0;
}

static bool
wants_ipv6(const struct capture_gate *g)
{
	for (size_t i = 0; i < g->n_addresses; i++)
		if (g->addresses[i].ip.family == 6)
			return true;
	return false;
}

static int
make(int fd, const struct capture_config *config, struct inlet *in,
    struct capture_gate *g, struct fail *fail)
{
	if (find_link(fd, config->link, &g->link, fail) == -1 ||
	    find_addresses(fd, config, g, fail) == -1)
		return -1;
	bool ipv6 = wants_ipv6(g);
	if (ipv6 && !in->has_ipv6)
		return fail_set(fail, ERR_MISSING,
		    "this kernel has no IPv6, but %s has an address of it",
		    g->link.name);
	in->has_ipv6 = ipv6;
	if (capture_still(g->link.name, ipv6, fail) == -1 ||
	    inlet_listen(in, g->link.name, fail) == -1 ||
	    load_rules(config->nft_path, in, g, fail) == -1 ||
	    raise_links(fd, config, g, fail) == -1)
		return -1;
	return capture_probe_link(g, config->nft_path, fail);
}

int
capture_make_gate(const struct capture_config *config, struct inlet *in,
    struct capture_gate *gate, struct fail *fail)
{
	/* Heard first, read then: nothing changes in between unseen. */
	in->socket[NETNS_LINKS] = rtnl_open_watch_all();
	int fd = rtnl_open(false);
	if (in->socket[NETNS_LINKS] == -1 || fd == -1)
		return fail_errno(fail, "cannot watch the links");
	int rc = make(fd, config, in, gate, fail);
	close(fd);
	return rc;
}
