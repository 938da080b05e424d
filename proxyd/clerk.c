/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roles: the steward and the clerk, short-lived.  Each reads files that it is
 * handed open, and answers with an image in a sealed memfd, or with what is
 * wrong.  Neither has network or secret: YAML is read here and nowhere else.
 *
 * The steward reads the owner's configuration and the bundles of certificates
 * that it names.  The clerk reads a policy, which may be a stranger's.  Neither
 * can open anything: each asks the monitor for what its files name.
 */
#include <sys/mman.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/rd.h"
#include "base/wr.h"
#include "load/load.h"
#include "priv/msg.h"
#include "priv/ops.h"
#include "priv/role.h"
#include "proxyd/roles.h"

#define ANSWER_TEXT_MAX 61440 /* bytes of messages; with the rest one packet */

struct clerk {
	struct msg *msg; /* the request */
	struct load_report report;
	struct buf image; /* what comes of it */
	struct buf files[MSG_FDS_MAX];
	struct buf includes[LIMIT_POLICY_INCLUDES];
	uint32_t n_includes;
};

/* What this process does in its life. */
static uint8_t packet[MSG_SIZE_MAX];

/* The folder of an open file, as the kernel knows it; else of its name. */
static struct slice
dir_of(int fd, struct slice name, char *room, size_t size)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, room, size);
	/* A file in memory was copied from where its name says. */
	if (n > 0 && (size_t)n < size && room[0] == '/' &&
	    strncmp(room, "/memfd:", 7) != 0)
		return load_dir_of(slice_of(room, (size_t)n));
	return load_dir_of(name);
}

/* The answer to our INCLUDE: nothing else is meant for us now but a PING. */
static bool
wait_included(struct msg *m)
{
	static uint8_t room[MSG_SIZE_MAX];
	struct pollfd p = { .fd = ROLE_MONITOR_FD, .events = POLLIN };
	struct msg pong = { .op = OP_PONG };
	enum err err = ERR_NONE;

	for (;;) {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return false;
		if (msg_recv(ROLE_MONITOR_FD, room, m, &err) != 0) {
			if (err == ERR_AGAIN)
				continue;
			return false;
		}
		if (m->op == OP_INCLUDED)
			return true;
		msg_close_fds(m);
		pong.id = m->id;
		if (m->op != OP_PING ||
		    msg_send(ROLE_MONITOR_FD, &pong, &err) != 0)
			return false;
	}
}

/*
 * Ask the monitor for a file, which one it may be, that one knows.  The
 * descriptor, or -1 and `why`, which stays until the next.
 */
static int
ask_file(const struct clerk *c, uint32_t from, struct slice path,
    uint32_t *number, const char **why)
{
	static char told[512];
	struct msg m = { .op = OP_INCLUDE, .id = c->msg->id };
	uint8_t body[8192];
	struct wr w = wr_of(body, sizeof(body));
	enum err err = ERR_NONE;

	wr_u16(&w, (uint16_t)from);
	wr_slice16(&w, path);
	m.body = wr_slice(&w);
	*why = "the path is too long";
	if (w.bad)
		return -1;
	*why = "the monitor does not answer";
	if (msg_send(ROLE_MONITOR_FD, &m, &err) != 0 || !wait_included(&m))
		return -1;
	struct rd r = rd_of(m.body);
	bool good = rd_u8(&r) == 1;
	*number = rd_u16(&r);
	struct slice text = slice_first(rd_slice16(&r), sizeof(told) - 1);
	if (text.n != 0)
		memcpy(told, text.p, text.n);
	told[text.n] = '\0';
	*why = told;
	int fd = good && rd_is_done(&r) ? msg_take_fd(&m, 0) : -1;
	msg_close_fds(&m);
	return fd;
}

/* A file that the configuration names: a bundle of certificates. */
static const char *
open_bundle(void *ctx, struct slice path, struct buf *out)
{
	struct load_report report = { 0 };
	uint32_t number;
	const char *why;
	int fd = ask_file(ctx, 0, path, &number, &why);

	if (fd < 0)
		return why;
	bool good = load_read_file(fd, path, false, out, &report);
	close(fd);
	load_report_release(&report);
	return good ? NULL : "cannot be read, or is larger than 8 MiB";
}

static const char *
open_included(void *ctx, uint32_t from, struct slice path,
    struct load_included *out)
{
	struct clerk *c = ctx;
	const char *why;

	if (c->n_includes == LIMIT_POLICY_INCLUDES)
		return "too many includes";
	int fd = ask_file(c, from, path, &out->number, &why);
	if (fd < 0)
		return why;
	struct buf *b = &c->includes[c->n_includes++];
	struct load_report report = { 0 };
	buf_init(b, LIMIT_POLICY_FILE_SIZE + 65536);
	bool good = load_read_file(fd, path, false, b, &report);
	close(fd);
	load_report_release(&report);
	out->bytes = buf_slice(b);
	return good ? NULL : "cannot be read, or is larger than 8 MiB";
}

/* Read the `i`th descriptor of the request into its buffer. */
static bool
read_fd(struct clerk *c, size_t i, struct slice name, bool owned)
{
	struct load_at at = { name, 0, 0 };

	if (i >= c->msg->n_fds) {
		load_error(&c->report, at, "was not handed over");
		return false;
	}
	return load_read_file(c->msg->fds[i], name, owned, &c->files[i],
	    &c->report);
}

/* u16 n, n names, u8 flags, s16 home */
static bool
load_owner_files(struct clerk *c)
{
	struct load_file files[MSG_FDS_MAX];
	char dirs[MSG_FDS_MAX][4096];
	struct rd r = rd_of(c->msg->body);
	size_t n = rd_u16(&r);
	bool good = n < MSG_FDS_MAX;

	for (size_t i = 0; i < n && i < MSG_FDS_MAX; i++) {
		struct slice name = rd_slice16(&r);
		good = good && read_fd(c, i, name, true);
		files[i] = (struct load_file){ .name = name,
			.bytes = buf_slice(&c->files[i]) };
		if (good)
			files[i].dir = dir_of(c->msg->fds[i], name, dirs[i],
			    sizeof(dirs[i]));
	}
	struct load_owner_in in = { .files = files,
		.n_files = n,
		.open = open_bundle,
		.ctx = c };
	bool roots = rd_u8(&r) == OPS_LOAD_ROOTS;
	in.home = rd_slice16(&r);
	if (!good || !rd_is_done(&r))
		return false;
	if (roots && !read_fd(c, n, SLICE("the system's roots"), false))
		return false;
	if (roots)
		in.roots = buf_slice(&c->files[n]);
	return load_owner(&in, &c->image, &c->report);
}

/* s8 name, s8 digits, s8 tenant, u8 n, n of s16 key, s16 value */
static void
take_values(struct rd *r, struct load_policy_in *in,
    struct load_set sets[UINT8_MAX])
{
	in->sandbox = rd_slice8(r);
	in->digits = rd_slice8(r);
	in->tenant = rd_slice8(r);
	in->sets = sets;
	in->n_sets = rd_u8(r);
	for (size_t i = 0; i < in->n_sets; i++) {
		sets[i].key = rd_slice16(r);
		sets[i].value = rd_slice16(r);
	}
}

/* u8 n, each u32 number, s16 URL, u64 when it ends */
static void
take_added(struct rd *r, struct load_policy_in *in,
    struct load_added added[UINT8_MAX])
{
	in->added = added;
	in->n_added = rd_u8(r);
	for (size_t i = 0; i < in->n_added; i++) {
		added[i].number = rd_u32(r);
		added[i].url = rd_slice16(r);
		added[i].expires_s = rd_u64(r);
	}
}

/* s16 file, s16 policy, u8 flags, values, added rules if they say so */
static bool
load_policy_file(struct clerk *c)
{
	struct rd r = rd_of(c->msg->body);
	struct load_policy_in in = { .file.name = rd_slice16(&r),
		.policy = rd_slice16(&r) };
	struct load_at at = { in.file.name, 0, 0 };
	struct load_set sets[UINT8_MAX];
	struct load_added added[UINT8_MAX];
	struct owner *owner = NULL;
	enum err err = ERR_NONE;

	uint8_t flags = rd_u8(&r);
	in.trusted = (flags & OPS_LOAD_TRUSTED) != 0;
	in.preset = (flags & OPS_LOAD_PRESET) != 0;
	in.report = (flags & OPS_LOAD_REPORT) != 0;
	in.include = open_included;
	in.ctx = c;
	in.now_s = clock_wall_us() / 1000000;
	take_values(&r, &in, sets);
	if ((flags & OPS_LOAD_ADDED) != 0)
		take_added(&r, &in, added);
	size_t n = in.preset ? 0 : 1;
	if (!rd_is_done(&r) ||
	    (!in.preset && !read_fd(c, 0, in.file.name, false)))
		return false;
	in.file.bytes = buf_slice(&c->files[0]);
	if (c->msg->n_fds > n) {
		owner = owner_map(c->msg->fds[n], &err);
		if (owner == NULL) {
			load_error(&c->report, at,
			    "the owner's configuration: %s", err_text(err));
			return false;
		}
	}
	in.owner = owner;
	bool good = load_policy(&in, &c->image, &c->report);
	owner_free(owner);
	return good;
}

/* The image in a memfd that nobody can change any more; -1 on failure. */
static int
sealed(struct slice image)
{
	const int seals =
	    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
	int fd = memfd_create("duenna-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t at = 0;

	while (fd >= 0 && at < image.n) {
		ssize_t n = write(fd, image.p + at, image.n - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	if (fd >= 0 && at == image.n && fcntl(fd, F_ADD_SEALS, seals) == 0)
		return fd;
	log_error("cannot make the image: errno=%d", errno);
	if (fd >= 0)
		close(fd);
	return -1;
}

static int
answer(struct clerk *c, bool good)
{
	struct msg m = { .op = OP_LOADED, .id = c->msg->id };
	struct buf text;
	enum err err;
	struct wr w = wr_of(packet, sizeof(packet));
	int fd = good ? sealed(buf_slice(&c->image)) : -1;

	buf_init(&text, 1 << 20);
	load_report_text(&c->report, &text);
	wr_u8(&w, fd >= 0 ? 1 : 0);
	wr_slice32(&w, slice_first(buf_slice(&text), ANSWER_TEXT_MAX));
	m.body = wr_slice(&w);
	if (fd >= 0)
		m.fds[m.n_fds++] = fd;
	int sent = msg_send(ROLE_MONITOR_FD, &m, &err);
	buf_release(&text);
	if (fd >= 0)
		close(fd);
	return sent;
}

static int
serve(struct msg *msg)
{
	struct clerk c = { .msg = msg };
	bool good;

	buf_init(&c.image, IMAGE_SIZE_MAX);
	for (size_t i = 0; i < MSG_FDS_MAX; i++)
		buf_init(&c.files[i], LIMIT_POLICY_FILE_SIZE + 65536);
	if (msg->op == OP_LOAD_OWNER)
		good = load_owner_files(&c);
	else
		good = load_policy_file(&c);
	if (!good && c.report.n_errors == 0)
		load_error(&c.report,
		    ((struct load_at){ SLICE("duenna"), 0, 0 }),
		    "the clerk was asked in a form that it does not know");
	int sent = answer(&c, good);
	for (size_t i = 0; i < MSG_FDS_MAX; i++)
		buf_release(&c.files[i]);
	for (uint32_t i = 0; i < c.n_includes; i++)
		buf_release(&c.includes[i]);
	buf_release(&c.image);
	load_report_release(&c.report);
	return sent;
}

static int
handle(struct msg *msg, uint16_t op)
{
	struct msg pong = { .op = OP_PONG, .id = msg->id };
	enum err err;

	if (msg->op == op)
		return serve(msg);
	if (msg->op == OP_PING)
		return msg_send(ROLE_MONITOR_FD, &pong, &err);
	log_error("unexpected message %u", msg->op);
	return -1;
}

/* One that answers `op` and nothing else. */
static int
run(enum role role, uint16_t op)
{
	struct pollfd p = { .fd = ROLE_MONITOR_FD, .events = POLLIN };
	static uint8_t request[MSG_SIZE_MAX];

	if (isolate_role(role) != 0 || isolate_last(role) != 0)
		return 1;
	for (;;) {
		struct msg m;
		enum err err = ERR_NONE;
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return 1;
		if (msg_recv(ROLE_MONITOR_FD, request, &m, &err) != 0) {
			if (err == ERR_AGAIN)
				continue;
			return err == ERR_CLOSED ? 0 : 1;
		}
		int done = handle(&m, op);
		msg_close_fds(&m);
		if (done != 0)
			return 1;
	}
}

int
steward_main(void)
{
	return run(ROLE_STEWARD, OP_LOAD_OWNER);
}

int
clerk_main(void)
{
	return run(ROLE_CLERK, OP_LOAD_POLICY);
}
