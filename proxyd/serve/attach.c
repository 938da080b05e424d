/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox comes: its policy is compiled, dialer, keeper and worker know it,
 * then its namespace is made ready, then its worker gets the listeners, then its
 * record is in the log; then it is attached.  Whatever fails takes all back.
 * Nothing here waits: each step is the callback of the one before.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/stat.h>

#include <event2/event.h>

#include "audit/event.h"
#include "base/log.h"
#include "base/rd.h"
#include "base/wr.h"
#include "cred/placeholder.h"
#include "serve/entry.h"
#include "serve/keep.h"
#include "serve/restore.h"

void
serve_fill(struct box *b, struct event *e, unsigned kind)
{
	event_init(e, (enum event_kind)kind);
	event_str(e, FIELD_SANDBOX, b->name);
	if (b->image == NULL)
		return;
	event_text(e, FIELD_POLICY, program_policy_name(b->image->program));
	event_str(e, FIELD_PROGRAM, b->image->digest);
	event_number(e, FIELD_GENERATION, b->generation);
}

/* It cannot be; whoever asked is told, and nothing of it stays. */
static void
fail(struct box *b, enum control_code code, const char *why)
{
	struct caller caller = b->caller;
	struct serve *s = b->serve;

	b->caller = (struct caller){ 0 };
	if (b->returns)
		restore_failed(b, why);
	else if (b->is_kept)
		keep_drop(s, b->name);
	box_end(b);
	answer(s, caller, code, why, NULL);
}

static void
say_done(struct box *b, enum control_code code)
{
	struct buf content;

	buf_init(&content, 65536);
	say_box(b, &content);
	answer(b->serve, b->caller, code, "", &content);
	buf_release(&content);
	b->caller = (struct caller){ 0 };
}

static void
on_recorded(struct msg *msg, void *arg)
{
	struct box *b = arg;
	struct rd r = rd_of(msg == NULL ? (struct slice){ 0 } : msg->body);
	bool written = rd_u8(&r) == 1 && !r.bad;

	if (b->state == BOX_RECORDING && !written)
		fail(b, CONTROL_LOG_AWAY, "its record could not be written");
	else if (b->state == BOX_RECORDING) {
		b->state = BOX_ATTACHED;
		b->serve->counts.attached++;
		say_done(b, CONTROL_ATTACHED);
		restore_lost(b);
	}
	box_let_go(b);
}

/* What is not recorded is not attached. */
static void
record(struct box *b)
{
	struct monitor *m = &b->serve->m;
	struct event e;

	b->state = BOX_RECORDING;
	if (!keep_write(b)) {
		fail(b, CONTROL_FAULT, "it cannot be kept over a restart");
		return;
	}
	b->is_kept = true;
	serve_fill(b, &e, EVENT_PROGRAM);
	(void)monitor_record(m, &e, NULL, NULL);
	serve_fill(b, &e, EVENT_ATTACH);
	b->n_waits++;
	if (monitor_record(m, &e, on_recorded, b))
		return;
	b->n_waits--;
	fail(b, CONTROL_ROLE_AWAY, "the scribe is away");
}

static void
on_links(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct box *b = arg;
	struct fail why = { 0 };

	if (capture_watch(&b->capture, &why))
		detach_now(b, REASON_L3_LINK, why.text);
}

/* Another link in there would be a way round us. */
static bool
watch_links(struct box *b)
{
	b->links = event_new(loop_base(b->serve->m.loop),
	    b->capture.socket[NETNS_LINKS], EV_READ | EV_PERSIST, on_links, b);
	return b->links != NULL && event_add(b->links, NULL) == 0;
}

static void
on_ready(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct box *b = arg;
	struct fail why = { 0 };

	if (capture_hear(&b->job, &b->capture, &why) != 0) {
		if (why.err == ERR_AGAIN)
			return;
		b->has_job = false;
		fail(b, CONTROL_CAPTURE_FAILED, why.text);
		return;
	}
	event_free(b->news);
	b->news = NULL;
	b->has_job = false;
	b->has_capture = true;
	if (!watch_links(b)) {
		fail(b, CONTROL_FAULT, "out of memory");
		return;
	}
	box_feed(b);
	record(b);
}

/* Another sandbox has that namespace? */
static const struct box *
find_net(const struct box *b)
{
	const struct box *other;

	TAILQ_FOREACH(other, &b->serve->boxes, entry)
		if (other != b && other->net_fd >= 0 && other->net == b->net)
			return other;
	return NULL;
}

static bool
open_net(struct box *b, struct fail *why)
{
	const struct control_attach *a = &b->asked;
	char path[4096];
	struct stat st;

	snprintf(path, sizeof(path), "%.*s", SLICE_ARG(a->netns));
	if (capture_open(path, a->pid, &b->net_fd, why) != 0) {
		b->net_is_gone = why->err == ERR_MISSING;
		return false;
	}
	if (fstat(b->net_fd, &st) == 0)
		b->net = st.st_ino;
	return restore_is_there(b, why);
}

static int
begin_capture(struct box *b, struct fail *why)
{
	const struct control_attach *a = &b->asked;
	struct capture_config config = { .mode = a->mode,
		.nft_path = netns_nft_path(),
		.net_fd = b->net_fd,
		.n_addresses = a->n_addresses,
		.tcp_port = b->tcp_port,
		.dns_port = b->dns_port,
		.again = b->returns };

	snprintf(config.link, sizeof(config.link), "%.*s",
	    SLICE_ARG(a->interface));
	for (size_t i = 0; i < a->n_addresses; i++)
		config.addresses[i] = a->addresses[i];
	return capture_begin(&config, &b->job, why);
}

static void
capture(struct box *b)
{
	const struct box *other;
	struct fail why = { 0 };
	char text[128];

	b->state = BOX_CAPTURING;
	if (!open_net(b, &why)) {
		fail(b, CONTROL_CAPTURE_FAILED, why.text);
		return;
	}
	other = find_net(b);
	if (other != NULL) {
		snprintf(text, sizeof(text), "sandbox `%s` has that namespace",
		    other->name);
		fail(b, CONTROL_CAPTURE_TAKEN, text);
		return;
	}
	if (begin_capture(b, &why) != 0) {
		fail(b, CONTROL_CAPTURE_FAILED, why.text);
		return;
	}
	b->has_job = true;
	b->news = event_new(loop_base(b->serve->m.loop), b->job.fd,
	    EV_READ | EV_PERSIST, on_ready, b);
	if (b->news == NULL || event_add(b->news, NULL) != 0)
		fail(b, CONTROL_FAULT, "out of memory");
}

/* Nothing is to be made ready but a listener. */
static void
enter(struct box *b)
{
	struct fail why = { 0 };

	b->state = BOX_CAPTURING;
	if (!entry_open(b, &why)) {
		fail(b, CONTROL_CAPTURE_FAILED, why.text);
		return;
	}
	box_feed(b);
	record(b);
}

/* One for each credential that a rule of it names: what the sandbox sees is not
 * shown by us, but a stranger's placeholder must not be taken for one. */
static bool
make_places(struct box *b)
{
	const struct owner *o = b->serve->m.owner;
	uint32_t n = owner_n_credentials(o);

	for (uint32_t i = 0; i < n; i++) {
		struct owner_credential c = owner_credential(o, i);
		if (!secret_is_named(b->image->program, i) || c.n_places == 0)
			continue;
		struct placeholder *more = realloc(b->places,
		    (b->n_places + c.n_places) * sizeof(*more));
		if (more == NULL)
			return false;
		b->places = more;
		for (uint32_t k = 0; k < c.n_places; k++)
			if (!placeholder_make(c.places[k].like, i,
				&b->places[b->n_places++]))
				return false;
	}
	keep_places(b);
	return true;
}

void
box_send_secrets(struct box *b)
{
	struct serve *s = b->serve;
	uint8_t body[4];

	for (uint32_t i = 0; i < owner_n_credentials(s->m.owner); i++) {
		struct wr w = wr_of(body, sizeof(body));
		if (s->sent[i] || !secret_is_named(b->image->program, i))
			continue;
		s->sent[i] = true;
		wr_u32(&w, i);
		secret_send_again(&s->m, wr_slice(&w));
	}
}

static void
on_compiled(struct box *b, int fd, struct slice text)
{
	struct serve *s = b->serve;
	enum err err = ERR_NONE;
	char why[CONTROL_DETAIL_MAX];

	snprintf(why, sizeof(why), "%.*s", SLICE_ARG(text));
	if (fd < 0) {
		fail(b, CONTROL_POLICY_WRONG, why);
		return;
	}
	b->image = image_take(s, fd, &err);
	if (b->image == NULL || !make_places(b)) {
		fail(b, CONTROL_FAULT, "the program cannot be used");
		return;
	}
	b->worker = worker_pick(s, b->tenant, &err);
	if (b->worker == NULL) {
		fail(b, CONTROL_SANDBOXES_FULL,
		    err == ERR_FULL ? "there are as many workers as can be" :
				      "a worker cannot be started");
		return;
	}
	box_tell(b);
	box_send_secrets(b);
	if (b->asked.mode == CAPTURE_PROXY)
		enter(b);
	else
		capture(b);
}

/* A sandbox of that name is there. */
static void
attach_again(struct serve *s, struct box *b, const struct control_attach *asked,
    struct caller caller)
{
	struct buf content;

	if (!box_is_same(b, asked)) {
		answer(s, caller, CONTROL_NAME_TAKEN, "", NULL);
		return;
	}
	if (b->state != BOX_ATTACHED) {
		answer(s, caller, CONTROL_NAME_BUSY, "", NULL);
		return;
	}
	buf_init(&content, 65536);
	say_box(b, &content);
	answer(s, caller, CONTROL_DONE, "", &content);
	buf_release(&content);
}

/* What is asked for and not there, which is no reason to do less; or NULL. */
static const char *
cannot(const struct control_attach *asked)
{
	if (asked->n_secrets != 0)
		return "secrets of one sandbox are not taken yet";
	if (asked->mode == CAPTURE_GATE && asked->has_mac)
		return "the MAC of a sandbox behind a gate is not looked at";
	if (asked->mode != CAPTURE_NETNS && asked->mode != CAPTURE_GATE &&
	    asked->mode != CAPTURE_PROXY)
		return "this way of capture is not there yet; there are "
		       "netns, gate and proxy";
	return entry_check(asked);
}

void
attach_begin(struct serve *s, const struct control_attach *asked,
    struct caller caller)
{
	struct box *b = box_find(s, asked->name);
	enum err err = ERR_NONE;
	enum control_code code;
	const char *why;

	if (b != NULL) {
		attach_again(s, b, asked, caller);
		return;
	}
	why = cannot(asked);
	if (why != NULL) {
		answer(s, caller, CONTROL_CAPTURE_FAILED, why, NULL);
		return;
	}
	if (s->reload.runs) {
		answer(s, caller, CONTROL_BUSY, "files are being reloaded",
		    NULL);
		return;
	}
	if (s->n_boxes == LIMIT_SERVE_SANDBOXES) {
		answer(s, caller, CONTROL_SANDBOXES_FULL, "", NULL);
		return;
	}
	b = box_new(s, asked, NULL, &err);
	if (b == NULL) {
		answer(s, caller, CONTROL_FAULT, "out of memory", NULL);
		return;
	}
	b->caller = caller;
	if (job_add(&s->files, b, on_compiled, &code, &why) != 0)
		fail(b, code, why);
}

void
attach_unasked(struct serve *s, const struct control_attach *asked,
    const struct kept *kept)
{
	enum err err = ERR_FULL;
	enum control_code code;
	const char *why;
	struct box *b = s->n_boxes < LIMIT_SERVE_SANDBOXES ?
	    box_new(s, asked, kept, &err) :
	    NULL;

	if (b == NULL) {
		log_error("sandbox `%.*s` is not attached: %s",
		    SLICE_ARG(asked->name), err_text(err));
		return;
	}
	s->n_returning++;
	b->returns = true;
	b->is_configured = kept == NULL || kept->is_configured;
	why = cannot(&b->asked);
	code = CONTROL_CAPTURE_FAILED;
	if (why != NULL || job_add(&s->files, b, on_compiled, &code, &why) != 0)
		fail(b, code, why);
}

void
detach_now(struct box *b, enum reason reason, const char *why)
{
	struct monitor *m = &b->serve->m;
	struct event e;

	if (why != NULL) {
		log_error("sandbox `%s` is cut off: %s", b->name, why);
		b->serve->counts.cut_off++;
		serve_fill(b, &e, EVENT_ALARM);
		event_reason(&e, reason);
		event_str(&e, FIELD_DETAIL, why);
		(void)monitor_record(m, &e, NULL, NULL);
	}
	if (b->state == BOX_ATTACHED) {
		b->serve->counts.detached++;
		serve_fill(b, &e, EVENT_DETACH);
		(void)monitor_record(m, &e, NULL, NULL);
	}
	if (b->is_kept)
		keep_drop(b->serve, b->name);
	b->is_kept = false;
	if (b->caller.porter != 0)
		fail(b, CONTROL_CAPTURE_FAILED, why == NULL ? "" : why);
	else
		box_end(b);
}

void
detach_begin(struct serve *s, struct slice name, struct caller caller)
{
	struct box *b = box_find(s, name);

	if (b == NULL) {
		answer(s, caller, CONTROL_NAME_UNKNOWN, "", NULL);
		return;
	}
	if (b->state != BOX_ATTACHED) {
		answer(s, caller, CONTROL_NAME_BUSY, "", NULL);
		return;
	}
	detach_now(b, REASON_ALLOW, NULL);
	answer(s, caller, CONTROL_DONE, "", NULL);
}
