/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket.  Who calls is the kernel's word: a peer in another PID,
 * mount or user namespace than ours is a container's, or a sandbox's, and is
 * refused, whoever it is there.  What it says is read by a porter for its user.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rd.h"
#include "base/wr.h"
#include "priv/control_carry.h"
#include "serve/state.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

#define BACKLOG 128
#define REQUEST_MAX (4 << 20) /* bytes of one, as a porter sends it */

/* Reads for one user. */
struct porter_process {
	struct role_process c; /* the first */
	TAILQ_ENTRY(porter_process) entry;
	uid_t uid;
	uint8_t rights;	  /* of all of that user's connections together */
	uint64_t used_ms; /* when it last was handed or asked something */
};

static void
porter_free(struct serve *s, struct porter_process *p)
{
	role_end(&p->c);
	TAILQ_REMOVE(&s->porters, p, entry);
	s->n_porters--;
	free(p);
}

void
control_porter_ended(struct role_process *c, const char *how)
{
	log_warn("the porter of user %ld ended: %s",
	    (long)((struct porter_process *)c)->uid, how);
	porter_free(serve_of(c->monitor), (struct porter_process *)c);
}

/* The one of that user, started if need be; NULL: it cannot be. */
static struct porter_process *
porter_of(struct serve *s, uid_t uid)
{
	struct porter_process *p;
	enum err err = ERR_NONE;

	TAILQ_FOREACH(p, &s->porters, entry)
		if (p->uid == uid)
			return p;
	if (s->n_porters == SERVE_PORTERS_MAX ||
	    (p = calloc(1, sizeof(*p))) == NULL)
		return NULL;
	p->c.role = ROLE_PORTER;
	p->c.number = ++s->next_porter;
	p->c.pidfd = -1;
	p->uid = uid;
	TAILQ_INSERT_TAIL(&s->porters, p, entry);
	s->n_porters++;
	if (role_start(&s->m, &p->c, &err) == 0)
		return p;
	log_error("cannot start a porter: %s", err_text(err));
	porter_free(s, p);
	return NULL;
}

static bool
is_same_namespace(pid_t pid, const char *kind)
{
	char path[64], ours[64];
	struct stat a, b;

	snprintf(path, sizeof(path), "/proc/%ld/ns/%s", (long)pid, kind);
	snprintf(ours, sizeof(ours), "/proc/self/ns/%s", kind);
	return stat(path, &a) == 0 && stat(ours, &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Has the process ended?  Its number may be another's then. */
static bool
has_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

/* Is the peer where we are? */
static bool
look_at_peer(int fd)
{
	static const char *const kinds[] = { "pid", "mnt", "user" };
	struct ucred cred;
	socklen_t n = sizeof(cred), k = sizeof(int);
	int pidfd = -1;
	bool good = true;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) != 0 ||
	    cred.pid <= 0)
		return false;
	/* Older kernels do not have it: then the number is all there is. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &k) != 0)
		pidfd = -1;
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		good = good && is_same_namespace(cred.pid, kinds[i]);
	if (pidfd >= 0) {
		good = good && !has_ended(pidfd);
		close(pidfd);
	}
	return good;
}

/*
 * Processes of one user may have other groups: a connection has the rights of
 * its own, and more than all of them together are believed of no porter.
 */
static void
hand_over(struct porter_process *p, int fd, uint8_t rights)
{
	uint8_t body[8];
	struct wr w = wr_of(body, sizeof(body));

	wr_u32(&w, (uint32_t)p->uid);
	wr_u8(&w, rights);
	p->rights |= rights;
	roles_send(&p->c, OP_CONTROL, wr_slice(&w), &fd, 1);
	p->used_ms = clock_ms();
}

static void
on_accept(evutil_socket_t listener, short what UNUSED, void *arg)
{
	struct serve *s = arg;
	struct porter_process *p = NULL;
	uint32_t uid;
	uint8_t rights;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (!look_at_peer(fd))
		log_warn("a call from another PID, mount or user namespace is "
			 "refused");
	else if ((rights = rights_of_peer(&s->rights, fd, &uid)) == 0)
		log_warn("a call of user %ld, who has no right, is refused",
		    (long)uid);
	else
		p = porter_of(s, uid);
	if (p != NULL)
		hand_over(p, fd, rights);
	close(fd);
}

/*
 * Several groups cannot be told by one mode.  Where there are any everybody may
 * connect, and is sent away by what the kernel says of it before a byte is read.
 */
static int
make_socket(const char *path, bool groups)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	size_t n = strlen(path);
	struct stat st;

	errno = ENAMETOOLONG;
	if (n >= sizeof(sa.sun_path))
		return -1;
	memcpy(sa.sun_path, path, n + 1);
	/* Of one that was killed; the lock of the state says there is no other. */
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		(void)unlink(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask = umask(groups ? 0111 : 0117);
	bool good = fd >= 0 &&
	    bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 &&
	    listen(fd, BACKLOG) == 0;
	int number = errno;
	umask(mask);
	if (!good && fd >= 0) {
		close(fd);
		fd = -1;
	}
	errno = number;
	return fd;
}

int
control_rights(struct serve *s, struct rights *r, const char **why)
{
	static char text[512];
	enum err err = ERR_NONE;

	*r = (struct rights){ 0 };
	for (uint32_t i = 0; i < owner_n_groups(s->m.owner); i++) {
		struct owner_group g = owner_group(s->m.owner, i);
		if (rights_add(r, g.name, (uint8_t)g.right, &err) == 0)
			continue;
		snprintf(text, sizeof(text), "%.*s:%u:%u: `%.*s`: %s",
		    SLICE_ARG(g.at.file), g.at.line, g.at.column,
		    SLICE_ARG(g.name),
		    err == ERR_FULL ? "more than 64 groups" :
				      "there is no such group");
		*why = text;
		return -1;
	}
	return 0;
}

int
control_open(struct serve *s)
{
	char folder[4096];
	const char *why = "";
	const char *path = s->cfg->control, *slash = strrchr(path, '/');

	if (slash != NULL && slash != path &&
	    (size_t)(slash - path) < sizeof(folder)) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path),
		    path);
		(void)mkdir(folder, 0755);
	}
	if (control_rights(s, &s->rights, &why) != 0) {
		monitor_fail(&s->m, "%s", why);
		return -1;
	}
	s->socket = make_socket(path, s->rights.n != 0);
	if (s->socket >= 0)
		s->accepts = event_new(loop_base(s->m.loop), s->socket,
		    EV_READ | EV_PERSIST, on_accept, s);
	if (s->accepts != NULL && event_add(s->accepts, NULL) == 0)
		return 0;
	monitor_fail(&s->m, "cannot listen on the control socket %s: %s", path,
	    strerror(errno));
	return -1;
}

/* A descriptor with the content; -1: there is none. */
static int
content_fd(const struct buf *content)
{
	struct slice bytes = buf_slice(content);
	int fd = memfd_create("answer", MFD_CLOEXEC);

	while (fd >= 0 && bytes.n != 0) {
		ssize_t n = write(fd, bytes.p, bytes.n);
		if (n <= 0) {
			close(fd);
			return -1;
		}
		bytes = slice_from(bytes, (size_t)n);
	}
	return fd;
}

void
answer(struct serve *s, struct caller to, enum control_code code,
    const char *detail, const struct buf *content)
{
	static uint8_t body[MSG_BODY_MAX];
	struct wr w = wr_of(body, sizeof(body));
	struct control_answer a = { code, slice_of_str(detail) };
	struct msg msg = { .op = OP_ANSWER, .id = to.id };
	struct porter_process *p;
	enum err err = ERR_NONE;

	TAILQ_FOREACH(p, &s->porters, entry)
		if (p->c.number == to.porter)
			break;
	s->counts.answers[code] += to.porter != 0;
	/* Nobody, or one that is gone: what was done is done. */
	if (to.porter == 0 || p == NULL)
		return;
	control_answer_write(&w, &a);
	msg.body = wr_slice(&w);
	if (content != NULL) {
		int fd = content_fd(content);
		if (fd >= 0)
			msg.fds[msg.n_fds++] = fd;
	}
	if (channel_send(p->c.channel, &msg, &err) != 0)
		log_warn("an answer to the porter is lost: %s", err_text(err));
	msg_close_fds(&msg);
	p->used_ms = clock_ms();
}

static void
answer_with(struct serve *s, struct caller to,
    void (*say)(struct serve *s, struct buf *out))
{
	struct buf content;

	buf_init(&content, LIMIT_CONTROL_ANSWER_SIZE);
	say(s, &content);
	answer(s, to, CONTROL_DONE, "", &content);
	buf_release(&content);
}

static void
show(struct serve *s, struct slice name, struct caller to)
{
	const struct box *b = box_find(s, name);
	struct buf content;

	if (b == NULL) {
		answer(s, to, CONTROL_NAME_UNKNOWN, "", NULL);
		return;
	}
	buf_init(&content, 65536);
	say_box(b, &content);
	answer(s, to, CONTROL_DONE, "", &content);
	buf_release(&content);
}

static void
handle(struct serve *s, const struct control_request *req, struct caller to)
{
	switch (req->verb) {
	case CONTROL_ATTACH:
		attach_begin(s, &req->attach, to);
		break;
	case CONTROL_DETACH:
		detach_begin(s, req->name, to);
		break;
	case CONTROL_LIST:
		answer_with(s, to, say_list);
		break;
	case CONTROL_STATUS:
		answer_with(s, to, say_status);
		break;
	case CONTROL_SHOW:
		show(s, req->name, to);
		break;
	case CONTROL_RELOAD:
		reload_begin(s, to);
		break;
	case CONTROL_METRICS:
		answer_with(s, to, say_metrics);
		break;
	case CONTROL_ALLOW:
		allow_begin(s, req, to);
		break;
	case CONTROL_VERBS:
		answer(s, to, CONTROL_FAULT, "this is not there yet", NULL);
		break;
	}
}

/* The porter is hostile: what it says of its caller is compared. */
void
control_request(struct role_process *c, struct msg *msg)
{
	static struct control_request req;
	struct porter_process *p = (struct porter_process *)c;
	struct serve *s = serve_of(c->monitor);
	struct caller to = { c->number, msg->id };
	enum err err = ERR_NONE;
	struct buf bytes;

	p->used_ms = clock_ms();
	buf_init(&bytes, REQUEST_MAX);
	bool good = control_carry_take(msg, &bytes, &err) == 0 &&
	    control_request_read(buf_slice(&bytes), &req);
	if (!good)
		answer(s, to, CONTROL_REQUEST_MALFORMED, "", NULL);
	else if (req.uid != p->uid ||
	    (control_needs(&req) & ~(p->rights & req.rights)) != 0)
		answer(s, to, CONTROL_RIGHT_MISSING, "", NULL);
	else if (s->m.stage > STAGE_RUNNING)
		answer(s, to, CONTROL_STOPPING, "", NULL);
	else {
		s->counts.calls[req.verb]++;
		handle(s, &req, to);
	}
	if (bytes.n != 0)
		explicit_bzero(bytes.p, bytes.n);
	buf_release(&bytes);
	req = (struct control_request){ .verb = CONTROL_VERBS };
}

void
control_look(struct serve *s)
{
	struct porter_process *p = TAILQ_FIRST(&s->porters);

	for (struct porter_process *after; p != NULL; p = after) {
		after = TAILQ_NEXT(p, entry);
		if (clock_ms() - p->used_ms > SERVE_IDLE_MS)
			porter_free(s, p);
	}
}

void
control_end(struct serve *s)
{
	struct porter_process *p;

	while ((p = TAILQ_FIRST(&s->porters)) != NULL)
		porter_free(s, p);
	if (s->accepts != NULL)
		event_free(s->accepts);
	if (s->socket < 0)
		return;
	close(s->socket);
	(void)unlink(s->cfg->control);
}
