/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are logs, and the records in them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/audit.h"

bool
audit_state_path(struct buf *out, const char *name)
{
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (xdg != NULL && xdg[0] == '/')
		return buf_putf(out, "%s/duenna/%s", xdg, name);
	if (home != NULL && home[0] == '/')
		return buf_putf(out, "%s/.local/state/duenna/%s", home, name);
	fputs("duenna: audit: HOME is not set, nor XDG_STATE_HOME: name the "
	      "file\n",
	    stderr);
	return false;
}

static void
say_errno(const char *path)
{
	fprintf(stderr, "duenna: audit: %s: %s\n", path, strerror(errno));
}

int
audit_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		say_errno(path);
	return fd;
}

bool
audit_is_log_name(const char *name)
{
	size_t n = strlen(name);

	return n > 6 && name[0] != '.' && strcmp(name + n - 6, ".jsonl") == 0;
}

static bool
is_later(const struct timespec *a, const struct timespec *b)
{
	if (a->tv_sec != b->tv_sec)
		return a->tv_sec > b->tv_sec;
	return a->tv_nsec > b->tv_nsec;
}

bool
audit_find_newest(struct buf *path)
{
	struct timespec last = { 0 };
	char newest[256] = "";
	const struct dirent *d;
	struct stat st;
	DIR *dir;

	if (!audit_state_path(path, "log"))
		return false;
	dir = opendir(buf_text(path));
	while (dir != NULL && (d = readdir(dir)) != NULL)
		if (audit_is_log_name(d->d_name) &&
		    fstatat(dirfd(dir), d->d_name, &st, 0) == 0 &&
		    (newest[0] == '\0' || is_later(&st.st_mtim, &last))) {
			snprintf(newest, sizeof(newest), "%s", d->d_name);
			last = st.st_mtim;
		}
	if (dir != NULL)
		closedir(dir);
	if (newest[0] == '\0') {
		fprintf(stderr,
		    "duenna: audit: there is no log in %s yet; `duenna run` "
		    "writes one\n",
		    buf_text(path));
		return false;
	}
	return buf_putf(path, "/%s", newest);
}

bool
audit_walk(struct audit_walk *w, audit_on_line *each, void *arg)
{
	enum reader_got got;
	struct reader r;
	struct buf store;
	struct slice in;

	w->n_records = w->n_bad = 0;
	if (lseek(w->fd, w->from, SEEK_SET) < 0) {
		say_errno(w->path);
		return false;
	}
	reader_init(&r, w->fd);
	buf_init(&store, LINE_SIZE_MAX + 1);
	while (
	    (got = reader_take(&r, &in)) == READER_LINE || got == READER_LONG) {
		const char *detail;
		struct line l;
		if (got == READER_LONG || !line_read(in, &store, &l, &detail)) {
			w->n_bad++;
			continue;
		}
		w->n_records++;
		if (!each(&l, in, w->from + (off_t)r.offset, arg))
			break;
	}
	if (got == READER_FAILED)
		say_errno(w->path);
	/* A line that is cut may be whole the next time. */
	w->from += (off_t)(got == READER_CUT ? r.offset : r.next);
	buf_release(&store);
	reader_release(&r);
	return got != READER_FAILED;
}

bool
audit_end(const struct audit_options *o, const struct audit_walk *w,
    uint64_t n_rows)
{
	if (w->n_bad != 0)
		fprintf(stderr,
		    "duenna: audit: lines that are no records: %" PRIu64 "; "
		    "`duenna audit verify` says which\n",
		    w->n_bad);
	if (n_rows == 0 && o->filters)
		fprintf(stderr,
		    "duenna: audit: no record of %s is such a one\n", w->path);
	return w->n_bad == 0 && (n_rows != 0 || !o->filters);
}
