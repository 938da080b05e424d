/* SPDX-License-Identifier: Apache-2.0 */
#include "issue_bed.h"

void
turn(struct fixture *f)
{
	for (int i = 0; i < 30; i++)
		event_base_loop(loop_base(f->loop), EVLOOP_NONBLOCK);
}

static void
copy_text(char *to, size_t max, struct slice s)
{
	snprintf(to, max, "%.*s", SLICE_ARG(s));
}

static void
on_event(struct channel *c, struct msg *m, void *arg)
{
	struct fixture *f = arg;
	const uint8_t written = f->writes;
	const struct msg answer = { .op = OP_WRITTEN,
		.id = m == NULL ? 0 : m->id,
		.body = slice_of(&written, 1) };
	enum event_field missing;
	struct event e;
	enum err err;

	if (m == NULL)
		return;
	if (m->body.n != 0) {
		assert_true(event_decode(m->body, &e));
		assert_null(event_check(&e, &missing));
		f->n_events++;
		f->n_alarms += e.kind == EVENT_ALARM;
		f->n_allowed +=
		    slice_eq_str(event_text_of(&e, FIELD_VERDICT), "allow");
		copy_text(f->detail, sizeof(f->detail),
		    event_text_of(&e, FIELD_DETAIL));
		copy_text(f->credential, sizeof(f->credential),
		    event_text_of(&e, FIELD_CREDENTIAL));
		copy_text(f->flow, sizeof(f->flow),
		    event_text_of(&e, FIELD_FLOW));
		/* Whatever happens: never the secret. */
		for (size_t i = 0; i + 11 <= m->body.n; i++)
			assert_memory_not_equal(m->body.p + i, SECRET, 11);
	}
	if (f->on_recorded != NULL)
		f->on_recorded(f);
	if (m->id != 0)
		assert_int_equal(channel_send(c, &answer, &err), 0);
}

static void
on_scribe_says(struct channel *c, struct msg *m, void *arg)
{
	struct fixture *f = arg;

	(void)c;
	recorder_take_msg(f->recorder, m);
}

static void
on_ask(struct channel *c, struct msg *m, void *arg)
{
	struct fixture *f = arg;

	if (m == NULL)
		return;
	switch (m->op) {
	case OP_LEAF:
		issue_leaf(f->issue, c, m);
		break;
	case OP_RELEASE:
		issue_release(f->issue, c, m);
		break;
	case OP_TELL:
		issue_tell(f->issue, c, m);
		break;
	case OP_CERTIFY:
		issue_certify(f->issue, c, m);
		break;
	default:
		fail();
	}
}

static void
ignore(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)m;
	(void)arg;
}

static void
make_pair(struct fixture *f, struct channel **a, channel_on_msg *on_a,
    struct channel **b, channel_on_msg *on_b)
{
	enum err err;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0,
			     fd),
	    0);
	*a = channel_new(f->loop, fd[0], on_a, f, &err);
	*b = channel_new(f->loop, fd[1], on_b, f, &err);
	assert_non_null(*a);
	assert_non_null(*b);
}

static void
connect_tcp(struct fixture *f)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(a);

	f->listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(f->listener, 1), 0);
	getsockname(f->listener, (struct sockaddr *)&a, &n);
	f->client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(f->client, (struct sockaddr *)&a, n), 0);
	f->server = accept(f->listener, NULL, NULL);
	assert_true(f->server >= 0);
}

void
scribe_is(struct fixture *f, uint8_t ready)
{
	const struct msg status = { .op = OP_STATUS,
		.body = slice_of(&ready, 1) };
	enum err err;

	assert_int_equal(channel_send(f->scribe, &status, &err), 0);
	turn(f);
}

static bool
on_want(uint32_t credential, void *arg)
{
	struct fixture *f = arg;

	assert_int_equal(credential, 2);
	f->n_asked++;
	return true;
}

static void
on_settled(uint32_t credential, const char *why, void *arg)
{
	struct fixture *f = arg;

	(void)why;
	issue_settled(f->issue, credential);
}

static const struct fresh_ops fresh_ops = { on_want, on_settled };

int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	enum err err;

	bed_load(&f->policy, CONFIG, POLICY);
	assert_non_null(f->policy.program);
	f->loop = loop_new(&err);
	f->store = store_new(&err);
	f->recorder = recorder_new(f->loop, NULL, NULL, &err);
	f->issue = issue_new(f->store, f->recorder, &err);
	f->fresh = fresh_new(f->loop, f->store, &fresh_ops, f, &err);
	assert_non_null(f->fresh);
	issue_set_fresh(f->issue, f->fresh);
	assert_int_equal(store_set_owner(f->store, f->policy.owner, &err), 0);
	assert_int_equal(store_set_name(f->store, SANDBOX, SLICE("box"), &err),
	    0);
	assert_int_equal(store_set_program(f->store, SANDBOX, GENERATION,
			     SLICE(DIGEST), f->policy.program, &err),
	    0);
	f->policy.owner = NULL;
	f->policy.program = NULL;
	assert_int_equal(store_set_secret(f->store, 0, true, SLICE(SECRET),
			     &err),
	    0);
	assert_int_equal(store_set_secret(f->store, 1, true, SLICE("k"), &err),
	    0);
	make_pair(f, &f->keeper, on_ask, &f->worker, ignore);
	make_pair(f, &f->scribe, on_event, &f->to_scribe, on_scribe_says);
	recorder_set_channel(f->recorder, f->to_scribe);
	f->writes = true;
	scribe_is(f, 1);
	connect_tcp(f);
	*state = f;
	return 0;
}

int
teardown(void **state)
{
	struct fixture *f = *state;

	close(f->listener);
	close(f->client);
	close(f->server);
	issue_free(f->issue);
	fresh_free(f->fresh);
	recorder_free(f->recorder);
	channel_free(f->keeper);
	channel_free(f->worker);
	channel_free(f->scribe);
	channel_free(f->to_scribe);
	turn(f);
	store_free(f->store);
	loop_free(f->loop);
	bed_release(&f->policy);
	free(f);
	return 0;
}

static void
on_answer(struct msg *m, void *arg)
{
	struct fixture *f = arg;

	f->n_answers++;
	f->op = m == NULL ? 0 : m->op;
	f->body_n = m == NULL ? 0 : m->body.n;
	if (m != NULL)
		memcpy(f->body, m->body.p, m->body.n);
}

void
ask(struct fixture *f, uint16_t op, struct slice body, int fd)
{
	struct msg m = { .op = op, .body = body };
	enum err err;

	if (fd >= 0)
		m.fds[m.n_fds++] = fd;
	f->n_answers = f->n_events = f->n_alarms = f->n_allowed = 0;
	f->detail[0] = f->credential[0] = f->flow[0] = '\0';
	assert_int_not_equal(channel_ask(f->worker, &m, on_answer, f, &err), 0);
	turn(f);
}

static uint64_t
cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t n = sizeof(cookie);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &n), 0);
	return cookie;
}

void
tell_as(struct fixture *f, const struct who *who, int fd, const struct dial *d)
{
	uint8_t body[300];
	struct wr w = wr_of(body, sizeof(body));

	who_write(&w, who);
	wr_u64(&w, cookie_of(fd));
	wr_u16(&w, d->port);
	wr_slice8(&w, slice_of_str(d->host));
	ask(f, OP_TELL, wr_slice(&w), -1);
}

enum reason
told(struct fixture *f)
{
	struct rd r = rd_of(slice_of(f->body, f->body_n));
	uint16_t reason = rd_u16(&r);

	assert_int_equal(f->op, OP_TOLD);
	assert_true(rd_is_done(&r));
	return (enum reason)reason;
}

void
tell(struct fixture *f, int fd, const struct dial *d)
{
	const struct who who = { d->sandbox, d->generation, SLICE(DIGEST),
		SLICE("w0-5e") };
	tell_as(f, &who, fd, d);
	assert_int_equal(told(f), REASON_ALLOW);
}

void
release(struct fixture *f, const struct want *want, int fd)
{
	uint8_t body[300];
	struct wr w = wr_of(body, sizeof(body));

	who_write(&w,
	    &(struct who){ want->sandbox, want->generation,
		slice_of_str(want->digest == NULL ? DIGEST : want->digest),
		SLICE("w0-5f") });
	wr_u32(&w, want->rule);
	wr_u32(&w, want->credential);
	ask(f, OP_RELEASE, wr_slice(&w), fd);
}

struct slice
released(struct fixture *f, enum reason *reason)
{
	struct rd r = rd_of(slice_of(f->body, f->body_n));

	assert_int_equal(f->n_answers, 1);
	assert_int_equal(f->op, OP_RELEASED);
	*reason = (enum reason)rd_u16(&r);
	struct slice value = rd_slice16(&r);
	assert_true(rd_is_done(&r));
	return value;
}
