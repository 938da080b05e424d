/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last rows of a log, and then what comes.  Without FILE every log of the
 * folder is followed that grows, so a run that begins later is seen too.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/audit.h"
#include "cmd/cmd.h"

#define ROWS_MAX 100000 /* that -n can ask for */
#define LOGS_MAX 64	/* logs followed at once; of more it is said */
#define LOOK_MS 200	/* how often */

struct followed {
	char name[256]; /* in the folder; "" for the one of the command line */
	struct audit_walk walk;
	uint64_t since_us; /* what is older is not printed */
};

struct tail {
	const struct audit_options *o;
	struct audit_table table;
	struct buf folder; /* empty: FILE was given */
	uint64_t started_us;
	uint64_t since_us; /* of the log at hand */
	struct followed logs[LOGS_MAX];
	size_t n_logs;
	bool told_many; /* that there are more of them */
	off_t *starts;	/* owned: where the last wanted rows begin */
	size_t n_starts, n_seen;
};

static volatile sig_atomic_t told_to_stop;

static void
on_signal(int sig UNUSED)
{
	told_to_stop = 1;
}

static bool
note(const struct line *l, struct slice in UNUSED, off_t at, void *arg)
{
	struct tail *t = arg;

	if (audit_table_wants(&t->table, l)) {
		audit_table_measure(&t->table, l);
		t->starts[t->n_seen++ % t->n_starts] = at;
	}
	return !told_to_stop;
}

static bool
print(const struct line *l, struct slice in, off_t at UNUSED, void *arg)
{
	struct tail *t = arg;
	unsigned long long max = t->o->pick.max;

	if (l->wall_us >= t->since_us && audit_table_wants(&t->table, l))
		audit_table_row(&t->table, l, in);
	told_to_stop = told_to_stop || (max != 0 && t->table.n_rows >= max);
	return !told_to_stop;
}

/* The last rows of the log that is there; `w` is left at its end. */
static bool
print_last(struct tail *t, struct audit_walk *w)
{
	unsigned long n = t->o->lines < ROWS_MAX ? t->o->lines : ROWS_MAX;

	t->n_starts = n + 1;
	t->starts = mem_array(t->n_starts, sizeof(*t->starts));
	bool good = audit_walk(w, note, t);
	if (good && n != 0) {
		w->from = t->n_seen <= n ?
		    0 :
		    t->starts[(t->n_seen - n) % t->n_starts];
		good = audit_walk(w, print, t);
	}
	free(t->starts);
	return good;
}

static bool
is_known(const struct tail *t, const char *name)
{
	for (size_t i = 0; i < t->n_logs; i++)
		if (strcmp(t->logs[i].name, name) == 0)
			return true;
	return false;
}

static void
add(struct tail *t, const char *path, const char *name, int fd)
{
	struct followed *f = &t->logs[t->n_logs++];

	f->since_us = 0;
	f->walk = (struct audit_walk){ .path = path, .fd = fd };
	snprintf(f->name, sizeof(f->name), "%s", name);
}

static void
follow_new(struct tail *t, int dir, const char *name)
{
	if (t->n_logs == LOGS_MAX) {
		if (!t->told_many)
			fprintf(stderr,
			    "duenna: audit: more than %d logs at once: what "
			    "comes in others is not shown; end this and "
			    "begin anew\n",
			    LOGS_MAX);
		t->told_many = true;
		return;
	}
	int fd = openat(dir, name,
	    O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	add(t, t->logs[0].walk.path, name, fd);
	t->logs[t->n_logs - 1].since_us = t->started_us;
}

/* Logs that were written since we began: other runs'. */
static void
look_for_more(struct tail *t)
{
	DIR *dir = t->folder.n == 0 ? NULL : opendir(buf_text(&t->folder));
	time_t began = (time_t)(t->started_us / 1000000) - 1;
	const struct dirent *d;
	struct stat st;

	while (dir != NULL && (d = readdir(dir)) != NULL)
		if (audit_is_log_name(d->d_name) && !is_known(t, d->d_name) &&
		    fstatat(dirfd(dir), d->d_name, &st, 0) == 0 &&
		    st.st_mtim.tv_sec >= began)
			follow_new(t, dirfd(dir), d->d_name);
	if (dir != NULL)
		closedir(dir);
}

/* A log that is gone, and read to its end, makes room. */
static bool
read_more(struct tail *t, size_t i)
{
	struct audit_walk *w = &t->logs[i].walk;
	struct stat st;

	if (fstat(w->fd, &st) != 0)
		return false;
	if (st.st_size < w->from)
		w->from = 0; /* it was emptied */
	t->since_us = t->logs[i].since_us;
	if (st.st_size != w->from && !audit_walk(w, print, t))
		return false;
	if (st.st_nlink == 0 && t->folder.n != 0) {
		close(w->fd);
		t->logs[i] = t->logs[--t->n_logs];
	}
	return true;
}

static bool
follow(struct tail *t)
{
	while (!told_to_stop) {
		look_for_more(t);
		for (size_t i = 0; i < t->n_logs && !told_to_stop; i++)
			if (!read_more(t, i))
				return false;
		if (fflush(stdout) != 0)
			return false;
		if (!told_to_stop)
			(void)poll(NULL, 0, LOOK_MS);
	}
	return true;
}

static bool
begin(struct tail *t, struct buf *path)
{
	const char *slash;

	if (t->o->file != NULL)
		buf_put_str(path, t->o->file);
	else if (!audit_find_newest(path) ||
	    !audit_state_path(&t->folder, "log"))
		return false;
	int fd = audit_open(buf_text(path));
	if (fd < 0)
		return false;
	slash = strrchr(buf_text(path), '/');
	add(t, buf_text(path), t->folder.n == 0 ? "" : slash + 1, fd);
	return true;
}

int
audit_tail(const struct audit_options *o)
{
	const struct sigaction stop = { .sa_handler = on_signal };
	struct tail *t = mem_alloc(sizeof(*t));
	struct buf path;
	bool good;

	told_to_stop = 0;
	t->o = o;
	t->started_us = clock_wall_us();
	buf_init(&path, 8192);
	buf_init(&t->folder, 8192);
	audit_table_init(&t->table, o);
	if (!o->once) {
		(void)sigaction(SIGINT, &stop, NULL);
		(void)sigaction(SIGTERM, &stop, NULL);
	}
	good = begin(t, &path) && print_last(t, &t->logs[0].walk);
	if (good && !o->once)
		good = follow(t);
	for (size_t i = 0; i < t->n_logs; i++)
		close(t->logs[i].walk.fd);
	audit_table_release(&t->table);
	buf_release(&t->folder);
	buf_release(&path);
	free(t);
	return good ? 0 : CMD_NO;
}
