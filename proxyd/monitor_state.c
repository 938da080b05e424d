/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept on disk, below $XDG_STATE_HOME/duenna (else
 * ~/.local/state/duenna), mode 0700: log/, programs/, homes/, locks/,
 * audit.key.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "crypto/digest.h"
#include "proxyd/monitor_state.h"

#define LOGS_A_SECOND 100 /* of one name */

void
state_sha256(struct slice bytes, char text[7 + 64 + 1])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t digest[32];

	digest_sha256(bytes, digest);
	memcpy(text, "sha256:", 7);
	for (size_t i = 0; i < sizeof(digest); i++) {
		text[7 + 2 * i] = hex[digest[i] >> 4];
		text[7 + 2 * i + 1] = hex[digest[i] & 15];
	}
	text[7 + 64] = '\0';
}

/* Make each folder of an absolute path that is not there yet. */
static int
make_dirs(const char *path)
{
	char copy[4096];
	size_t n = strlen(path);

	if (n >= sizeof(copy)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(copy, path, n + 1);
	for (size_t i = 1; i <= n; i++) {
		if (copy[i] != '/' && copy[i] != '\0')
			continue;
		char c = copy[i];
		copy[i] = '\0';
		if (mkdir(copy, 0700) != 0 && errno != EEXIST)
			return -1;
		copy[i] = c;
	}
	return 0;
}

static int
make_below(struct monitor *m, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", buf_text(&m->state_dir), name);
	if (make_dirs(path) == 0)
		return 0;
	monitor_fail(m, "cannot make the folder %s: %s", path, strerror(errno));
	return -1;
}

/* Who could read it could sign a log of his own; it is never made anew. */
static int
check_key(struct monitor *m, int fd, const char *path)
{
	struct stat st;
	const char *why = NULL;

	if (fstat(fd, &st) != 0)
		why = strerror(errno);
	else if (!S_ISREG(st.st_mode))
		why = "it is no regular file";
	else if (st.st_uid != geteuid() && st.st_uid != 0)
		why = "it belongs to another user";
	else if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		why = "others may read or write it (chmod 600, or remove it: "
		      "then a new one is made)";
	if (why == NULL)
		return 0;
	monitor_fail(m, "the file of a key, %s, cannot be used: %s", path, why);
	return -1;
}

/*
 * What the keeper keeps over its own restart, read by nobody else; of a gateway
 * also over the gateway's: sandboxes trust its CA.
 */
static int
open_keeper_state(const struct monitor *m)
{
	char path[4096];

	if (m->cfg->state == NULL)
		return memfd_create("duenna-keeper", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "%s/keeper.state", m->cfg->state);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int
state_open(struct monitor *m)
{
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char path[4096];

	if (m->cfg->state != NULL)
		buf_put_str(&m->state_dir, m->cfg->state);
	else if (xdg != NULL && xdg[0] == '/')
		buf_putf(&m->state_dir, "%s/duenna", xdg);
	else if (home != NULL && home[0] == '/')
		buf_putf(&m->state_dir, "%s/.local/state/duenna", home);
	else {
		monitor_fail(m,
		    "HOME is not set: where should the log go? "
		    "Set HOME or XDG_STATE_HOME");
		return -1;
	}
	if (make_below(m, "log") != 0 || make_below(m, "programs") != 0 ||
	    make_below(m, "homes") != 0 ||
	    (m->cfg->state != NULL && make_below(m, "sandboxes") != 0))
		return -1;
	m->state_fd = open_keeper_state(m);
	snprintf(path, sizeof(path), "%s/audit.key", buf_text(&m->state_dir));
	m->key_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (m->state_fd < 0 || m->key_fd < 0) {
		monitor_fail(m, "cannot open %s: %s", path,
		    errno == ELOOP ? "it is a symbolic link" : strerror(errno));
		return -1;
	}
	if (check_key(m, m->key_fd, path) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s/keeper.state",
	    buf_text(&m->state_dir));
	return m->cfg->state == NULL ? 0 : check_key(m, m->state_fd, path);
}

/*
 * What --audit names, or $STATE/log/TIME-NAME.jsonl.  `others` runs of that name
 * have begun in this second: theirs are taken.
 */
static void
log_path(struct monitor *m, unsigned others)
{
	char now[CLOCK_TEXT_SIZE];

	buf_clear(&m->log_path);
	if (m->cfg->audit != NULL) {
		buf_put_str(&m->log_path, m->cfg->audit);
		return;
	}
	clock_text(clock_wall_us(), now);
	buf_putf(&m->log_path, "%s/log/", buf_text(&m->state_dir));
	for (const char *p = now; *p != '\0' && *p != '.'; p++)
		if (*p != ':')
			buf_put_byte(&m->log_path, (uint8_t)*p);
	buf_putf(&m->log_path, "Z-%s", m->name);
	if (others != 0)
		buf_putf(&m->log_path, "-%u", others + 1);
	buf_put_str(&m->log_path, ".jsonl");
}

/* One of ours is a new file; one that the owner names may be there already. */
static void
open_log(struct monitor *m)
{
	int flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY |
	    O_NOFOLLOW | O_NONBLOCK;

	if (m->cfg->audit == NULL)
		flags |= O_EXCL;
	for (unsigned others = 0; others < LOGS_A_SECOND; others++) {
		log_path(m, others);
		m->log_fd = open(buf_text(&m->log_path), flags, 0600);
		if (m->log_fd >= 0 || errno != EEXIST)
			return;
	}
}

/* Where others may rename, a log is theirs. */
static const char *
wrong_folder(const char *log)
{
	const char *slash = strrchr(log, '/');
	size_t n = slash == NULL ? 0 : (size_t)(slash - log) + 1;
	char folder[4096] = ".";
	struct stat st;

	if (n >= sizeof(folder))
		return "its path is too long";
	if (n != 0)
		snprintf(folder, sizeof(folder), "%.*s", (int)n, log);
	if (stat(folder, &st) != 0)
		return "its folder is not there";
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return "its folder belongs to somebody else";
	if ((st.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH)
		return "everybody may write its folder";
	return NULL;
}

/* What is wrong with a log that --audit names, or NULL. */
static const char *
wrong_log(const char *log, const struct stat *st)
{
	if (st->st_uid != geteuid())
		return "it belongs to somebody else";
	if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return "others may write it: chmod go-w";
	/* The other name may be one that the command can write. */
	if (st->st_nlink != 1)
		return "it has another name, a hard link";
	return wrong_folder(log);
}

int
state_open_log(struct monitor *m)
{
	const char *wrong = NULL;
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct stat st;

	open_log(m);
	if (m->log_fd < 0) {
		monitor_fail(m, "cannot open the audit log %s: %s",
		    buf_text(&m->log_path),
		    errno == ELOOP ? "it is a symbolic link" : strerror(errno));
		return -1;
	}
	if (fstat(m->log_fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		monitor_fail(m, "the audit log %s is no regular file",
		    buf_text(&m->log_path));
		return -1;
	}
	if (m->cfg->audit != NULL)
		wrong = wrong_log(m->cfg->audit, &st);
	if (wrong != NULL) {
		monitor_fail(m, "--audit %s: not written to: %s", m->cfg->audit,
		    wrong);
		return -1;
	}
	/* Held by this process for as long as it lives: one writer a log. */
	if (fcntl(m->log_fd, F_SETLK, &whole) != 0) {
		monitor_fail(m, "another run writes the audit log %s",
		    buf_text(&m->log_path));
		return -1;
	}
	return 0;
}

void
state_drop_empty_log(struct monitor *m)
{
	struct stat st;

	if (m->log_fd >= 0 && m->cfg->audit == NULL &&
	    fstat(m->log_fd, &st) == 0 && st.st_size == 0)
		unlink(buf_text(&m->log_path));
}

int
state_keep_program(struct monitor *m, const struct program *p,
    const char *digest)
{
	struct slice image = program_image(p);
	char path[4096], part[4096 + 32];

	snprintf(path, sizeof(path), "%s/programs/sha256-%s",
	    buf_text(&m->state_dir), digest + 7);
	if (access(path, R_OK) == 0)
		return 0;
	/* Other runs by a new policy may be writing it at this moment. */
	snprintf(part, sizeof(part), "%s.%ld.part", path, (long)getpid());
	(void)unlink(part);
	int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool good = fd >= 0;
	while (good && image.n != 0) {
		ssize_t n = write(fd, image.p, image.n);
		good = n > 0;
		image = slice_from(image, good ? (size_t)n : 0);
	}
	if (fd >= 0)
		good = close(fd) == 0 && good;
	if (good && rename(part, path) == 0)
		return 0;
	int number = errno;
	(void)unlink(part);
	errno = number;
	return -1;
}
