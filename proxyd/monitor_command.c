/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that print a secret.  What they print goes by a pipe to the keeper,
 * of which we keep no end; we see their exit status and their time.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/wr.h"
#include "ns/fds.h"
#include "proxyd/monitor_state.h"

#define VARIABLES_MAX (4 + OWNER_PASS_MAX) /* HOME USER PATH LANG and these */

/* One that runs. */
struct command {
	LIST_ENTRY(command) entry;
	struct monitor *monitor; /* borrowed */
	uint32_t credential;
	pid_t pid;		     /* leads a session and group of its own */
	int pidfd;		     /* owned */
	struct event *ended, *limit; /* owned */
	bool late;		     /* its time was over */
};

/* What a command is started with; all of it made before the fork. */
struct start {
	char *argv[OWNER_ARGS_MAX + 1]; /* owned, each */
	char *envp[VARIABLES_MAX + 1];	/* owned, each */
	size_t n_env;
};

static char *
text_of(struct slice s)
{
	return strndup((const char *)s.p, s.n);
}

/* Pass the caller's variable, if there is one. */
static bool
add_variable(struct start *s, const char *name, const char *value)
{
	char *line = NULL;

	if (value == NULL)
		return true;
	if (asprintf(&line, "%s=%s", name, value) < 0)
		return false;
	s->envp[s->n_env++] = line;
	return true;
}

static void
start_release(struct start *s)
{
	for (size_t i = 0; s->argv[i] != NULL; i++)
		free(s->argv[i]);
	for (size_t i = 0; i < s->n_env; i++)
		free(s->envp[i]);
}

static bool
start_init(struct start *s, const struct owner *o, uint32_t i)
{
	struct owner_credential c = owner_credential(o, i);
	bool good = true;

	*s = (struct start){ .n_env = 0 };
	for (uint32_t k = 0; good && k < c.n_args; k++) {
		s->argv[k] = text_of(owner_credential_arg(o, i, k));
		good = s->argv[k] != NULL;
	}
	good = good && add_variable(s, "HOME", getenv("HOME")) &&
	    add_variable(s, "USER", getenv("USER")) &&
	    add_variable(s, "PATH", "/usr/bin:/bin") &&
	    add_variable(s, "LANG", "C");
	for (uint32_t k = 0; good && k < c.n_pass; k++) {
		char *name = text_of(owner_credential_pass(o, i, k));
		good = name != NULL && add_variable(s, name, getenv(name));
		free(name);
	}
	return good;
}

/* In the child: no descriptor but the pipe, no terminal, no core. */
static NORETURN void
become(const struct start *s, int pipe)
{
	static const struct rlimit no_core = { 0, 0 };
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	fds_reset_signals();
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
	    setrlimit(RLIMIT_CORE, &no_core) != 0 || chdir("/") != 0 ||
	    null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(pipe, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0 ||
	    fds_keep(NULL, 0, false) != 0)
		_exit(126);
	execve(s->argv[0], s->argv, s->envp);
	_exit(126);
}

static void
tell_keeper(struct monitor *m, uint32_t credential, bool good)
{
	uint8_t body[8];
	struct wr w = wr_of(body, sizeof(body));

	wr_u32(&w, credential);
	wr_u8(&w, good ? 1 : 0);
	roles_send(&m->children[ROLE_KEEPER], OP_SECRET_ENDED, wr_slice(&w),
	    NULL, 0);
}

static void
give_pipe(struct monitor *m, uint32_t credential, int fd)
{
	uint8_t body[8];
	struct wr w = wr_of(body, sizeof(body));

	wr_u32(&w, credential);
	wr_u8(&w, OPS_SECRET_COMES);
	wr_slice16(&w, (struct slice){ 0 });
	roles_send(&m->children[ROLE_KEEPER], OP_SECRET, wr_slice(&w), &fd, 1);
}

static void
put_away(struct command *c)
{
	if (c->ended != NULL)
		event_free(c->ended);
	if (c->limit != NULL)
		event_free(c->limit);
	if (c->pidfd >= 0)
		close(c->pidfd);
	LIST_REMOVE(c, entry);
	free(c);
}

static void
say_how(const struct command *c, int status)
{
	struct owner_credential o =
	    owner_credential(c->monitor->owner, c->credential);
	char how[64];

	if (c->late)
		snprintf(how, sizeof(how), "it took longer than %d s",
		    LIMIT_SECRET_COMMAND_MS / 1000);
	else if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "killed by signal %d",
		    WTERMSIG(status));
	else
		snprintf(how, sizeof(how), "exited with %d",
		    WEXITSTATUS(status));
	secret_say(&o, how);
}

static void
on_ended(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct command *c = arg;
	int status = 0;

	/* And what it has started in its group: while it is not reaped its
	 * number is nobody else's. */
	kill(-c->pid, SIGKILL);
	pid_t pid = waitpid(c->pid, &status, WNOHANG);
	if (pid == 0)
		return;
	bool good = pid == c->pid && !c->late && WIFEXITED(status) &&
	    WEXITSTATUS(status) == 0;
	/* By SIGPIPE: the keeper closed the pipe, and has said why. */
	if (!good && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE))
		say_how(c, status);
	tell_keeper(c->monitor, c->credential, good);
	put_away(c);
}

static void
kill_group(pid_t pid)
{
	kill(-pid, SIGKILL);
	/* Before it has a session of its own it is one process. */
	kill(pid, SIGKILL);
}

static void
kill_and_reap(pid_t pid)
{
	kill_group(pid);
	waitpid(pid, NULL, 0);
}

static void
on_limit(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct command *c = arg;

	c->late = true;
	kill_group(c->pid);
}

static bool
watch(struct command *c)
{
	const struct timeval limit = { .tv_sec =
					   LIMIT_SECRET_COMMAND_MS / 1000 };
	struct event_base *base = loop_base(c->monitor->loop);

	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0)
		return false;
	c->ended = event_new(base, c->pidfd, EV_READ | EV_PERSIST, on_ended, c);
	c->limit = event_new(base, -1, 0, on_limit, c);
	return c->ended != NULL && c->limit != NULL &&
	    event_add(c->ended, NULL) == 0 && event_add(c->limit, &limit) == 0;
}

/* Fork it, with the write end of a pipe.  False with errno. */
static bool
spawn(struct command *c, const struct start *s, int *output)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) != 0)
		return false;
	c->pid = fork();
	if (c->pid == 0)
		become(s, pair[1]);
	close(pair[1]);
	if (c->pid > 0 && watch(c)) {
		*output = pair[0];
		return true;
	}
	int saved = errno;
	close(pair[0]);
	if (c->pid > 0)
		kill_and_reap(c->pid);
	errno = saved;
	return false;
}

static bool
is_running(const struct monitor *m, uint32_t credential)
{
	const struct command *c;

	LIST_FOREACH(c, &m->commands, entry)
		if (c->credential == credential)
			return true;
	return false;
}

bool
command_start(struct monitor *m, uint32_t credential)
{
	struct command *c = NULL;
	struct start s;
	int output = -1;

	if (is_running(m, credential))
		return true;
	errno = ENOMEM;
	if (start_init(&s, m->owner, credential) &&
	    access(s.argv[0], X_OK) == 0)
		c = calloc(1, sizeof(*c));
	if (c != NULL) {
		*c = (struct command){ .monitor = m,
			.credential = credential,
			.pidfd = -1 };
		LIST_INSERT_HEAD(&m->commands, c, entry);
		if (spawn(c, &s, &output)) {
			give_pipe(m, credential, output);
			close(output);
			start_release(&s);
			return true;
		}
	}
	struct owner_credential o = owner_credential(m->owner, credential);
	secret_say(&o, strerror(errno));
	if (c != NULL)
		put_away(c);
	start_release(&s);
	return false;
}

void
commands_end(struct monitor *m)
{
	struct command *c;

	while ((c = LIST_FIRST(&m->commands)) != NULL) {
		kill_and_reap(c->pid);
		put_away(c);
	}
}
