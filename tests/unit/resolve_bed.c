/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve_bed.h"

struct loop *loop;

static void
name_text(struct slice wire, char *out, size_t max)
{
	struct rd r = rd_of(wire);
	size_t n = 0;

	for (uint8_t len; (len = rd_u8(&r)) != 0;) {
		struct slice label = rd_bytes(&r, len);
		assert_true(n + label.n + 1 < max);
		memcpy(out + n, label.p, label.n);
		n += label.n;
		out[n++] = '.';
	}
	out[n == 0 ? 0 : n - 1] = '\0';
}

static void
put_name(struct wr *w, const char *name)
{
	for (const char *dot; *name != '\0'; name = dot + (*dot == '.')) {
		for (dot = name; *dot != '.' && *dot != '\0';)
			dot++;
		wr_slice8(w, slice_of(name, (size_t)(dot - name)));
	}
	wr_u8(w, 0);
}

static void
put_record(struct wr *w, const char *owner, uint16_t type, struct slice data)
{
	put_name(w, owner);
	wr_u16(w, type);
	wr_u16(w, 1);
	wr_u32(w, 0);
	wr_slice16(w, data);
}

static void
put_alias(struct wr *w, const char *owner, const char *target)
{
	uint8_t bytes[256];
	struct wr data = wr_of(bytes, sizeof(bytes));

	put_name(&data, target);
	put_record(w, owner, TYPE_CNAME, wr_slice(&data));
}

/* The records of an answer; returns how many. */
static uint16_t
put_records(struct wr *w, const struct script *s, const char *name,
    uint16_t type)
{
	char owner[300], next[300];
	uint16_t n = 0;

	snprintf(owner, sizeof(owner), "%s", name);
	for (unsigned i = 0; i < s->n_cname; i++, n++) {
		snprintf(next, sizeof(next), s->loop ? "c%u.test" : "c%u.test",
		    s->loop ? i % 2 : i);
		put_alias(w, owner, next);
		memcpy(owner, next, sizeof(owner));
	}
	for (unsigned i = 0; i < s->n; i++, n++) {
		uint8_t v4[4] = { 192, 0, 2, (uint8_t)i };
		uint8_t v6[16] = { 0x20, 1, 0xd, 0xb8, [15] = (uint8_t)i };
		put_record(w, s->how == OTHER_OWNER ? "evil.test" : owner, type,
		    type == TYPE_A ? slice_of(v4, 4) : slice_of(v6, 16));
	}
	return n;
}

size_t
answer(struct server *sv, struct slice question, bool tcp, uint8_t *out,
    size_t max)
{
	struct rd r = rd_of(question);
	uint16_t id = rd_u16(&r);
	rd_bytes(&r, 10);
	struct slice rest = r.in;
	size_t at = 0;

	while (at < rest.n && rest.p[at] != 0)
		at += rest.p[at] + 1U;
	name_text(slice_first(rest, at + 1), sv->last, sizeof(sv->last));
	for (const char *p = sv->last; *p != '\0'; p++)
		sv->mixed |= *p >= 'A' && *p <= 'Z';
	uint16_t type = (uint16_t)(rest.p[at + 1] << 8 | rest.p[at + 2]);
	const struct script *s = type == TYPE_A ? &sv->a : &sv->aaaa;
	bool cut = s->how == TRUNCATED && !tcp;

	sv->n_questions++;
	sv->n_tcp += tcp;
	if (s->how == SILENT)
		return 0;
	uint16_t flags = 0x8180;
	if (s->how == SERVFAIL)
		flags |= 2;
	if (s->how == NXDOMAIN)
		flags |= 3;
	if (s->how == REFUSED)
		flags |= 5;
	if (cut)
		flags |= 0x200;
	struct wr w = wr_of(out, max);
	wr_u16(&w, s->how == WRONG_ID ? (uint16_t)(id ^ 0x5555) : id);
	wr_u16(&w, flags);
	wr_u16(&w, 1);
	size_t count_at = w.n;
	wr_u16(&w, 0);
	wr_u32(&w, 0);
	put_name(&w, s->how == WRONG_NAME ? "evil.test" : sv->last);
	wr_u16(&w, type);
	wr_u16(&w, 1);
	if (s->how == GARBAGE) {
		out[count_at + 1] = 1;
		put_name(&w, sv->last);
		wr_u16(&w, type);
		wr_u16(&w, 1);
		wr_u32(&w, 0);
		wr_u16(&w, 400);
	} else if (!cut && (flags & 15) == 0 && s->how != NODATA) {
		uint16_t n = put_records(&w, s, sv->last, type);
		out[count_at] = (uint8_t)(n >> 8);
		out[count_at + 1] = (uint8_t)n;
	}
	assert_false(w.bad);
	return w.n;
}

static void
on_udp(evutil_socket_t fd, short what, void *arg)
{
	struct server *sv = arg;
	struct sockaddr_storage from;
	socklen_t n_from = sizeof(from);
	uint8_t in[2048], out[8192];
	(void)what;

	ssize_t n =
	    recvfrom(fd, in, sizeof(in), 0, (struct sockaddr *)&from, &n_from);
	assert_true(n > 12);
	size_t size =
	    answer(sv, slice_of(in, (size_t)n), false, out, sizeof(out));
	if (size != 0)
		assert_int_equal(sendto(fd, out, size, 0,
				     (struct sockaddr *)&from, n_from),
		    size);
}

static void
on_conn(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	uint8_t out[8194];
	(void)what;

	ssize_t n = recv(fd, c->in + c->n, sizeof(c->in) - c->n, 0);
	if (n <= 0) {
		event_free(c->readable);
		close(fd);
		free(c);
		return;
	}
	c->n += (size_t)n;
	while (c->n >= 2 && c->n >= 2U + (c->in[0] << 8 | c->in[1])) {
		size_t used = 2U + (c->in[0] << 8 | c->in[1]);
		size_t size = answer(c->server, slice_of(c->in + 2, used - 2),
		    true, out + 2, sizeof(out) - 2);
		out[0] = (uint8_t)(size >> 8);
		out[1] = (uint8_t)size;
		assert_int_equal(send(fd, out, size + 2, 0), size + 2);
		memmove(c->in, c->in + used, c->n - used);
		c->n -= used;
	}
}

static void
on_tcp(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = calloc(1, sizeof(*c));
	int got = accept(fd, NULL, NULL);
	(void)what;

	assert_non_null(c);
	assert_true(got >= 0);
	c->server = arg;
	c->readable =
	    event_new(loop_base(loop), got, EV_READ | EV_PERSIST, on_conn, c);
	event_add(c->readable, NULL);
}

void
server_init(struct server *sv)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);

	*sv = (struct server){ .udp = -1 };
	sv->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* The port that UDP gets may be somebody's in TCP: then another one. */
	for (int i = 0; i < 100; i++) {
		sv->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		at.sin_port = 0;
		assert_int_equal(bind(sv->udp, (struct sockaddr *)&at,
				     sizeof(at)),
		    0);
		assert_int_equal(getsockname(sv->udp, (struct sockaddr *)&at,
				     &n),
		    0);
		if (bind(sv->tcp, (struct sockaddr *)&at, sizeof(at)) == 0)
			break;
		close(sv->udp);
		sv->udp = -1;
	}
	assert_true(sv->udp >= 0);
	assert_int_equal(listen(sv->tcp, 8), 0);
	sv->port = ntohs(at.sin_port);
	sv->readable = event_new(loop_base(loop), sv->udp, EV_READ | EV_PERSIST,
	    on_udp, sv);
	sv->acceptable = event_new(loop_base(loop), sv->tcp,
	    EV_READ | EV_PERSIST, on_tcp, sv);
	event_add(sv->readable, NULL);
	event_add(sv->acceptable, NULL);
}

void
server_release(struct server *sv)
{
	/* Connections of the resolver, gone by now, see their end here. */
	for (int i = 0; i < 4; i++)
		event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
	event_free(sv->readable);
	event_free(sv->acceptable);
	close(sv->udp);
	close(sv->tcp);
}

struct servers
list_of(const struct server *sv)
{
	return (struct servers){ .n = 1,
		.ips = { ip_v4(127, 0, 0, 1) },
		.ports = { sv->port } };
}

void
on_done(const struct resolved *answer_, void *arg)
{
	struct result *result = arg;

	size_t n = result->answer.n;

	/* A family of which nothing comes changes nothing. */
	assert_true(result->n_done == 0 || result->answer.more);
	assert_true(result->n_done == 0 || answer_->reason == REASON_ALLOW);
	result->n_done++;
	result->answer.reason = answer_->reason;
	result->answer.detail = answer_->detail;
	result->answer.more = answer_->more;
	memcpy(result->answer.ips + n, answer_->ips,
	    answer_->n * sizeof(answer_->ips[0]));
	result->answer.n += answer_->n;
	if (result->at_first || !answer_->more)
		loop_stop(loop);
}

uint64_t
run(struct resolver *r, const struct server *sv, struct result *result)
{
	struct servers s = list_of(sv);
	enum err err;
	uint64_t began = clock_ms();

	*result = (struct result){ 0 };
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), &s, on_done, result, &err));
	assert_int_equal(result->n_done, 0);
	loop_run(loop);
	assert_in_range(result->n_done, 1, 2);
	assert_false(result->answer.more);
	return clock_ms() - began;
}

int
set_up(void **state)
{
	enum err err;
	(void)state;

	loop = loop_new(&err);
	return loop == NULL ? -1 : 0;
}

int
tear_down(void **state)
{
	(void)state;
	loop_free(loop);
	return 0;
}
