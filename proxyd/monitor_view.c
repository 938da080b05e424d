/* SPDX-License-Identifier: Apache-2.0 */
/* What the sandbox of a run is shown: its view of the host, checked. */
#include <errno.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "ns/home.h"
#include "policy/git.h"
#include "proxyd/monitor_ca.h"
#include "proxyd/monitor_reach.h"
#include "proxyd/monitor_sandbox.h"

#define OPTIONS_MAX 131072 /* bytes; the kernel takes no longer variable */
#define CLOSED_MAX 4	   /* state, settings, --config, --audit */

/* What the caller set stays; a list of options gets ours as well. */
static void
set_variable(struct env *env, const struct trust_variable *v)
{
	const char *own = env_find(env, v->name);
	struct buf both;

	if (own == NULL) {
		env_set(env, v->name, v->value);
	} else if (v->joins != NULL && strstr(own, v->joins) == NULL) {
		buf_init(&both, OPTIONS_MAX);
		if (buf_putf(&both, "%s %s", own, v->value))
			env_set(env, v->name, buf_text(&both));
		buf_release(&both);
	}
}

/* The trust kit: files for /etc, and variables that the caller did not set. */
static int
make_trust(struct monitor *m, struct sandbox *s)
{
	uint32_t n_roots = owner_n_roots(m->owner);
	struct slice cas[OWNER_CA_KINDS];
	size_t n_cas = ca_published(m, cas);
	struct slice *roots = mem_array(n_roots, sizeof(*roots));
	enum err err = ERR_NONE;
	size_t n = 0;

	for (uint32_t i = 0; i < n_roots; i++)
		roots[i] = owner_root(m->owner, i).der;
	int result = trust_init(&s->trust, cas, n_cas, roots, n_roots, &err);
	free(roots);
	if (result != 0) {
		monitor_fail(m, "cannot make the bundle of certificates: %s",
		    err_text(err));
		return -1;
	}
	for (size_t i = 0; i < s->trust.n_files; i++)
		s->files[i] = (struct view_file){ s->trust.files[i].path,
			buf_slice(&s->trust.files[i].bytes) };
	const struct trust_variable *v = trust_variables(&n);
	for (size_t i = 0; i < n; i++)
		set_variable(&s->env, &v[i]);
	return 0;
}

/* git takes the first of two settings for one beginning: a user's own counts. */
static bool
turn_host(struct env *env, struct slice host, uint16_t port)
{
	char key[512], from[512];

	if (port == 443)
		snprintf(key, sizeof(key), "url.https://%.*s/.insteadOf",
		    SLICE_ARG(host));
	else
		snprintf(key, sizeof(key), "url.https://%.*s:%u/.insteadOf",
		    SLICE_ARG(host), port);
	snprintf(from, sizeof(from), "git@%.*s:", SLICE_ARG(host));
	if (!env_add_git(env, key, from))
		return false;
	snprintf(from, sizeof(from), "ssh://git@%.*s/", SLICE_ARG(host));
	return env_add_git(env, key, from);
}

/*
 * Over SSH nobody sees a branch, and there is no way out: URLs that would go
 * there are turned to https, of each host that rules of git+https name.
 */
static void
turn_ssh(const struct monitor *m, struct env *env)
{
	struct slice seen[LIMIT_GIT_HOSTS], host;
	uint32_t next = 0;
	uint16_t port;
	size_t n = 0, i;

	while (n < LIMIT_GIT_HOSTS &&
	    git_next_host(m->program, &next, &host, &port)) {
		for (i = 0; i < n && !slice_eq(seen[i], host);)
			i++;
		if (i < n)
			continue;
		seen[n++] = host;
		if (turn_host(env, host, port))
			continue;
		log_warn("GIT_CONFIG_COUNT is no count: git's URLs of SSH "
			 "stay as they are, and are refused");
		return;
	}
}

static bool
add_bind(struct sandbox *s, const char *path, bool write)
{
	struct fail fail = { 0 };
	char *real;

	if (s->view.n_binds == BINDS_MAX) {
		monitor_fail(s->monitor, "cannot show %s: too many entries",
		    path);
		return false;
	}
	if (view_resolve(path, s->view.work, &real, &fail) != 0) {
		monitor_fail(s->monitor, "%s", fail.text);
		return false;
	}
	s->bind_paths[s->view.n_binds] = real;
	s->bind_given[s->view.n_binds] = mem_strdup(path);
	s->binds[s->view.n_binds++] = (struct view_bind){ real, write };
	return true;
}

static bool
add_binds(struct monitor *m, struct sandbox *s)
{
	s->view.binds = s->binds;
	for (size_t i = 0; i < m->cfg->n_write; i++)
		if (!add_bind(s, m->cfg->write[i], true))
			return false;
	for (uint32_t i = 0; i < owner_n_files(m->owner); i++) {
		char path[4096];
		bool write = false;
		struct slice file = owner_file(m->owner, i, &write);
		snprintf(path, sizeof(path), "%.*s", SLICE_ARG(file));
		if (access(path, F_OK) == 0 && !add_bind(s, path, write))
			return false;
	}
	return true;
}

/* Nor may one be found by way of another that is written to: an earlier command
 * may have put a link there, to be shown what it leads to. */
static bool
check_binds(struct sandbox *s)
{
	for (size_t i = 0; i < s->view.n_binds; i++) {
		const char *where =
		    reach_moves(&s->view, s->bind_given[i], s->binds[i].path);
		if (where == NULL)
			continue;
		monitor_fail(s->monitor,
		    "cannot show %s: it is found by a link or a folder in %s, "
		    "where a command may have put it. Name the place that it "
		    "leads to, or remove it.",
		    s->bind_given[i], where);
		return false;
	}
	return true;
}

/* A file of ours by its real path, if there is one. */
static void
add_closed(struct view *v, const char **closed, const char *path)
{
	const char *real = path == NULL ? NULL : realpath(path, NULL);

	if (real != NULL)
		closed[v->n_closed++] = real;
}

int
sandbox_view(struct monitor *m, struct sandbox *s, struct fail *fail)
{
	static char host[65];
	static char settings[4096];
	static const char *closed[CLOSED_MAX];
	struct view *v = &s->view;

	if (make_trust(m, s) != 0)
		return -1;
	turn_ssh(m, &s->env);
	gethostname(host, sizeof(host) - 1);
	v->home = env_find(&s->env, "HOME");
	if (v->home == NULL)
		v->home = "/root";
	if (home_make(buf_text(&m->state_dir), m->name, &s->user, &s->home_dir,
		fail) != 0)
		return -1;
	s->work = realpath(".", NULL);
	v->home_dir = s->home_dir;
	v->work = s->work == NULL ? "/" : s->work;
	v->host = host;
	closed[v->n_closed++] = buf_text(&m->state_dir);
	policy_file_config_dir(settings, sizeof(settings));
	closed[v->n_closed++] = settings;
	add_closed(v, closed, m->cfg->config);
	add_closed(v, closed, m->cfg->audit);
	v->closed = closed;
	v->files = s->files;
	v->n_files = s->trust.n_files;
	v->root = s->user.uid == 0;
	/* A message that was given already leaves `fail` empty. */
	if (!add_binds(m, s) || !check_binds(s) || !reach_log_is_ours(m, v) ||
	    view_check(v, fail) != 0 || !reach_is_ours(m, v) ||
	    !secrets_are_hidden(m, v))
		return -1;
	v->hidden = reach_known(v, m->cfg->quiet);
	start_find(m, s);
	return 0;
}
