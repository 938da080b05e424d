/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <libmnl/libmnl.h>
#include <libnftnl/object.h>

#include "nft/talk.h"

#define ANSWER_S 5	 /* the kernel answers in microseconds, or never */
#define ANSWER_SIZE 8192 /* MNL_SOCKET_BUFFER_SIZE is no constant */

static struct mnl_socket *
open_socket(void)
{
	struct timeval limit = { .tv_sec = ANSWER_S };
	struct mnl_socket *s =
	    mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);

	if (s == NULL)
		return NULL;
	if (mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) == 0 &&
	    setsockopt(mnl_socket_get_fd(s), SOL_SOCKET, SO_RCVTIMEO, &limit,
		sizeof(limit)) == 0)
		return s;
	int number = errno;
	mnl_socket_close(s);
	errno = number;
	return NULL;
}

/* What one datagram said: how many messages it answered, the first error. */
static int
read_answers(const char *bytes, size_t size, uint32_t *n_answers, uint32_t *at)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)bytes;
	int left = (int)size;

	for (; mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
		const struct nlmsgerr *e = mnl_nlmsg_get_payload(h);
		if (h->nlmsg_type != NLMSG_ERROR ||
		    mnl_nlmsg_get_payload_len(h) < sizeof(*e))
			continue;
		(*n_answers)++;
		if (e->error == 0)
			continue;
		*at = h->nlmsg_seq;
		errno = -e->error;
		return -1;
	}
	return 0;
}

int
talk_batch(const struct batch *batch, uint32_t *at)
{
	char bytes[ANSWER_SIZE] __attribute__((aligned(8)));
	uint32_t n_answers = 0;
	int result = -1;

	*at = 0;
	struct mnl_socket *s = open_socket();
	if (s == NULL)
		return -1;
	if (mnl_socket_sendto(s, batch->bytes, batch->n) == -1)
		goto end;
	/* Begin and end of the batch have no answer of their own. */
	while (n_answers < batch->seq - 2) {
		ssize_t n = mnl_socket_recvfrom(s, bytes, sizeof(bytes));
		if (n == -1)
			goto end;
		if (read_answers(bytes, (size_t)n, &n_answers, at) == -1)
			goto end;
	}
	result = 0;

end:;
	int number = errno;
	mnl_socket_close(s);
	errno = number;
	return result;
}

static int
on_counter(const struct nlmsghdr *h, void *data)
{
	uint64_t *packets = data;
	struct nftnl_obj *o = nftnl_obj_alloc();

	if (o == NULL)
		abort();
	const char *name = NULL;
	if (nftnl_obj_nlmsg_parse(h, o) == 0)
		name = nftnl_obj_get_str(o, NFTNL_OBJ_NAME);
	for (enum ruleset_counter c = 0; c < COUNTER_COUNT; c++)
		if (name != NULL && strcmp(name, ruleset_counter_name(c)) == 0)
			packets[c] = nftnl_obj_get_u64(o, NFTNL_OBJ_CTR_PKTS);
	nftnl_obj_free(o);
	return MNL_CB_OK;
}

int
talk_counters(uint64_t packets[COUNTER_COUNT])
{
	char bytes[ANSWER_SIZE] __attribute__((aligned(8)));
	struct nftnl_obj *o = nftnl_obj_alloc();
	int result = -1;

	if (o == NULL)
		abort();
	memset(packets, 0, sizeof(*packets) * COUNTER_COUNT);
	struct nlmsghdr *h = nftnl_nlmsg_build_hdr(bytes, NFT_MSG_GETOBJ,
	    NFPROTO_INET, NLM_F_DUMP, 1);
	nftnl_obj_set_str(o, NFTNL_OBJ_TABLE, RULESET_TABLE);
	nftnl_obj_set_u32(o, NFTNL_OBJ_TYPE, NFT_OBJECT_COUNTER);
	nftnl_obj_nlmsg_build_payload(h, o);
	nftnl_obj_free(o);
	struct mnl_socket *s = open_socket();
	if (s == NULL)
		return -1;
	if (mnl_socket_sendto(s, h, h->nlmsg_len) == -1)
		goto end;
	int more = MNL_CB_OK;
	while (more == MNL_CB_OK) {
		ssize_t n = mnl_socket_recvfrom(s, bytes, sizeof(bytes));
		if (n == -1)
			goto end;
		more = mnl_cb_run(bytes, (size_t)n, 1, mnl_socket_get_portid(s),
		    on_counter, packets);
	}
	result = more == MNL_CB_STOP ? 0 : -1;

end:;
	int number = errno;
	mnl_socket_close(s);
	errno = number;
	return result;
}
