/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network namespace of a sandbox, empty: loopback alone, every address a
 * local one, the listeners made inside and held outside, the rules that bring
 * every TCP port and port 53 to them (DESIGN 3).
 *
 * A helper process makes a user and a network namespace, sets them up, sends
 * what it made over a socket pair and ends; descriptors keep it all alive.
 * The first process of the sandbox enters them later (ns/pid1.h), and sandbox
 * code runs nowhere before.  Nothing here can be reached from any other
 * network: no interface exists.
 *
 * Process: the monitor, which has to be in the user namespace of the caller
 * still (who made a user namespace may enter it from its parent alone).
 */
#ifndef NS_NETNS_H
#define NS_NETNS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/buf.h"
#include "ns/fail.h"

#define NETNS_ADDR4 "198.18.0.1"	/* lo's own; the resolver's too */
#define NETNS_ADDR6 "fd64:7565:6e6e::1" /* lo's own */
#define NETNS_DNS_PORT 53

/* Who the sandbox's processes are, seen from outside. */
struct netns_user {
	uid_t uid;
	gid_t gid;
	const char *name; /* borrowed; whose groups are taken on; NULL: keep */
};

struct netns_config {
	const char *nft_path;	/* borrowed; the program duenna-nft */
	struct netns_user user; /* ours, or another one's if we are root */
	uint16_t tcp_port;	/* of the listeners; 0: the kernel chooses */
	uint16_t dns_port;	/* of the answerer; 0: the kernel chooses */
};

/* Listeners, all non-blocking, close-on-exec, with fixed socket buffers. */
enum netns_socket {
	NETNS_TCP4,	/* 127.0.0.1, listening */
	NETNS_TCP6,	/* ::1, listening */
	NETNS_DNS_UDP4, /* datagrams, bound */
	NETNS_DNS_UDP6,
	NETNS_DNS_TCP4, /* listening */
	NETNS_DNS_TCP6,
	NETNS_LINKS, /* rtnetlink: readable when a link changes, ns/watch.h */
	NETNS_SOCKET_COUNT
};

struct netns {
	int user_fd;			/* owned; the user namespace */
	int net_fd;			/* owned; the network namespace */
	int socket[NETNS_SOCKET_COUNT]; /* owned until taken; -1: taken */
	struct netns_user user;		/* as configured */
	const char *nft_path;		/* borrowed, as configured */
	uint16_t tcp_port, dns_port;	/* as bound */
};

/* Packets that went neither to us nor to loopback, since the start. */
struct netns_counters {
	uint64_t udp;	/* UDP elsewhere than port 53: refused by the loop */
	uint64_t icmp;	/* echo requests: dropped */
	uint64_t other; /* any other protocol than TCP: dropped */
};

/* Where duenna-nft is: beside us when built, in libexec when installed.  A
 * path in any case, so that an error can name it; ours, until the next call. */
const char *netns_nft_path(void);

/* The caller's own uid and gid. */
struct netns_user netns_user_self(void);

/* A user by name, as `--user` gives it.  ERR_MISSING: there is none. */
MUST_USE int netns_user_find(const char *name, struct netns_user *user,
    struct fail *fail);

/* The home of a user, "/" if there is none. */
void netns_user_home(const struct netns_user *user, char *home, size_t size);

/*
 * Make the namespaces, the listeners and the rules.  Blocks some milliseconds,
 * at most thirty seconds.
 *
 * ns	 set on success only; netns_release() gives it back
 * fail	 set on failure only; says which of user namespace, network namespace
 *	 and nftables was refused, and the remedy
 */
MUST_USE int netns_start(const struct netns_config *config, struct netns *ns,
    struct fail *fail);

/* Give a socket to somebody else, who closes it; -1 if it was taken before. */
MUST_USE int netns_take(struct netns *ns, enum netns_socket which);

/* Ask the kernel for the counters; blocks for a run of duenna-nft. */
MUST_USE int netns_counters(const struct netns *ns, struct netns_counters *out,
    struct fail *fail);

/*
 * Enter the user and the network namespace, as the sandbox's user; for a
 * child process, which has every capability there afterwards.
 */
MUST_USE int netns_enter(const struct netns *ns, struct fail *fail);

/* Close what was not taken.  The namespaces live on while somebody is in. */
void netns_release(struct netns *ns);

#endif
