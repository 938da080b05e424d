/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A namespace that somebody else made, made ready for a sandbox of `serve`
 * (DESIGN 3): its links looked at, loopback, listeners, rules, and a probe
 * from the sandbox's side that was seen to go nowhere.
 *
 * All of it is done by a helper process that enters the namespace, so that the
 * monitor never waits: it hears of the end by a descriptor.  No rules, no
 * sandbox: whatever fails, the job fails as a whole, and says why.
 *
 *  netns	 nothing but loopback may be in there
 *  gate	 nothing but loopback and the host's end of one link, a veth or a
 *		 tap: the sandbox is behind it
 *
 * The other modes are refused here (capture_begin).
 *
 * Process: the monitor, with CAP_SYS_ADMIN and CAP_NET_ADMIN over the
 * namespace.
 */
#ifndef NS_CAPTURE_H
#define NS_CAPTURE_H

#include <net/if.h>
#include <sys/types.h>

#include "base/attr.h"
#include "ns/netns.h"
#include "priv/control.h"

#define CAPTURE_S_MAX 20 /* a helper that took longer ends itself */

struct capture_config {
	enum capture_mode mode;
	const char *nft_path; /* borrowed until the job is over */
	int net_fd;	      /* borrowed until capture_begin() returns */
	char link[IFNAMSIZ];  /* gate: its name in there */
	/* Gate: what the link is given, beside what it has. */
	struct control_address addresses[CONTROL_ADDRESSES_MAX];
	size_t n_addresses;
	uint16_t tcp_port, dns_port; /* as they were; 0: the kernel chooses */
	bool again; /* a sandbox may be at work in there: a restart */
};

/* What stands in the namespace, once it is ready. */
struct capture {
	enum capture_mode mode;
	int net_fd;			/* owned */
	int socket[NETNS_SOCKET_COUNT]; /* owned until taken; -1: none, taken */
	uint16_t tcp_port, dns_port;	/* as bound */
	int link;			/* gate: its index; else 0 */
	/*
	 * A frame was sent from the sandbox's side and seen to go nowhere.
	 * False: somebody holds the tap already, so that its checks alone say
	 * that its packets meet our rules.
	 */
	bool probed;
};

/* A helper at work. */
struct capture_job {
	enum capture_mode mode;
	pid_t pid;  /* ours to reap: capture_hear() or capture_cancel() does */
	int fd;	    /* owned; readable when there is something to hear */
	int net_fd; /* owned */
};

/*
 * A network namespace by the path of its file, or by the process `pid` where
 * that is not 0.  From here on it is held by the descriptor and never found by
 * a name or number again.  Refused: what is no network namespace, our own, and
 * the machine's.
 *
 * net_fd  set on success; the caller closes it
 * fail	   ERR_MISSING: there is no such path or process; ERR_DENIED: refused
 */
MUST_USE int capture_open(const char *path, uint32_t pid, int *net_fd,
    struct fail *fail);

/* Start to make it ready; capture_hear() or capture_cancel() ends the job. */
MUST_USE int capture_begin(const struct capture_config *config,
    struct capture_job *job, struct fail *fail);

/*
 * Hear how it went; does not block.  ERR_AGAIN in `fail`: not yet, the job
 * goes on; after anything else it is over.
 *
 * capture  set on success, capture_release() gives it back; NULL for the job
 *	    of capture_end()
 */
MUST_USE int capture_hear(struct capture_job *job, struct capture *capture,
    struct fail *fail);

/* End a job before its time.  What it has made by then may stand: with rules,
 * but nobody who listens. */
void capture_cancel(struct capture_job *job);

/* Give a socket to somebody else, who closes it; -1 if it was taken before. */
MUST_USE int capture_take(struct capture *capture, enum netns_socket which);

/*
 * Has the namespace become another place than was made ready?  For when
 * NETNS_LINKS, which has not been taken, is readable.
 *
 * why	set when true: "the link eth0 appeared"
 */
bool capture_watch(const struct capture *capture, struct fail *why);

/* Start to take the rules away, the last thing of a detach. */
MUST_USE int capture_end(const struct capture *capture, const char *nft_path,
    struct capture_job *job, struct fail *fail);

/* Close what was not taken. */
void capture_release(struct capture *capture);

#endif
