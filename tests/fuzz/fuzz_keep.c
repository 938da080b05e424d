/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker and a dialer that were taken over, against the keeper: a list of
 * messages, each an operation, a length, and a body.  A TELL gets the cookie of
 * a real connection behind its head, so that a release can succeed; then what
 * was asked must be what policy allows.  One secret comes late, or not at all,
 * and the worker may be gone before it.
 */
#include <sys/socket.h>

#include <netinet/in.h>

#include <event2/event.h>

#include "base/rd.h"
#include "base/wr.h"
#include "fuzz.h"
#include "keep/fresh.h"
#include "keep/issue.h"
#include "keep/store.h"
#include "load/load.h"
#include "priv/ops.h"
#include "priv/who.h"

#define SANDBOX 1
#define GENERATION 1
#define DIGEST "sha256:0"
#define MESSAGES_MAX 8

static const char config[] =
    "version: 1\ncredentials:\n  one:\n    kind: token\n"
    "    secret: {env: ONE}\n    only: [\"https://a.test/**\"]\n"
    "  two:\n    kind: basic\n    slot: user\n"
    "    secret: {command: [/bin/two]}\n"
    "    only: [\"https://a.test/**\"]\n";
static const char policy[] =
    "version: 1\npolicies:\n  p:\n    rules:\n"
    "      - {allow: \"https://a.test/**\", credential: one}\n"
    "      - {allow: \"https://b.test/**\"}\n"
    "      - {allow: \"https://a.test/**\", methods: [PUT], credential: two}\n";

#define ONE 0 /* credentials */
#define TWO 1
static const uint32_t rule_of[] = { [ONE] = 0, [TWO] = 2 };

static struct {
	struct loop *loop;
	struct store *store;
	struct recorder *recorder;
	struct channel *keeper, *worker, *scribe, *to_scribe;
	int tcp;
	uint64_t cookie;
	struct fresh *fresh; /* of one input, as the next */
	struct issue *issue;
	bool asked[2]; /* a RELEASE asked for that credential by its rule */
	unsigned n_released;
} bed;

static void
on_event(struct channel *c, struct msg *m, void *arg)
{
	static const uint8_t yes = 1;
	enum err err;

	(void)arg;
	if (m == NULL || m->id == 0)
		return;
	const struct msg answer = { .op = OP_WRITTEN,
		.id = m->id,
		.body = slice_of(&yes, 1) };
	CHECK(channel_send(c, &answer, &err) == 0);
}

static void
on_scribe_says(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)arg;
	recorder_take_msg(bed.recorder, m);
}

static void
on_answer(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)arg;
	if (m == NULL || m->op != OP_RELEASED)
		return;
	struct rd r = rd_of(m->body);
	uint16_t reason = rd_u16(&r);
	struct slice value = rd_slice16(&r);
	CHECK(rd_is_done(&r));
	CHECK((reason == REASON_ALLOW) == (value.n != 0));
	if (value.n != 0) {
		bool one = slice_eq_str(value, "Bearer s3cret");
		CHECK(one || slice_eq_str(value, "Basic ZnJlc2g6"));
		CHECK(bed.asked[one ? ONE : TWO]);
		bed.n_released++;
	}
}

static bool
on_want(uint32_t credential, void *arg)
{
	(void)arg;
	CHECK(credential == TWO);
	return true;
}

static void
on_settled(uint32_t credential, const char *why, void *arg)
{
	(void)arg;
	CHECK(credential == TWO && why == NULL);
	issue_settled(bed.issue, credential);
}

static const struct fresh_ops fresh_ops = { on_want, on_settled };

/* Does this RELEASE ask for what its rule has? */
static void
note_asked(struct slice bytes)
{
	struct rd r = rd_of(bytes);
	struct who who;

	if (!who_read(&r, &who) || who.sandbox != SANDBOX ||
	    who.generation != GENERATION || !slice_eq_str(who.digest, DIGEST))
		return;
	uint32_t rule = rd_u32(&r), credential = rd_u32(&r);
	if (rd_is_done(&r) && credential <= TWO && rule == rule_of[credential])
		bed.asked[credential] = true;
}

static void
turn(void)
{
	for (int i = 0; i < 3; i++)
		event_base_loop(loop_base(bed.loop), EVLOOP_NONBLOCK);
}

static void
make_pair(struct channel **a, channel_on_msg *on_a, struct channel **b,
    channel_on_msg *on_b)
{
	enum err err;
	int fd[2];

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fd) == 0);
	*a = channel_new(bed.loop, fd[0], on_a, NULL, &err);
	*b = channel_new(bed.loop, fd[1], on_b, NULL, &err);
	CHECK(*a != NULL && *b != NULL);
}

static void
connect_tcp(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(bind(listener, (struct sockaddr *)&a, n) == 0);
	CHECK(listen(listener, 1) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&a, &n) == 0);
	bed.tcp = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(bed.tcp, (struct sockaddr *)&a, n) == 0);
	n = sizeof(bed.cookie);
	CHECK(getsockopt(bed.tcp, SOL_SOCKET, SO_COOKIE, &bed.cookie, &n) == 0);
}

static void
load_policies(void)
{
	static struct buf owner_image, image;
	struct load_report report = { 0 };
	const struct load_file file = { SLICE("c"), SLICE("/"),
		slice_of_str(config) };
	const struct load_owner_in owner_in = { .files = &file, .n_files = 1 };
	struct load_policy_in in = { .file = { SLICE("p"), SLICE("/"),
					 slice_of_str(policy) } };
	enum err err;

	buf_init(&owner_image, IMAGE_SIZE_MAX);
	buf_init(&image, IMAGE_SIZE_MAX);
	CHECK(load_owner(&owner_in, &owner_image, &report));
	struct owner *owner = owner_open(buf_slice(&owner_image), &err);
	CHECK(owner != NULL);
	in.owner = owner;
	CHECK(load_policy(&in, &image, &report));
	struct program *program = program_open(buf_slice(&image), &err);
	CHECK(program != NULL);
	load_report_release(&report);
	CHECK(store_set_owner(bed.store, owner, &err) == 0);
	CHECK(store_set_name(bed.store, SANDBOX, SLICE("box"), &err) == 0);
	CHECK(store_set_program(bed.store, SANDBOX, GENERATION, SLICE(DIGEST),
		  program, &err) == 0);
	CHECK(store_set_secret(bed.store, 0, true, SLICE("s3cret"), &err) == 0);
}

static void
set_up(void)
{
	static const uint8_t yes = 1;
	const struct msg status = { .op = OP_STATUS,
		.body = slice_of(&yes, 1) };
	enum err err;

	bed.loop = loop_new(&err);
	bed.store = store_new(&err);
	bed.recorder = recorder_new(bed.loop, NULL, NULL, &err);
	load_policies();
	make_pair(&bed.keeper, on_answer, &bed.worker, on_answer);
	make_pair(&bed.scribe, on_event, &bed.to_scribe, on_scribe_says);
	recorder_set_channel(bed.recorder, bed.to_scribe);
	CHECK(channel_send(bed.scribe, &status, &err) == 0);
	connect_tcp();
	turn();
}

/* A TELL for the connection that there is. */
static struct slice
with_cookie(struct slice bytes, uint8_t body[300])
{
	struct wr w = wr_of(body, 300);
	struct rd r = rd_of(bytes);
	struct who who;

	if (!who_read(&r, &who))
		return bytes;
	who_write(&w, &who);
	wr_u64(&w, bed.cookie);
	wr_bytes(&w, r.in);
	return wr_slice(&w);
}

static void
give(struct issue *issue, uint8_t op, struct slice bytes, bool shown)
{
	uint8_t body[300];
	struct msg m = { .id = 1, .body = bytes };
	enum err err;

	if (shown)
		m.fds[m.n_fds++] = bed.tcp;
	switch ((op & 0x7f) % 6) {
	case 0:
		issue_leaf(issue, bed.keeper, &m);
		break;
	case 1:
		m.body = with_cookie(bytes, body);
		issue_tell(issue, bed.keeper, &m);
		break;
	case 2:
		note_asked(bytes);
		issue_release(issue, bed.keeper, &m);
		break;
	case 3:
		issue_certify(issue, bed.keeper, &m);
		break;
	case 4:
		CHECK(store_set_secret(bed.store, TWO, true, SLICE("fresh"),
			  &err) == 0);
		fresh_take_given(bed.fresh, TWO, shown);
		CHECK(store_is_current(bed.store, TWO) == shown);
		break;
	default:
		issue_forget(issue, bed.keeper);
		break;
	}
	turn();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd r = rd_of(slice_of(data, size));
	enum err err;

	if (bed.loop == NULL)
		set_up();
	struct issue *issue = issue_new(bed.store, bed.recorder, &err);
	bed.fresh = fresh_new(bed.loop, bed.store, &fresh_ops, NULL, &err);
	CHECK(issue != NULL && bed.fresh != NULL);
	bed.issue = issue;
	issue_set_fresh(issue, bed.fresh);
	store_drop_secret(bed.store, TWO);
	bed.asked[ONE] = bed.asked[TWO] = false;
	for (int i = 0; i < MESSAGES_MAX && r.in.n != 0; i++) {
		uint8_t op = rd_u8(&r);
		struct slice body = rd_slice8(&r);
		if (r.bad)
			break;
		give(issue, op, body, (op & 0x80) == 0);
	}
	issue_free(issue);
	fresh_free(bed.fresh);
	return 0;
}
