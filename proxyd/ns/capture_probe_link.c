/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "ns/capture_make.h"
#include "ns/frame.h"
#include "ns/setup.h"

#define NOBODY4 "192.0.2.1"   /* RFC 5737 */
#define NOBODY6 "2001:db8::1" /* RFC 3849 */
#define PORT_NOBODY 9	      /* discard */
#define PORT_FROM 49151
#define TRIES 20 /* a frame is through within microseconds */
#define TRY_MS 5

/*
 * An address behind the link that a sandbox could have: the first or second of
 * the network, whichever is not the gateway's.  False: the gateway's network
 * is itself alone.
 */
static bool
neighbour(const struct control_address *a, struct ip *out)
{
	unsigned bits = a->ip.family == 4 ? 32 : 128, last = bits / 8 - 1;

	*out = a->ip;
	if (a->prefix >= bits)
		return false;
	if (a->prefix == bits - 1) {
		out->bytes[last] ^= 1;
		return true;
	}
	for (unsigned i = a->prefix; i < bits; i++)
		out->bytes[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
	out->bytes[last] |= 1;
	if (ip_eq(out, &a->ip))
		out->bytes[last] ^= 3;
	return true;
}

static int
send_frame(int fd, const uint8_t *frame, size_t n, struct fail *fail)
{
	if (write(fd, frame, n) == (ssize_t)n)
		return 0;
	return fail_errno(fail, "cannot send from the sandbox's side");
}

/* The packets of a counter in what duenna-nft said. */
static uint64_t
counted(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at == NULL ? 0 : strtoull(at + strlen(name), NULL, 10);
}

/* What is tried, a row a family that the link has an address of. */
struct trial {
	int fd;
	struct frame frame[2];
	bool tcp[2];		/* else there is no neighbour to be */
	const char *arrived[2]; /* the counter */
	size_t n;
};

static int
send_udp(struct trial *t, struct fail *fail)
{
	uint8_t bytes[FRAME_SIZE];

	for (size_t i = 0; i < t->n; i++)
		if (send_frame(t->fd, bytes, frame_udp(&t->frame[i], bytes),
			fail) == -1)
			return -1;
	return 0;
}

/* The first segment of a connection, each time of another one. */
static int
send_tcp(struct trial *t, struct fail *fail)
{
	uint8_t bytes[FRAME_SIZE];
	uint32_t seq;

	if (getrandom(&seq, sizeof(seq), 0) != sizeof(seq))
		return fail_errno(fail, "cannot get random bytes");
	for (size_t i = 0; i < t->n; i++) {
		struct frame *f = &t->frame[i];
		if (!t->tcp[i])
			continue;
		f->from_port++;
		size_t n = frame_tcp(f, FRAME_SYN, seq, bytes);
		if (send_frame(t->fd, bytes, n, fail) == -1)
			return -1;
		/* Taken back, else our answer is sent again for a minute. */
		n = frame_tcp(f, FRAME_RST, seq + 1, bytes);
		if (send_frame(t->fd, bytes, n, fail) == -1)
			return -1;
	}
	return 0;
}

/*
 * Send and look, until all was counted.  Connections are sent again: the
 * kernel takes IPv6 for a link that was just raised when it finds the time.
 */
static int
try_all(struct trial *t, const char *nft_path, struct fail *fail)
{
	const struct timespec pause = { .tv_nsec = TRY_MS * 1000000L };
	char program[] = "duenna-nft", mode[] = "counters", out[512];
	char *argv[] = { program, mode, NULL };
	bool udp = false, tcp = false;

	if (send_udp(t, fail) == -1)
		return -1;
	for (int i = 0; i < TRIES && !(udp && tcp); i++) {
		if (i != 0)
			nanosleep(&pause, NULL);
		if (send_tcp(t, fail) == -1 ||
		    setup_nft(nft_path, argv, out, sizeof(out), fail) == -1)
			return -1;
		udp = counted(out, "udp ") >= t->n;
		tcp = true;
		for (size_t k = 0; k < t->n; k++)
			if (t->tcp[k] && counted(out, t->arrived[k]) == 0)
				tcp = false;
	}
	if (udp && tcp)
		return 0;
	return fail_set(fail, ERR_DENIED,
	    "%s from the sandbox's side did not meet our rules: something on "
	    "this host leads the packets of its link past them",
	    udp ? "a connection" : "a datagram");
}

static void
add_trial(struct trial *t, const struct capture_gate *gate,
    const uint8_t from_mac[6], const struct control_address *a)
{
	bool v4 = a->ip.family == 4;
	struct frame *f = &t->frame[t->n];

	*f = (struct frame){ .from_port = PORT_FROM, .to_port = PORT_NOBODY };
	memcpy(f->from_mac, from_mac, sizeof(f->from_mac));
	memcpy(f->to_mac, gate->link.mac, sizeof(f->to_mac));
	t->tcp[t->n] = neighbour(a, &f->from);
	if (!t->tcp[t->n]) /* any that is not the gateway's */
		f->from.bytes[v4 ? 3 : 15] ^= 1;
	if (!ip_parse(slice_of_str(v4 ? NOBODY4 : NOBODY6), &f->to))
		abort();
	t->arrived[t->n] = v4 ? "arrived4 " : "arrived6 ";
	t->n++;
}

static int
probe(int fd, const struct capture_gate *gate, const uint8_t from_mac[6],
    const char *nft_path, struct fail *fail)
{
	struct trial t = { .fd = fd };
	bool have[2] = { false, false };

	for (size_t i = 0; i < gate->n_addresses; i++) {
		bool *had = &have[gate->addresses[i].ip.family == 4 ? 0 : 1];
		if (!*had)
			add_trial(&t, gate, from_mac, &gate->addresses[i]);
		*had = true;
	}
	return try_all(&t, nft_path, fail);
}

int
capture_probe_link(struct capture_gate *gate, const char *nft_path,
    struct fail *fail)
{
	uint8_t from_mac[6];
	struct fail why = { 0 };
	int fd = capture_peer_open(gate, from_mac, &why);

	gate->probed = fd != -1;
	if (fd == -1 && why.err == ERR_EXISTS)
		return 0; /* the tap is in use; its checks have to do */
	if (fd == -1) {
		*fail = why;
		return -1;
	}
	int rc = probe(fd, gate, from_mac, nft_path, fail);
	/* A tap has to be free again for its machine.  Another socket is closed
	 * when this process ends: it takes the kernel longer than all else. */
	if (strcmp(gate->link.kind, "tun") == 0)
		close(fd);
	return rc;
}
