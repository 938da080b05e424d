/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <ifaddrs.h>

#include "base/log.h"
#include "dial/own.h"

static size_t
count(const struct ifaddrs *list)
{
	size_t n = 0;

	for (; list != NULL; list = list->ifa_next)
		n++;
	return n;
}

int
own_read(struct own *o, enum err *err)
{
	struct ifaddrs *list = NULL;
	size_t n;

	*o = (struct own){ 0 };
	if (getifaddrs(&list) != 0) {
		log_error("own addresses cannot be read: %s", strerror(errno));
		*err = ERR_SYSTEM;
		return -1;
	}
	/* Links without an address stand in the list too. */
	n = count(list);
	if (n <= OWN_MAX)
		o->ips = calloc(n == 0 ? 1 : n, sizeof(*o->ips));
	if (o->ips == NULL) {
		freeifaddrs(list);
		*err = n > OWN_MAX ? ERR_FULL : ERR_MEMORY;
		return -1;
	}
	for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
		uint16_t port;
		if (i->ifa_addr != NULL &&
		    ip_from_sockaddr(i->ifa_addr, &o->ips[o->n], &port))
			o->n++;
	}
	freeifaddrs(list);
	return 0;
}

void
own_release(struct own *o)
{
	free(o->ips);
	*o = (struct own){ 0 };
}
