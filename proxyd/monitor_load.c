/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steward and then the clerk: the first reads the owner's configuration
 * and the system's roots, the second the policy, which may be a stranger's.
 * Neither can forge what the other makes, and neither opens a file: as root
 * they are another user, who may not go where the owner keeps his.
 */
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rd.h"
#include "base/wr.h"
#include "priv/dispatch.h"
#include "priv/spawn.h"
#include "proxyd/monitor_ca.h"
#include "proxyd/monitor_load.h"

#define CONFIG_FILES_MAX (MSG_FDS_MAX - 1) /* the last is the roots' */

static void load_policy_start(struct monitor *m);

/* End the one that answered, or did not. */
static void
clerk_end(struct monitor *m)
{
	struct role_process *c = &m->clerk;

	channel_free(c->channel);
	c->channel = NULL;
	if (c->pidfd >= 0)
		close(c->pidfd);
	c->pidfd = -1;
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	c->pid = 0;
}

/*
 * Take the image out of a LOADED.  What it says of errors and warnings
 * is for people: it goes to standard error as it is.
 */
static int
take_image(struct monitor *m, struct msg *msg)
{
	struct rd r = rd_of(msg == NULL ? (struct slice){ 0 } : msg->body);
	bool good = rd_u8(&r) == 1;
	struct slice text = rd_slice32(&r);
	int fd = -1;

	if (msg == NULL || !rd_is_done(&r)) {
		monitor_fail(m, "the %s ended without an answer",
		    role_name(m->clerk.role));
		return -1;
	}
	if (text.n != 0 && (!good || !m->cfg->quiet)) {
		ssize_t ignored UNUSED = write(STDERR_FILENO, text.p, text.n);
	}
	if (good)
		fd = msg_take_fd(msg, 0);
	if (fd < 0)
		monitor_fail(m,
		    "the policy or the configuration cannot be loaded; "
		    "nothing was run");
	return fd;
}

/* The clerk's messages have the line of each: which one is that? */
static void
name_patterns(const struct monitor_config *cfg)
{
	for (size_t i = 0; i < cfg->n_allow; i++)
		fprintf(stderr, "duenna: --allow:%zu is '%s'\n", i + 1,
		    cfg->allow[i]);
}

static void
on_policy(struct msg *msg, void *arg)
{
	struct monitor *m = arg;
	enum err err = ERR_NONE;

	m->program_fd = take_image(m, msg);
	if (m->program_fd < 0) {
		name_patterns(m->cfg);
		return;
	}
	m->program = program_map(m->program_fd, &err);
	if (m->program == NULL) {
		monitor_fail(m, "the program does not fit: %s", err_text(err));
		return;
	}
	state_sha256(program_image(m->program), m->digest);
	clerk_end(m);
	monitor_step(m);
}

static void
on_owner(struct msg *msg, void *arg)
{
	struct monitor *m = arg;
	enum err err = ERR_NONE;

	m->owner_fd = take_image(m, msg);
	if (m->owner_fd < 0)
		return;
	m->owner = owner_map(m->owner_fd, &err);
	if (m->owner == NULL) {
		monitor_fail(m, "the configuration's image does not fit: %s",
		    err_text(err));
		return;
	}
	clerk_end(m);
	host_tell_proxy(m);
	if (ca_send(m) == 0)
		load_policy_start(m);
}

int
load_open_bundle(struct slice path, const char **why)
{
	char name[4096];

	*why = "no path";
	if (path.n == 0 || path.n >= sizeof(name) || path.p[0] != '/' ||
	    memchr(path.p, '\0', path.n) != NULL)
		return -1;
	snprintf(name, sizeof(name), "%.*s", SLICE_ARG(path));
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		*why = strerror(errno);
	return fd;
}

/* Open what a file that is loaded names; it is for the asker to read. */
static void
include(struct role_process *c, const struct msg *msg)
{
	struct monitor *m = c->monitor;
	struct msg answer = { .op = OP_INCLUDED, .id = msg->id };
	struct rd r = rd_of(msg->body);
	uint32_t from = rd_u16(&r), number = 0;
	struct slice path = rd_slice16(&r);
	const char *why = "asked in a form that is not known";
	uint8_t body[512];
	struct wr w = wr_of(body, sizeof(body));
	enum err err = ERR_NONE;
	int fd = -1;

	/* Its own ceiling is lower: it is no clerk of ours any more. */
	if (m->files.n_asked > 2 * LIMIT_POLICY_INCLUDES ||
	    m->n_bundles > LIMIT_CERTIFICATE_FILES) {
		monitor_fail(m, "the %s asks for files without end",
		    role_name(c->role));
		return;
	}
	if (rd_is_done(&r) && c->role == ROLE_STEWARD) {
		m->n_bundles++;
		fd = load_open_bundle(path, &why);
	} else if (rd_is_done(&r)) {
		fd = policy_file_include(&m->files, from, path, &number, &why);
	}
	wr_u8(&w, fd >= 0 ? 1 : 0);
	wr_u16(&w, (uint16_t)number);
	wr_slice16(&w, slice_of_str(fd >= 0 ? "" : why));
	answer.body = wr_slice(&w);
	if (fd >= 0)
		answer.fds[answer.n_fds++] = fd;
	if (channel_send(c->channel, &answer, &err) != 0)
		monitor_fail(m, "cannot answer the clerk: %s", err_text(err));
	if (fd >= 0)
		close(fd);
}

/* The answer comes to on_owner or on_policy. */
static void
on_clerk_msg(struct channel *channel UNUSED, struct msg *msg, void *arg)
{
	struct role_process *c = arg;

	if (msg != NULL && msg->op == OP_INCLUDE &&
	    dispatch_may(c->role, ROLE_MONITOR, msg->op))
		include(c, msg);
}

static int
clerk_ask(struct monitor *m, enum role role, struct msg *msg,
    channel_on_answer *on_answer)
{
	struct role_process *c = &m->clerk;
	struct spawned s;
	enum err err = ERR_NONE;

	if (spawn_role(role, &s, &err) != 0) {
		monitor_fail(m, "cannot start the %s: %s", role_name(role),
		    err_text(err));
		return -1;
	}
	*c = (struct role_process){ .monitor = m,
		.role = role,
		.pid = s.pid,
		.pidfd = s.pidfd,
		.heard_ms = clock_ms() };
	c->channel = channel_new(m->loop, s.channel, on_clerk_msg, c, &err);
	if (c->channel != NULL &&
	    channel_ask(c->channel, msg, on_answer, m, &err) != 0)
		return 0;
	monitor_fail(m, "cannot ask the %s: %s", role_name(role),
	    err_text(err));
	return -1;
}

/* Has a home of such a name been left, or is it in use? */
static bool
is_in_use(struct monitor *m, const char *digits)
{
	char path[4096 + 8];
	bool found = false;

	snprintf(path, sizeof(path), "%s/homes", buf_text(&m->state_dir));
	DIR *dir = opendir(path);
	for (struct dirent *d;
	     dir != NULL && !found && (d = readdir(dir)) != NULL;) {
		size_t n = strlen(d->d_name);
		found = n > 5 && d->d_name[n - 5] == '-' &&
		    strcmp(d->d_name + n - 4, digits) == 0;
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

/*
 * Four random digits that no other home has: a run that was killed could not
 * remove its own.  They are known before the policy's name is, for
 * `${sandbox}` in it.
 */
static void
choose_digits(struct monitor *m)
{
	uint16_t random = 0;

	for (unsigned i = 0; i <= UINT16_MAX; i++) {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			random = (uint16_t)((unsigned)getpid() + i);
		snprintf(m->digits, sizeof(m->digits), "%04x", random);
		if (m->cfg->name != NULL || !is_in_use(m, m->digits))
			return;
	}
}

/* What parameters stand for: the clerk checks it. */
static void
put_values(const struct monitor *m, struct wr *w)
{
	const struct monitor_config *cfg = m->cfg;

	wr_slice8(w, slice_of_str(cfg->name == NULL ? "" : cfg->name));
	wr_slice8(w, slice_of_str(m->digits));
	wr_slice8(w, SLICE("")); /* the one tenant */
	wr_u8(w, (uint8_t)cfg->n_set);
	for (size_t i = 0; i < cfg->n_set; i++) {
		const char *is = strchr(cfg->set[i], '=');
		if (is == NULL)
			is = cfg->set[i] + strlen(cfg->set[i]);
		wr_slice16(w,
		    slice_of(cfg->set[i], (size_t)(is - cfg->set[i])));
		wr_slice16(w, slice_of_str(*is == '=' ? is + 1 : is));
	}
}

/* The policy, open; -1 for a preset, or where it has been said why not. */
static int
open_policy(struct monitor *m)
{
	const struct monitor_config *cfg = m->cfg;
	const char *why = "";
	int fd;

	if (cfg->n_allow != 0) {
		fd = policy_file_of_patterns(cfg->allow, cfg->n_allow);
		why = strerror(errno);
	} else {
		/* A repository may have a pipe in its place, which nobody
		 * writes to: a wait for that would be for ever. */
		fd = policy_file_open(&m->files, cfg->policy, &why);
	}
	if (fd < 0)
		monitor_fail(m, "cannot read the policy %s: %s", cfg->policy,
		    why);
	return fd;
}

static void
load_policy_start(struct monitor *m)
{
	const struct monitor_config *cfg = m->cfg;
	struct msg msg = { .op = OP_LOAD_POLICY };
	bool preset = strncmp(cfg->policy, "preset/", 7) == 0;
	uint8_t body[32768];
	struct wr w = wr_of(body, sizeof(body));

	choose_digits(m);
	int fd = preset ? -1 : open_policy(m);
	if (fd < 0 && !preset)
		return;
	wr_slice16(&w, slice_of_str(cfg->policy));
	wr_slice16(&w,
	    slice_of_str(cfg->policy_name == NULL ? "" : cfg->policy_name));
	wr_u8(&w,
	    (policy_file_is_trusted(&m->files) ? OPS_LOAD_TRUSTED : 0) |
		(preset ? OPS_LOAD_PRESET : 0) |
		(cfg->report ? OPS_LOAD_REPORT : 0));
	put_values(m, &w);
	msg.body = wr_slice(&w);
	if (!preset)
		msg.fds[msg.n_fds++] = fd;
	msg.fds[msg.n_fds++] = m->owner_fd;
	if (w.bad)
		monitor_fail(m, "the values of --set are too long");
	else
		(void)clerk_ask(m, ROLE_CLERK, &msg, on_policy);
	if (fd >= 0)
		close(fd);
}

static int
is_yaml(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 5 &&
	    strcmp(d->d_name + n - 5, ".yaml") == 0;
}

/* One more file of the configuration: its name into `w`, itself into `msg`. */
static int
add_config(struct monitor *m, struct msg *msg, struct wr *w, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0) {
		monitor_fail(m, "cannot read the configuration %s: %s", path,
		    errno == ELOOP ? "it is a symbolic link" : strerror(errno));
		return -1;
	}
	wr_slice16(w, slice_of_str(path));
	msg->fds[msg->n_fds++] = fd;
	return 0;
}

/* The files of ~/.config/duenna, in the order of their names. */
static int
add_config_dir(struct monitor *m, struct msg *msg, struct wr *w)
{
	struct dirent **found = NULL;
	char dir[4096], path[4096 + 256 + 2];
	int result = 0;

	policy_file_config_dir(dir, sizeof(dir));
	int n = scandir(dir, &found, is_yaml, alphasort);
	for (int i = 0; i < n && result == 0; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, found[i]->d_name);
		if (i == CONFIG_FILES_MAX) {
			monitor_fail(m, "more than %d files in %s",
			    CONFIG_FILES_MAX, dir);
			result = -1;
		} else {
			result = add_config(m, msg, w, path);
		}
	}
	for (int i = 0; i < n; i++)
		free(found[i]);
	free(found);
	return result;
}

static const char *
home_dir(void)
{
	const char *home = getenv("HOME");

	return home != NULL && home[0] == '/' ? home : "";
}

int
load_start(struct monitor *m)
{
	struct msg msg = { .op = OP_LOAD_OWNER };
	uint8_t names[32768], body[37000];
	struct wr w = wr_of(names, sizeof(names)),
		  all = wr_of(body, sizeof(body));
	int result;

	if (m->cfg->config != NULL)
		result = add_config(m, &msg, &w, m->cfg->config);
	else
		result = add_config_dir(m, &msg, &w);
	if (result == 0) {
		wr_u16(&all, (uint16_t)msg.n_fds);
		wr_bytes(&all, wr_slice(&w));
		int roots = open(LOAD_SYSTEM_ROOTS, O_RDONLY | O_CLOEXEC);
		wr_u8(&all, roots >= 0 ? OPS_LOAD_ROOTS : 0);
		wr_slice16(&all, slice_of_str(home_dir()));
		if (roots >= 0)
			msg.fds[msg.n_fds++] = roots;
		msg.body = wr_slice(&all);
		result = clerk_ask(m, ROLE_STEWARD, &msg, on_owner);
	}
	msg_close_fds(&msg);
	return result;
}
