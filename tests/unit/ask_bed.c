/* SPDX-License-Identifier: Apache-2.0 */
#include "ask_bed.h"

/* Rule 0 is exact, 1 has a wildcard, 2 a literal, 3 plain HTTP, 4 denies. */
static const char template[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - {name: exact, allow: 'https://ok.test:PORT', addresses: "
    "[127.0.0.1]}\n"
    "      - {name: wild, allow: 'https://*.wild.test:PORT', addresses: "
    "[127.0.0.1]}\n"
    "      - {name: literal, allow: 'https://127.0.0.1:PORT'}\n"
    "      - {name: plain, allow: 'http://plain.test:PORT', addresses: "
    "[127.0.0.1]}\n"
    "      - {name: cut, deny: 'https://cut.wild.test:PORT/**'}\n"
    "      - {name: private, allow: 'https://private.test:PORT'}\n"
    "      - {name: asked, allow: 'https://asked.test:PORT'}\n"
    "      - {name: far, allow: 'https://far.test:PORT'}\n"
    "      - {name: few, allow: 'https://*.few.test:PORT', addresses: "
    "[127.0.0.1], limits: {names: 2}}\n"
    "      - {name: seen, allow: 'https://ok.test:PORT/seen', report: true}\n";

static const char config_template[] =
    "version: 1\n"
    "upstream:\n"
    "  - names: [far.test]\n"
    "    proxy: http://127.0.0.1:PORT\n"
    "  - {names: [private.test], addresses: [10.0.0.1, 192.168.0.1]}\n"
    "  - {names: [asked.test], resolvers: ['127.0.0.1:1']}\n"
    "  - {names: ['**'], addresses: [127.0.0.1]}\n";

struct loop *loop;
struct bed bed;
struct buf image; /* a copy: the asks own their program */
struct resolver *resolver;
struct recorder *recorder;
struct asks *asks;
struct roles roles;
int listener;
uint16_t port;

void
turn(void)
{
	for (int i = 0; i < 30; i++)
		event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
}

void
on_keeper(struct channel *c, struct msg *m, void *arg)
{
	uint8_t body[2] = { 0, (uint8_t)roles.keeper_says };
	struct msg told = { .op = OP_TOLD,
		.body = slice_of(body, sizeof(body)) };
	struct who who;
	enum err err;
	(void)arg;

	if (m == NULL)
		return;
	assert_int_equal(m->op, OP_TELL);
	struct rd r = rd_of(m->body);
	roles.n_told++;
	assert_true(who_read(&r, &who));
	roles.told.sandbox = who.sandbox;
	roles.told.generation = who.generation;
	snprintf(roles.told.digest, sizeof(roles.told.digest), "%.*s",
	    SLICE_ARG(who.digest));
	snprintf(roles.told.flow, sizeof(roles.told.flow), "%.*s",
	    SLICE_ARG(who.flow));
	roles.told.cookie = rd_u64(&r);
	roles.told.port = rd_u16(&r);
	struct slice host = rd_slice8(&r);
	assert_true(rd_is_done(&r));
	snprintf(roles.told.host, sizeof(roles.told.host), "%.*s",
	    SLICE_ARG(host));
	told.id = m->id;
	if (!roles.keeper_is_silent)
		assert_int_equal(channel_send(c, &told, &err), 0);
}

static void
on_scribe(struct channel *c, struct msg *m, void *arg)
{
	uint8_t written = !roles.scribe_is_full;
	struct msg answer = { .op = OP_WRITTEN, .body = slice_of(&written, 1) };
	enum err err;
	(void)arg;

	if (m == NULL)
		return;
	assert_int_equal(m->op, OP_EVENT);
	if (m->body.n != 0) {
		size_t i = roles.n_events++;
		assert_true(i < EVENTS_MAX && m->body.n <= 2048);
		memcpy(roles.bytes[i], m->body.p, m->body.n);
		assert_true(event_decode(slice_of(roles.bytes[i], m->body.n),
		    &roles.events[i]));
	}
	answer.id = m->id;
	if (m->id != 0 && !roles.scribe_is_silent)
		assert_int_equal(channel_send(c, &answer, &err), 0);
}

void
on_nobody(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)arg;
	assert_null(m);
}

static void
on_dial(struct channel *c, struct msg *m, void *arg)
{
	(void)arg;
	if (m == NULL)
		return;
	fails_from(roles.no_memory, false);
	ask_take(asks, c, m);
	fails_from(0, false);
}

static void
on_status(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)arg;
	recorder_take_msg(recorder, m);
}

void
link_up(struct channel **ours, channel_on_msg *on_ours, struct channel **theirs,
    channel_on_msg *on_theirs)
{
	enum err err;
	int pair[2];

	assert_int_equal(spawn_pair(pair, &err), 0);
	*ours = channel_new(loop, pair[0], on_ours, NULL, &err);
	*theirs = channel_new(loop, pair[1], on_theirs, NULL, &err);
	assert_non_null(*ours);
	assert_non_null(*theirs);
}

void
set_status(bool takes)
{
	uint8_t body = takes;
	struct msg m = { .op = OP_STATUS, .body = slice_of(&body, 1) };
	enum err err;

	assert_int_equal(channel_send(roles.scribe, &m, &err), 0);
	turn();
}

struct program *
own_program(void)
{
	enum err err;
	struct program *p = program_open(buf_slice(&image), &err);

	assert_non_null(p);
	return p;
}

int
start(void **state)
{
	enum err err;
	(void)state;

	loop = loop_new(&err);
	roles = (struct roles){ 0 };
	resolver = resolver_new(loop, &err);
	recorder = recorder_new(loop, NULL, NULL, &err);
	asks = asks_new(loop, resolver, recorder, &err);
	link_up(&roles.worker, on_nobody, &roles.dialer_worker, on_dial);
	link_up(&roles.keeper, on_keeper, &roles.dialer_keeper, on_nobody);
	link_up(&roles.scribe, on_scribe, &roles.dialer_scribe, on_status);
	recorder_set_channel(recorder, roles.dialer_scribe);
	set_status(true);
	asks_set_keeper(asks, roles.dialer_keeper);
	asks_set_owner(asks, owner_open(buf_slice(&bed.owner_image), &err));
	assert_int_equal(asks_set_name(asks, SANDBOX, SLICE("box"), &err), 0);
	assert_int_equal(asks_set_program(asks, SANDBOX, GENERATION,
			     SLICE(DIGEST), own_program(), &err),
	    0);
	return 0;
}

int
stop(void **state)
{
	(void)state;
	clock_set(0, 0);
	asks_free(asks);
	recorder_set_channel(recorder, NULL);
	recorder_free(recorder);
	resolver_free(resolver);
	channel_free(roles.worker);
	channel_free(roles.keeper);
	channel_free(roles.scribe);
	channel_free(roles.dialer_worker);
	channel_free(roles.dialer_keeper);
	channel_free(roles.dialer_scribe);
	loop_free(loop);
	return 0;
}

void
on_dialed(struct msg *m, void *arg)
{
	struct dialed *d = arg;

	d->n++;
	d->lost = m == NULL;
	if (m == NULL)
		return;
	assert_int_equal(m->op, OP_DIALED);
	struct rd r = rd_of(m->body);
	d->reason = (enum reason)rd_u16(&r);
	struct slice detail = rd_slice8(&r), peer = rd_slice8(&r);
	d->cookie = rd_u64(&r);
	assert_true(rd_is_done(&r));
	snprintf(d->detail, sizeof(d->detail), "%.*s", SLICE_ARG(detail));
	snprintf(d->peer, sizeof(d->peer), "%.*s", SLICE_ARG(peer));
	d->fd = msg_take_fd(m, 0);
}

void
ask_as(const struct who *who, uint32_t rule, const char *host, struct dialed *d)
{
	uint8_t body[512];
	struct wr w = wr_of(body, sizeof(body));
	enum err err;

	*d = (struct dialed){ .fd = -1 };
	who_write(&w, who);
	wr_u32(&w, rule);
	wr_u16(&w, port);
	wr_slice8(&w, slice_of_str(host));
	struct msg m = { .op = OP_DIAL, .body = wr_slice(&w) };
	assert_true(channel_ask(roles.worker, &m, on_dialed, d, &err) != 0);
	turn();
}

void
ask(uint32_t sandbox, uint32_t generation, uint32_t rule, const char *host,
    struct dialed *d)
{
	const struct who who = { sandbox, generation, SLICE(DIGEST),
		SLICE("w0-1") };

	ask_as(&who, rule, host, d);
}

const struct event *
last_event(void)
{
	assert_true(roles.n_events != 0);
	return &roles.events[roles.n_events - 1];
}

void
expect_text(const struct event *e, enum event_field field, const char *want)
{
	char got[512];

	snprintf(got, sizeof(got), "%.*s", SLICE_ARG(event_text_of(e, field)));
	assert_string_equal(got, want);
}

void
expect_same_again(const struct event *e)
{
	struct facts facts;

	assert_true(facts_from_event(e, &facts));
	struct verdict v = policy_decide(bed.program, &facts);
	expect_text(e, FIELD_VERDICT, v.allow ? "allow" : "deny");
	expect_text(e, FIELD_REASON, reason_name(v.reason));
}

static void
put_port(const char *text, char *out, size_t max)
{
	size_t used = 0;

	for (const char *p = text; *p != '\0';) {
		bool here = strncmp(p, "PORT", 4) == 0;
		used += (size_t)snprintf(out + used, max - used,
		    here ? "%u" : "%c", here ? port : (unsigned)*p);
		p += here ? 4 : 1;
	}
}

int
set_up(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);
	char text[sizeof(template) + 64], config[sizeof(config_template) + 64];
	(void)state;

	listener =
	    socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 512), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &n), 0);
	port = ntohs(at.sin_port);
	put_port(template, text, sizeof(text));
	put_port(config_template, config, sizeof(config));
	bed_load_trusted(&bed, config, text);
	if (bed.program == NULL || bed.owner == NULL)
		print_error("%s", buf_text(&bed.text));
	buf_init(&image, 1 << 20);
	assert_true(buf_put(&image, buf_slice(&bed.image)));
	return bed.program == NULL || bed.owner == NULL ? -1 : 0;
}

int
tear_down(void **state)
{
	(void)state;
	close(listener);
	buf_release(&image);
	bed_release(&bed);
	return 0;
}
