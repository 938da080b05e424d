/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's settings of a gate's namespace. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "ns/capture_make.h"

/* Below /proc/sys/net, which shows those of the namespace that looks. */
static const struct {
	const char *path; /* %s: all, and then the link */
	char value;
} settings[] = {
	/* Nothing is handed on: whoever flushes our rules opens no way. */
	{ "ipv4/conf/%s/forwarding", '0' },
	{ "ipv4/conf/%s/proxy_arp", '0' },
	/* Source addresses that are not behind the link are dropped, too. */
	{ "ipv4/conf/%s/rp_filter", '1' },
	{ "ipv4/conf/%s/accept_local", '0' },
	{ "ipv4/conf/%s/route_localnet", '0' },
	{ "ipv4/conf/%s/accept_source_route", '0' },
	{ "ipv4/conf/%s/accept_redirects", '0' },
	{ "ipv4/conf/%s/send_redirects", '0' },
	{ "ipv6/conf/%s/forwarding", '0' },
	{ "ipv6/conf/%s/accept_ra", '0' },
	{ "ipv6/conf/%s/autoconf", '0' },
	{ "ipv6/conf/%s/accept_redirects", '0' },
	{ "ipv6/conf/%s/proxy_ndp", '0' },
	/* Assistants open flows that nobody asked for. */
	{ "netfilter/nf_conntrack_helper", '0' },
};

/* Set it unless it is so; what this kernel does not have needs no setting. */
static int
set(const char *path, char value, struct fail *fail)
{
	char whole[256], is;

	snprintf(whole, sizeof(whole), "/proc/sys/net/%s", path);
	int fd = open(whole, O_RDONLY | O_CLOEXEC);
	if (fd == -1 && errno == ENOENT)
		return 0;
	bool right = fd != -1 && read(fd, &is, 1) == 1 && is == value;
	if (fd != -1)
		close(fd);
	if (right)
		return 0;
	fd = open(whole, O_WRONLY | O_CLOEXEC);
	if (fd != -1 && write(fd, &value, 1) == 1) {
		close(fd);
		return 0;
	}
	fail_errno(fail, "cannot set %s to %c", whole, value);
	if (fd != -1)
		close(fd);
	return -1;
}

/* In a path a name's dot is no trouble; a link's name has no slash. */
static int
set_for(const char *format, const char *name, char value, struct fail *fail)
{
	char path[128];
	const char *at = strstr(format, "%s");

	if (at == NULL)
		return set(format, value, fail);
	snprintf(path, sizeof(path), "%.*s%s%s", (int)(at - format), format,
	    name, at + 2);
	return set(path, value, fail);
}

/*
 * A link without IPv6 takes its packets all the same, so that our rules count
 * and drop them: a link on which it is switched off drops them unseen.  Off and
 * on again takes away what addresses there are, and none is made anew.
 */
static int
set_no_ipv6(const char *link, struct fail *fail)
{
	const char *off = "ipv6/conf/%s/disable_ipv6";

	if (set_for(off, link, '1', fail) == -1 ||
	    set_for("ipv6/conf/%s/addr_gen_mode", link, '1', fail) == -1)
		return -1;
	return set_for(off, link, '0', fail);
}

int
capture_still(const char *link, bool ipv6, struct fail *fail)
{
	int rc = ipv6 ? set_for("ipv6/conf/%s/disable_ipv6", link, '0', fail) :
			set_no_ipv6(link, fail);
	if (rc == -1)
		return -1;
	for (size_t i = 0; i < COUNT_OF(settings); i++)
		if (set_for(settings[i].path, "all", settings[i].value, fail) ==
			-1 ||
		    set_for(settings[i].path, link, settings[i].value, fail) ==
			-1)
			return -1;
	return 0;
}
