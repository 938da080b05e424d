/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the working directory runs outside, or decides there, beyond the
 * names that ns/startfile knows: other policies, which the owner may run by
 * next; what the owner's shell or editor reads by way of a link into it; duenna
 * itself.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "ns/path.h"
#include "proxyd/monitor_reach.h"
#include "proxyd/monitor_sandbox.h"

#define ENTRIES_MAX 10000 /* of the working directory that are looked at */
#define POLICIES_MAX 64	  /* pinned; of more the command may write the rest */
#define HEAD_MAX 65536	  /* bytes of a file by which it is told */

/* Below the owner's home: files and folders of shells, editors, sessions. */
static const char *const starts[] = { ".bash_login", ".bash_logout",
	".bash_profile", ".bashrc", ".cargo/config.toml", ".claude",
	".config/autostart", ".config/environment.d", ".config/fish",
	".config/nvim", ".config/systemd/user", ".cursor", ".emacs", ".emacs.d",
	".gdbinit", ".gitconfig", ".inputrc", ".local/bin", ".npmrc",
	".pam_environment", ".profile", ".ssh/config", ".ssh/rc", ".tmux.conf",
	".vim", ".vimrc", ".xinitrc", ".xprofile", ".xsessionrc", ".zlogin",
	".zlogout", ".zprofile", ".zshenv", ".zshrc" };

/* One more of a list that the sandbox owns. */
static void
add(char ***list, size_t *n, char *path)
{
	*list = reallocarray(*list, *n + 1, sizeof(**list));
	if (*list == NULL)
		abort();
	(*list)[(*n)++] = path;
}

/* Such a line as only a policy file has at its edge: DESIGN 7. */
static bool
is_policy_line(struct slice line, bool *policies)
{
	bool here = slice_has_prefix(line, SLICE("policies:"));

	*policies = *policies || here;
	return here || slice_has_prefix(line, SLICE("version:")) ||
	    line.n == 0 || memchr(" \t\r#-}", line.p[0], 6) != NULL;
}

static bool
is_policy(struct slice text)
{
	bool policies = false;

	while (text.n != 0) {
		const uint8_t *end = memchr(text.p, '\n', text.n);
		size_t n = end == NULL ? text.n : (size_t)(end - text.p);
		if (!is_policy_line(slice_first(text, n), &policies))
			return false;
		text = slice_from(text, end == NULL ? n : n + 1);
	}
	return policies;
}

static bool
holds_policy(int folder, const char *name)
{
	static uint8_t head[HEAD_MAX];
	int fd = openat(folder, name,
	    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n = -1;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = read(fd, head, sizeof(head));
	if (fd >= 0)
		close(fd);
	return n > 0 && is_policy(slice_of(head, (size_t)n));
}

static bool
is_yaml(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot != NULL &&
	    (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static bool
is_pinned(const struct sandbox *s, const char *path)
{
	for (size_t i = 0; i < s->n_pins; i++)
		if (strcmp(s->pins[i], path) == 0)
			return true;
	return false;
}

/* Those that lie at its top: deeper ones have folders that can be moved. */
static void
pin_policies(struct sandbox *s)
{
	DIR *dir = opendir(s->view.work);
	const struct dirent *d;
	char path[PATH_MAX];
	size_t found = 0;

	for (size_t i = 0; dir != NULL && i < ENTRIES_MAX &&
	     found < POLICIES_MAX && (d = readdir(dir)) != NULL;
	     i++) {
		if (!is_yaml(d->d_name) ||
		    !path_join(path, sizeof(path), s->view.work, d->d_name) ||
		    is_pinned(s, path) || !holds_policy(dirfd(dir), d->d_name))
			continue;
		add(&s->pins, &s->n_pins, mem_strdup(path));
		found++;
	}
	if (dir != NULL)
		closedir(dir);
}

/* What is found at `path` lies in the working directory: told if it changes. */
static void
watch(struct sandbox *s, const char *path)
{
	const char *work = s->view.work;
	char *real = realpath(path, NULL);

	if (real != NULL && path_is_below(real, work) &&
	    strcmp(real, work) != 0)
		add(&s->starts, &s->n_starts,
		    mem_strdup(real + strlen(work) + 1));
	free(real);
}

static void
watch_home(struct sandbox *s)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < COUNT_OF(starts); i++)
		if (path_join(path, sizeof(path), s->view.home, starts[i]))
			watch(s, path);
}

/* The next run would be what the command has put there. */
static void
watch_ourselves(struct monitor *m, struct sandbox *s)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return;
	path[n] = '\0';
	const char *where = reach_writes(&s->view, path);
	if (where == NULL)
		return;
	if (!m->cfg->quiet)
		log_warn("duenna itself, %s, is in %s, where the command may "
			 "write: keep it elsewhere, or what the command puts "
			 "there runs outside the next time",
		    path, where);
	watch(s, path);
	watch(s, netns_nft_path());
}

void
start_find(struct monitor *m, struct sandbox *s)
{
	struct view *v = &s->view;

	/* One without a folder is a pipe, or of the program itself. */
	for (uint32_t i = 0; m->files.paths[0] != NULL && i < m->files.n; i++)
		add(&s->pins, &s->n_pins, mem_strdup(m->files.paths[i]));
	pin_policies(s);
	watch_home(s);
	watch_ourselves(m, s);
	v->pins = (const char *const *)s->pins;
	v->n_pins = s->n_pins;
	v->starts = (const char *const *)s->starts;
	v->n_starts = s->n_starts;
}

void
start_release(struct sandbox *s)
{
	for (size_t i = 0; i < s->n_pins; i++)
		free(s->pins[i]);
	for (size_t i = 0; i < s->n_starts; i++)
		free(s->starts[i]);
	free(s->pins);
	free(s->starts);
}
