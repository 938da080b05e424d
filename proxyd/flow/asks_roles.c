/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/rd.h"
#include "base/wr.h"
#include "flow/asks_roles.h"
#include "flow/sandbox.h"
#include "net/stream_tcp.h"
#include "priv/ops.h"
#include "priv/who.h"
#include "tls/stream_tls.h"
#include "wire/host.h"

#define ASK_MAX 1024 /* bytes of a request of ours */

enum asked_kind {
	ASKED_DIAL,
	ASKED_RELEASE,
	ASKED_SHAKE,
	ASKED_SPOOL,
};

struct asked {
	enum asked_kind kind;
	struct asks_roles *roles; /* borrowed */
	struct channel *channel;  /* borrowed; where `id` was asked */
	uint32_t id;		  /* all but SHAKE */
	struct leaf_wait *leaf;	  /* SHAKE */
	struct stream *client;	  /* SHAKE: borrowed, the flow's */
	bool tls;		  /* DIAL */
	enum alpn_offer offer;	  /* DIAL */
	enum alpn alpn;		  /* SHAKE */
	struct host host;	  /* DIAL */
	asks_on_dialled *on_dialled;
	asks_on_released *on_released;
	asks_on_shaken *on_shaken;
	asks_on_spooled *on_spooled;
	void *arg;
};

/* The head of what is asked for a flow. */
static struct who
who_of(const struct sandbox *sb, const struct generation *g, const char *flow)
{
	return (struct who){ .sandbox = sb->id,
		.generation = g->number,
		.digest = slice_of_str(g->digest),
		.flow = slice_of_str(flow) };
}

static enum reason
may_admit(void *arg)
{
	const struct asks_roles *r = arg;

	if (r->recorder == NULL || !recorder_has_scribe(r->recorder) ||
	    !channel_is_open(r->dialer) || !channel_is_open(r->keeper))
		return REASON_SHUTDOWN;
	return recorder_is_ready(r->recorder) ? REASON_ALLOW :
						REASON_AUDIT_FULL;
}

static bool
is_behind(void *arg)
{
	const struct asks_roles *r = arg;

	return r->recorder != NULL && recorder_is_behind(r->recorder);
}

static bool
record(void *arg, const struct event *e, asks_on_written *on_written,
    void *cb_arg)
{
	struct asks_roles *r = arg;

	return r->recorder != NULL &&
	    recorder_send(r->recorder, e, on_written, cb_arg) == 0;
}

/* --- dial ---------------------------------------------------------------- */

static void
dial_failed(asks_on_dialled *on, void *arg, enum reason reason,
    const char *detail)
{
	const struct dial_answer a = { .reason = reason,
		.detail = slice_of_str(detail) };

	on(&a, arg);
}

static struct stream *
over(const struct asked *q, int fd)
{
	struct asks_roles *r = q->roles;
	enum err err;

	if (!q->tls)
		return stream_tcp_new(r->loop, fd, &err);
	struct owner_upstream up =
	    owner_upstream(r->owner, host_slice(&q->host));
	const struct stream_tls_peer peer = {
		.host = host_slice(&q->host),
		.literal = q->host.is_ip,
		.alpn = q->offer,
		.item = up.found ? up.index : CTX_ITEM_NONE,
		.only_roots = up.found && up.only_roots,
	};
	return stream_tls_connect(r->loop, fd, r->client, &peer, &err);
}

static void
on_dialled(struct msg *m, void *arg)
{
	struct asked *q = arg;
	struct dial_answer a = { .reason = REASON_SHUTDOWN,
		.detail = SLICE("the dialer is away") };

	if (m != NULL) {
		struct rd in = rd_of(m->body);
		uint16_t reason = rd_u16(&in);
		a.detail = rd_slice8(&in);
		a.address = rd_slice8(&in);
		a.cookie = rd_u64(&in);
		bool valid = rd_is_done(&in) && reason < REASON_COUNT;
		a.reason = valid ? (enum reason)reason : REASON_INTERNAL;
		int fd = a.reason == REASON_ALLOW ? msg_take_fd(m, 0) : -1;
		if (fd >= 0)
			a.stream = over(q, fd);
		if (a.reason == REASON_ALLOW && fd < 0) {
			a.reason = REASON_LIMIT_CONNS;
			a.detail = SLICE("no descriptor left");
		} else if (a.reason == REASON_ALLOW && a.stream == NULL) {
			a.reason = REASON_INTERNAL;
		}
	}
	asks_on_dialled *on = q->on_dialled;
	void *cb_arg = q->arg;
	free(q);
	on(&a, cb_arg);
}

static struct asked *
dial(void *arg, struct sandbox *sb, const struct dial_ask *ask,
    asks_on_dialled *on, void *cb_arg)
{
	struct asks_roles *r = arg;
	uint8_t body[ASK_MAX];
	struct wr w = wr_of(body, sizeof(body));
	struct asked *q = calloc(1, sizeof(*q));
	enum err err;

	if (q == NULL || r->client == NULL || r->owner == NULL) {
		free(q);
		dial_failed(on, cb_arg, REASON_INTERNAL, "not set up");
		return NULL;
	}
	*q = (struct asked){ .kind = ASKED_DIAL,
		.roles = r,
		.channel = r->dialer,
		.tls = ask->tls,
		.offer = ask->alpn,
		.host = *ask->host,
		.on_dialled = on,
		.arg = cb_arg };
	const struct who who = who_of(sb, ask->generation, ask->flow);
	who_write(&w, &who);
	wr_u32(&w, ask->rule);
	wr_u16(&w, ask->port);
	wr_slice8(&w,
	    ask->name_it ? host_slice(ask->host) : (struct slice){ 0 });
	const struct msg m = { .op = OP_DIAL, .body = wr_slice(&w) };
	if (r->dialer != NULL)
		q->id = channel_ask(r->dialer, &m, on_dialled, q, &err);
	if (q->id == 0) {
		free(q);
		dial_failed(on, cb_arg, REASON_SHUTDOWN, "the dialer is away");
		return NULL;
	}
	return q;
}

/* --- release ------------------------------------------------------------- */

static void
on_released(struct msg *m, void *arg)
{
	struct asked *q = arg;
	asks_on_released *on = q->on_released;
	void *cb_arg = q->arg;
	enum reason reason = REASON_CRED_UNAVAILABLE;
	struct slice value = { 0 };

	if (m != NULL) {
		struct rd in = rd_of(m->body);
		uint16_t n = rd_u16(&in);
		value = rd_slice16(&in);
		if (rd_is_done(&in) && n < REASON_COUNT)
			reason = (enum reason)n;
		if (reason == REASON_ALLOW && value.n == 0)
			reason = REASON_CRED_UNAVAILABLE;
	}
	free(q);
	on(reason, value, cb_arg);
}

static struct asked *
release(void *arg, struct sandbox *sb, const struct release_ask *ask,
    asks_on_released *on, void *cb_arg)
{
	struct asks_roles *r = arg;
	uint8_t body[ASK_MAX];
	struct wr w = wr_of(body, sizeof(body));
	struct asked *q = calloc(1, sizeof(*q));
	enum err err;

	const struct who who = who_of(sb, ask->generation, ask->flow);
	who_write(&w, &who);
	wr_u32(&w, ask->rule);
	wr_u32(&w, ask->credential);
	const struct msg m = { .op = OP_RELEASE,
		.body = wr_slice(&w),
		.fds = { stream_fd(ask->upstream) },
		.n_fds = 1 };
	if (q != NULL && r->keeper != NULL && m.fds[0] >= 0) {
		*q = (struct asked){ .kind = ASKED_RELEASE,
			.roles = r,
			.channel = r->keeper,
			.on_released = on,
			.arg = cb_arg };
		q->id = channel_ask(r->keeper, &m, on_released, q, &err);
		if (q->id != 0)
			return q;
	}
	free(q);
	on(REASON_CRED_UNAVAILABLE, (struct slice){ 0 }, cb_arg);
	return NULL;
}

/* --- shake --------------------------------------------------------------- */

/* The client's stream becomes TLS; what was peeked at is fed in first. */
static void
accept_with(const struct asked *q, struct leaf *leaf)
{
	const struct asks_roles *r = q->roles;
	enum err err;
	int fd = stream_detach(q->client);
	const struct stream_tls_answer answer = { .leaf = leaf,
		.kept = stream_peek(q->client),
		.alpn = q->alpn };
	struct stream *s = NULL;

	if (fd >= 0)
		s = stream_tls_accept(r->loop, fd, r->server, &answer, &err);
	if (s != NULL)
		stream_close(q->client);
	q->on_shaken(s, s == NULL ? REASON_INTERNAL : REASON_ALLOW, q->arg);
}

static void
on_leaf(struct leaf *leaf, enum reason reason, void *arg)
{
	struct asked *q = arg;
	struct asked was = *q;

	free(q);
	if (leaf == NULL)
		was.on_shaken(NULL, reason, was.arg);
	else
		accept_with(&was, leaf);
}

static struct asked *
shake(void *arg, struct sandbox *sb, const struct shake_ask *ask,
    asks_on_shaken *on, void *cb_arg)
{
	struct asks_roles *r = arg;
	const struct leaf_name name = {
		.name = ask->name,
		.literal = ask->literal,
		.refused = ask->refused,
	};
	const struct asked asked = { .kind = ASKED_SHAKE,
		.roles = r,
		.client = ask->client,
		.alpn = ask->alpn,
		.on_shaken = on,
		.arg = cb_arg };
	struct leaf *leaf = leaf_find(sb->leaves, &name);
	struct asked *q = NULL;
	enum err err = ERR_MEMORY;

	if (leaf != NULL) {
		accept_with(&asked, leaf);
		leaf_unref(leaf);
		return NULL;
	}
	q = calloc(1, sizeof(*q));
	if (q != NULL) {
		const struct who who = who_of(sb, ask->generation, ask->flow);
		*q = asked;
		q->leaf = leaf_ask(sb->leaves, &name, &who, on_leaf, q, &err);
		if (q->leaf != NULL)
			return q;
	}
	free(q);
	on(NULL, err == ERR_FULL ? REASON_LIMIT_RATE : REASON_SHUTDOWN, cb_arg);
	return NULL;
}

/* --- spool --------------------------------------------------------------- */

static void
on_spooled(struct msg *m, void *arg)
{
	struct asked *q = arg;
	asks_on_spooled *on = q->on_spooled;
	void *cb_arg = q->arg;
	struct slice why = SLICE("the monitor is away");
	int fd = -1;

	if (m != NULL) {
		struct rd in = rd_of(m->body);
		why = rd_slice8(&in);
		fd = rd_is_done(&in) && why.n == 0 ? msg_take_fd(m, 0) : -1;
		if (fd < 0 && why.n == 0)
			why = SLICE("no descriptor left");
	}
	free(q);
	on(fd, why, cb_arg);
}

static struct asked *
spool(void *arg, struct sandbox *sb, asks_on_spooled *on, void *cb_arg)
{
	struct asks_roles *r = arg;
	uint8_t body[8];
	struct wr w = wr_of(body, sizeof(body));
	struct asked *q = calloc(1, sizeof(*q));
	enum err err;

	wr_u32(&w, sb->id);
	const struct msg m = { .op = OP_SPOOL, .body = wr_slice(&w) };
	if (q != NULL && r->monitor != NULL) {
		*q = (struct asked){ .kind = ASKED_SPOOL,
			.roles = r,
			.channel = r->monitor,
			.on_spooled = on,
			.arg = cb_arg };
		q->id = channel_ask(r->monitor, &m, on_spooled, q, &err);
		if (q->id != 0)
			return q;
	}
	free(q);
	on(-1, SLICE("the monitor cannot be asked"), cb_arg);
	return NULL;
}

static void
cancel(void *arg, struct asked *q)
{
	(void)arg;
	if (q == NULL)
		return;
	if (q->kind == ASKED_SHAKE)
		leaf_cancel(q->leaf);
	else
		channel_cancel(q->channel, q->id);
	free(q);
}

static bool
is_verified(void *arg, const struct stream *s, const struct host *host)
{
	(void)arg;
	return stream_tls_is_verified(s, host_slice(host), host->is_ip);
}

static enum alpn
alpn(void *arg UNUSED, const struct stream *s)
{
	return stream_tls_alpn(s);
}

static bool
speaks_none(void *arg UNUSED, const struct stream *s)
{
	return stream_tls_speaks_none(s);
}

const struct asks asks_roles = {
	.may_admit = may_admit,
	.is_behind = is_behind,
	.record = record,
	.dial = dial,
	.release = release,
	.shake = shake,
	.spool = spool,
	.cancel = cancel,
	.is_verified = is_verified,
	.alpn = alpn,
	.speaks_none = speaks_none,
};
