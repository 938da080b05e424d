/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox of a run: its namespaces, what it is shown, its command. */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/wr.h"
#include "ns/home.h"
#include "ns/inlet.h"
#include "ns/outside.h"
#include "ns/watch.h"
#include "proxyd/monitor_sandbox.h"

static int
fail_with(struct monitor *m, const struct fail *fail)
{
	monitor_fail(m, "%s", fail->text);
	return -1;
}

static void
on_links(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct sandbox *s = arg;
	char name[16];

	if (!watch_read(fd, name))
		return;
	pid1_signal(&s->pid1, SIGKILL);
	s->monitor->why = REASON_L3_LINK;
	monitor_fail(s->monitor,
	    "the link %s appeared in the sandbox's "
	    "network namespace; it was cut off",
	    name);
}

/* What our caller had ignored stays so for the command.  SIGPIPE is ours. */
static void
note_ignored(struct sandbox *s)
{
	struct sigaction now;

	sigemptyset(&s->ignored);
	for (int n = 1; n < NSIG; n++)
		if (n != SIGPIPE && sigaction(n, NULL, &now) == 0 &&
		    now.sa_handler == SIG_IGN)
			sigaddset(&s->ignored, n);
	/* Else nobody can wait for a child: sigaction(2). */
	signal(SIGCHLD, SIG_DFL);
	s->child.ignored = &s->ignored;
}

int
sandbox_start(struct monitor *m)
{
	struct sandbox *s = mem_alloc(sizeof(*s));
	struct netns_config config = { .nft_path = netns_nft_path() };
	struct fail fail = { 0 };

	m->sandbox = s;
	s->monitor = m;
	s->lock.fd = -1;
	s->user = netns_user_self();
	if (m->cfg->user != NULL &&
	    netns_user_find(m->cfg->user, &s->user, &fail) != 0)
		return fail_with(m, &fail);
	m->secret_owner = s->user.uid;
	if (geteuid() == 0 && s->user.uid == 0 && !m->cfg->quiet)
		log_warn("started by root: the command is uid 0 without "
			 "capabilities; --user NAME makes it another");
	note_ignored(s);
	s->child.argv = m->cfg->command;
	s->child.keep_fd = m->cfg->keep_fd;
	s->child.n_keep_fd = m->cfg->n_keep_fd;
	if (child_check(&s->child, &fail) != 0)
		return fail_with(m, &fail);
	config.user = s->user;
	if (netns_start(&config, &s->netns, &fail) != 0)
		return fail_with(m, &fail);
	s->has_netns = true;
	s->links = event_new(loop_base(m->loop), s->netns.socket[NETNS_LINKS],
	    EV_READ | EV_PERSIST, on_links, s);
	if (s->links == NULL || event_add(s->links, NULL) != 0) {
		monitor_fail(m, "out of memory");
		return -1;
	}
	return 0;
}

bool
sandbox_is_ready(const struct monitor *m)
{
	return m->sandbox != NULL && m->sandbox->has_netns;
}

int
sandbox_counters(const struct monitor *m, struct netns_counters *out)
{
	struct fail fail = { 0 };

	if (netns_counters(&m->sandbox->netns, out, &fail) == 0)
		return 0;
	log_warn("%s", fail.text);
	return -1;
}

/* One placeholder for each variable that a credential names. */
static int
make_places(struct monitor *m, struct sandbox *s, uint32_t credential)
{
	struct owner_credential c = owner_credential(m->owner, credential);

	for (uint32_t k = 0; k < c.n_places; k++) {
		char name[256], text[PLACEHOLDER_SIZE_MAX + 1];
		struct placeholder *p = &s->places[s->n_places];
		if (s->n_places == PLACES_MAX ||
		    !placeholder_make(c.places[k].like, credential, p)) {
			monitor_fail(m,
			    "credential `%.*s`: no placeholder "
			    "like `%.*s` can be made",
			    SLICE_ARG(c.public.name),
			    SLICE_ARG(c.places[k].like));
			return -1;
		}
		s->n_places++;
		snprintf(name, sizeof(name), "%.*s",
		    SLICE_ARG(c.places[k].env));
		snprintf(text, sizeof(text), "%.*s", (int)p->n,
		    (const char *)p->text);
		env_set(&s->env, name, text);
	}
	return 0;
}

/* What the worker needs of the sandbox: name, placeholders, listeners. */
void
sandbox_feed(struct monitor *m, struct role_process *worker)
{
	struct sandbox *s = m->sandbox;
	uint8_t body[32768];
	struct wr w = wr_of(body, sizeof(body));
	int fds[NETNS_LINKS];

	wr_u32(&w, MONITOR_SANDBOX);
	wr_slice8(&w, slice_of_str(m->name));
	wr_u16(&w, (uint16_t)s->n_places);
	for (size_t i = 0; i < s->n_places; i++) {
		wr_u32(&w, s->places[i].credential);
		wr_slice16(&w, slice_of(s->places[i].text, s->places[i].n));
	}
	size_t n = inlet_for_worker(s->netns.socket, fds);
	roles_send(worker, OP_SANDBOX, wr_slice(&w), fds, n);
}

int
sandbox_take_name(struct monitor *m)
{
	struct sandbox *s = m->sandbox;
	struct fail fail = { 0 };

	if (homelock_take(&s->lock, buf_text(&m->state_dir), m->name,
		m->cfg->name == NULL, &fail) == 0)
		return 0;
	return fail_with(m, &fail);
}

/*
 * Environment, placeholders, the view; before any role is fed: no command of a
 * secret runs, and no log is gone on with, that a sandbox could have written.
 */
int
sandbox_prepare(struct monitor *m)
{
	struct sandbox *s = m->sandbox;
	struct fail fail = { 0 };
	const struct monitor_config *cfg = m->cfg;

	env_init(&s->env, environ);
	if (cfg->user != NULL) {
		char home[PATH_MAX];
		netns_user_home(&s->user, home, sizeof(home));
		env_set(&s->env, "HOME", home);
		env_set(&s->env, "USER", cfg->user);
		env_set(&s->env, "LOGNAME", cfg->user);
	}
	for (size_t i = 0; i < cfg->n_env; i++)
		if (!env_keep(&s->env, environ, cfg->env[i]))
			log_warn("--env %s: the variable is not set",
			    cfg->env[i]);
	for (uint32_t i = 0; i < owner_n_environment(m->owner); i++) {
		char name[256];
		snprintf(name, sizeof(name), "%.*s",
		    SLICE_ARG(owner_environment(m->owner, i)));
		(void)env_keep(&s->env, environ, name);
	}
	secrets_keep_from(m, &s->env);
	for (uint32_t i = 0; i < owner_n_credentials(m->owner); i++)
		if (make_places(m, s, i) != 0)
			return -1;
	if (sandbox_view(m, s, &fail) == 0)
		return 0;
	if (fail.text[0] != '\0') /* else it has been said */
		monitor_fail(m, "%s", fail.text);
	return -1;
}

static void
ended(struct sandbox *s, const struct pid1_news *news)
{
	struct monitor *m = s->monitor;

	m->dies_by = job_end(&s->job, news);
	if (news->kind == PID1_FAILED)
		fprintf(stderr, "duenna: %s\n", news->fail.text);
	else if (news->kind == PID1_GONE)
		fprintf(stderr, "duenna: the sandbox was killed\n");
	monitor_command_ended(m, pid1_exit_status(news));
}

static void
say_outside(const char *text)
{
	bool mended =
	    strncmp(text, OUTSIDE_PUT_BACK, strlen(OUTSIDE_PUT_BACK)) == 0;

	fprintf(stderr, "duenna: %s%s\n",
	    mended ? "" : "will run outside: ", text);
}

static void
on_news(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct sandbox *s = arg;
	struct pid1_news news;

	for (;;) {
		pid1_read(&s->pid1, &news);
		switch (news.kind) {
		case PID1_NONE:
			return;
		case PID1_STARTED:
			s->monitor->ran = true;
			break;
		case PID1_STOPPED:
			job_stopped(&s->job, news.number);
			break;
		case PID1_OUTSIDE:
			say_outside(news.fail.text);
			break;
		case PID1_FAILED:
		case PID1_EXITED:
		case PID1_KILLED:
		case PID1_GONE:
			event_del(s->news);
			ended(s, &news);
			return;
		}
	}
}

static void
on_signal(evutil_socket_t number, short what UNUSED, void *arg)
{
	struct sandbox *s = arg;

	job_signal(&s->job, (int)number);
}

static int
watch_command(struct monitor *m, struct sandbox *s)
{
	s->news = event_new(loop_base(m->loop), s->pid1.channel,
	    EV_READ | EV_PERSIST, on_news, s);
	if (s->news == NULL || event_add(s->news, NULL) != 0)
		return -1;
	for (size_t i = 0; job_signals[i] != 0 && i < SIGNALS_MAX; i++) {
		struct event *e = evsignal_new(loop_base(m->loop),
		    job_signals[i], on_signal, s);
		if (e == NULL || event_add(e, NULL) != 0)
			return -1;
		s->signals[s->n_signals++] = e;
	}
	return 0;
}

void
sandbox_go(struct monitor *m)
{
	struct sandbox *s = m->sandbox;
	struct fail fail = { 0 };
	struct pid1_config config = { .netns = &s->netns,
		.view = &s->view,
		.child = &s->child };

	s->child.environment = s->env.list;
	job_init(&s->job);
	config.foreground = job_is_foreground(&s->job);
	if (pid1_start(&config, &s->pid1, &fail) != 0) {
		monitor_fail(m, "%s", fail.text);
		return;
	}
	s->runs = true;
	job_start(&s->job, &s->pid1);
	if (watch_command(m, s) != 0)
		monitor_fail(m, "out of memory");
}

/* The home, unless it was given a name, and those that nobody could remove. */
static void
end_home(struct monitor *m, struct sandbox *s)
{
	struct fail fail = { 0 };
	bool left = s->home_dir != NULL && m->cfg->name == NULL &&
	    home_remove(s->home_dir, &fail) != 0;

	if (left)
		log_warn("%s", fail.text);
	homelock_release(&s->lock, left);
	homelock_clean(buf_text(&m->state_dir));
}

void
sandbox_end(struct monitor *m)
{
	struct sandbox *s = m->sandbox;

	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n_signals; i++)
		event_free(s->signals[i]);
	if (s->news != NULL)
		event_free(s->news);
	if (s->links != NULL)
		event_free(s->links);
	if (s->runs)
		pid1_stop(&s->pid1, say_outside);
	if (s->runs)
		pid1_release(&s->pid1);
	if (s->has_netns)
		netns_release(&s->netns);
	end_home(m, s);
	for (size_t i = 0; i < s->view.n_binds; i++) {
		free(s->bind_paths[i]);
		free(s->bind_given[i]);
	}
	env_release(&s->env);
	trust_release(&s->trust);
	start_release(s);
	free(s->home_dir);
	free(s->work);
	free(s);
	m->sandbox = NULL;
}
