/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/config.h"
#include "proxyd/policy_file.h"

/* Of a file as a whole: its beginning.  One that is not there has none. */
static struct load_at
file_at(const char *file)
{
	int there = faccessat(AT_FDCWD, file, F_OK, AT_SYMLINK_NOFOLLOW);
	uint32_t first = there == 0 || errno != ENOENT ? 1 : 0;

	return (struct load_at){ slice_of_str(file), first, first };
}

/* Open and read a file of the configuration; false, with an error. */
static bool
read_path(const char *path, struct buf *bytes, struct load_report *report)
{
	/* O_NONBLOCK: a pipe without a writer would be waited for for ever. */
	int fd = open(path,
	    O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);

	if (fd < 0) {
		const char *why =
		    errno == ELOOP ? "is a symbolic link" : strerror(errno);
		load_error(report, file_at(path), "%s", why);
		return false;
	}
	(void)fcntl(fd, F_SETFL, 0);
	bool good = load_read_file(fd, slice_of_str(path), true, bytes, report);
	close(fd);
	return good;
}

/* A file of certificates, in the words of `run` if it cannot be had. */
static const char *
open_bundle(void *ctx UNUSED, struct slice path, struct buf *out)
{
	struct load_report report = { 0 };
	char name[4096];

	if (path.n >= sizeof(name))
		return "no path";
	snprintf(name, sizeof(name), "%.*s", SLICE_ARG(path));
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return strerror(errno);
	bool good = load_read_file(fd, path, false, out, &report);
	close(fd);
	load_report_release(&report);
	return good ? NULL : "cannot be read, or is larger than 8 MiB";
}

static int
is_yaml(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 5 &&
	    strcmp(d->d_name + n - 5, ".yaml") == 0;
}

/* The files of a configuration while they are read. */
struct files {
	char *names[CONFIG_FILES_MAX]; /* owned */
	char *real[CONFIG_FILES_MAX];  /* owned; as the kernel knows them */
	struct buf bytes[CONFIG_FILES_MAX];
	struct load_file list[CONFIG_FILES_MAX];
	size_t n;
};

static void
add_file(struct files *f, const char *path, struct load_report *report)
{
	size_t i = f->n;

	if (i == CONFIG_FILES_MAX) {
		load_error(report, file_at(path),
		    "one file too many: %d at most", CONFIG_FILES_MAX);
		return;
	}
	f->names[i] = strdup(path);
	f->real[i] = realpath(path, NULL);
	buf_init(&f->bytes[i], LIMIT_POLICY_FILE_SIZE + 65536);
	f->n++;
	if (f->names[i] == NULL)
		return;
	(void)read_path(f->names[i], &f->bytes[i], report);
	f->list[i] = (struct load_file){ slice_of_str(f->names[i]),
		load_dir_of(slice_of_str(f->real[i] == NULL ? "" : f->real[i])),
		buf_slice(&f->bytes[i]) };
}

static void
add_dir(struct files *f, struct load_report *report)
{
	struct dirent **found = NULL;
	char dir[4096], path[4096 + 256 + 2];

	policy_file_config_dir(dir, sizeof(dir));
	int n = scandir(dir, &found, is_yaml, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, found[i]->d_name);
		add_file(f, path, report);
		free(found[i]);
	}
	free(found);
}

void
config_load(struct config *c, const char *file, struct load_report *report)
{
	struct files f = { .n = 0 };
	const char *home = getenv("HOME");
	enum err err = ERR_NONE;

	*c = (struct config){ .owner = NULL };
	buf_init(&c->image, IMAGE_SIZE_MAX);
	if (file != NULL)
		add_file(&f, file, report);
	else
		add_dir(&f, report);
	struct load_owner_in in = { .files = f.list,
		.n_files = f.n,
		.home =
		    slice_of_str(home != NULL && home[0] == '/' ? home : ""),
		.open = open_bundle };
	if (report->n_errors == 0 && load_owner(&in, &c->image, report))
		c->owner = owner_open(buf_slice(&c->image), &err);
	c->failed = c->owner == NULL;
	/* The report names the files: it is read before they go. */
	load_report_keep_names(report);
	for (size_t i = 0; i < f.n; i++) {
		free(f.names[i]);
		free(f.real[i]);
		buf_release(&f.bytes[i]);
	}
}

void
config_release(struct config *c)
{
	owner_free(c->owner);
	buf_release(&c->image);
}

/* The policy, and all that it includes, while it is loaded. */
struct opened {
	struct policy_files files;
	struct buf bytes[1 + LIMIT_POLICY_INCLUDES];
	uint32_t n; /* of bytes */
};

/* Read an open file, which is ours, into the next buffer. */
static bool
read_opened(struct opened *o, int fd, struct slice name, struct slice *bytes,
    struct load_report *report)
{
	struct buf *b = &o->bytes[o->n++];

	buf_init(b, LIMIT_POLICY_FILE_SIZE + 65536);
	bool good = load_read_file(fd, name, false, b, report);
	close(fd);
	*bytes = buf_slice(b);
	return good;
}

static const char *
open_included(void *ctx, uint32_t from, struct slice path,
    struct load_included *out)
{
	struct load_report report = { 0 };
	struct opened *o = ctx;
	const char *why = "";

	if (o->n == COUNT_OF(o->bytes))
		return "too many includes";
	int fd = policy_file_include(&o->files, from, path, &out->number, &why);
	if (fd < 0)
		return why;
	bool good = read_opened(o, fd, path, &out->bytes, &report);
	load_report_release(&report);
	return good ? NULL : "cannot be read, or is larger than 8 MiB";
}

/* Of --allow there is a file that is nowhere. */
static int
open_file(struct opened *o, const struct config_want *want, const char **why)
{
	if (want->n_allow == 0)
		return policy_file_open(&o->files, want->file, why);
	*why = "more than can be read";
	return policy_file_of_patterns(want->allow, want->n_allow);
}

static bool
open_policy(struct opened *o, struct load_policy_in *in,
    const struct config_want *want, struct load_report *report)
{
	const char *why = "", *file = want->file;
	int fd = open_file(o, want, &why);

	if (fd < 0) {
		bool first = strcmp(file, CMD_POLICY) == 0 &&
		    access(file, F_OK) != 0 && errno == ENOENT;
		load_error(report, file_at(file), "%s%s", why,
		    first ? "; `duenna init` writes one to begin with" : "");
		return false;
	}
	in->trusted = policy_file_is_trusted(&o->files);
	return read_opened(o, fd, in->file.name, &in->file.bytes, report);
}

bool
config_want_name(struct config_want *w, const char *of, const char *text)
{
	w->sandbox = text;
	return options_name(of, text);
}

bool
config_want_set(struct config_want *w, const char *of, const char *text)
{
	if (!options_set(of, text))
		return false;
	if (w->n_sets == OPTIONS_SETS_MAX) {
		fprintf(stderr, "duenna: %s: more than %d of --set\n", of,
		    OPTIONS_SETS_MAX);
		return false;
	}
	size_t n = strcspn(text, "=");
	w->sets[w->n_sets++] =
	    (struct load_set){ slice_of(text, n), slice_of_str(text + n + 1) };
	return true;
}

bool
config_want_allow(struct config_want *w, const char *of, const char *text)
{
	if (w->n_allow == CONFIG_ALLOW_MAX) {
		fprintf(stderr, "duenna: %s: more than %d of --allow\n", of,
		    CONFIG_ALLOW_MAX);
		return false;
	}
	w->allow[w->n_allow++] = text;
	w->file = CONFIG_ALLOW;
	return true;
}

void
config_name_allowed(const struct config_want *w)
{
	for (size_t i = 0; i < w->n_allow; i++)
		fprintf(stderr, "duenna: --allow:%zu is '%s'\n", i + 1,
		    w->allow[i]);
}

void
config_load_policy(struct config_policy *p, const struct config *c,
    const struct config_want *want, bool *used, struct load_report *report)
{
	const char *name = want->policy == NULL ? "" : want->policy;
	const char *sandbox = want->sandbox == NULL ? "" : want->sandbox;
	struct load_policy_in in = { .file.name = slice_of_str(want->file),
		.policy = slice_of_str(name),
		.any = want->all && want->policy == NULL,
		.sets = want->sets,
		.n_sets = want->n_sets,
		.sandbox = slice_of_str(sandbox),
		.owner = c->owner,
		.owner_failed = c->failed,
		.used = used,
		.now_s = clock_wall_us() / 1000000 };
	enum err err = ERR_NONE;

	struct opened *o = mem_alloc(sizeof(*o));

	*p = (struct config_policy){ .program = NULL };
	buf_init(&p->image, IMAGE_SIZE_MAX);
	in.preset = slice_has_prefix(in.file.name, LOAD_PRESET);
	in.include = open_included;
	in.ctx = o;
	bool good = in.preset || open_policy(o, &in, want, report);
	if (good && load_policy(&in, &p->image, report))
		p->program = program_open(buf_slice(&p->image), &err);
	for (uint32_t i = 0; i < o->n; i++)
		buf_release(&o->bytes[i]);
	policy_files_release(&o->files);
	free(o);
}

void
config_policy_release(struct config_policy *p)
{
	program_free(p->program);
	buf_release(&p->image);
}

struct load_at
config_at(struct owner_place place)
{
	return (struct load_at){ place.file, place.line, place.column };
}

void
config_advise_unused(const struct config *c, const bool *used,
    struct load_report *report)
{
	uint32_t n = c->owner == NULL ? 0 : owner_n_credentials(c->owner);

	for (uint32_t i = 0; i < n; i++) {
		struct owner_credential one = owner_credential(c->owner, i);
		if (!used[i])
			load_advise(report, config_at(one.at),
			    "credential `%.*s` is used by no rule of what was "
			    "checked",
			    SLICE_ARG(one.public.name));
	}
}

void
config_json(const struct load_report *report, struct json *j)
{
	static const char *const names[] = { "error", "warning", "warning" };

	json_array_begin(j);
	for (uint32_t i = 0; i < report->n; i++) {
		const struct load_message *m = &report->messages[i];
		json_object_begin(j);
		json_key_str(j, "severity", names[m->severity]);
		json_key_text(j, "file", m->at.file);
		json_key_number(j, "line", m->at.line);
		json_key_number(j, "column", m->at.column);
		json_key_text(j, "message", m->text);
		json_object_end(j);
	}
	json_array_end(j);
}
