/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/rd.h"
#include "base/secret.h"
#include "base/wr.h"
#include "ns/env.h"
#include "ns/path.h"
#include "ns/plan.h"
#include "proxyd/monitor_ca.h"
#include "proxyd/monitor_reach.h"

bool
secret_is_named(const struct program *p, uint32_t credential)
{
	for (uint32_t r = 0; r < program_n_rules(p); r++) {
		struct program_rule rule = program_rule(p, r);
		for (uint32_t k = 0; k < rule.n_credentials; k++)
			if (rule.credentials[k] == credential)
				return true;
	}
	return false;
}

/* What came of looking for a secret. */
enum found {
	FOUND_HERE,
	FOUND_NOT,   /* requests that need it are refused */
	FOUND_WRONG, /* somebody else may have put it there: nothing starts */
};

/* Whose a file may be, beside ours and root's, and what nobody else may. */
struct may {
	uid_t owner;
	mode_t never;
};

/*
 * Read the file once it is open: what was checked is what is used.  Sets *n or
 * *why.
 */
static enum found
read_file(const char *path, struct may may, uint8_t *bytes, size_t max,
    size_t *n, const char **why)
{
	enum found found = FOUND_NOT;
	struct stat st;
	ssize_t got = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st) != 0) {
		*why = strerror(errno);
	} else if (!S_ISREG(st.st_mode)) {
		*why = "not a regular file";
	} else if (st.st_uid != geteuid() && st.st_uid != 0 &&
	    st.st_uid != may.owner) {
		found = FOUND_WRONG;
		*why = "it belongs to another user";
	} else if ((st.st_mode & may.never) != 0) {
		found = FOUND_WRONG;
		*why = (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 ?
		    "others may write to it (chmod go-w)" :
		    "others may read it (chmod 600)";
	} else if ((got = read(fd, bytes, max)) < 0) {
		*why = strerror(errno);
	} else if (got == 0 || (size_t)got == max) {
		*why = got == 0 ? "it is empty" : "it is longer than 16 KiB";
	} else {
		found = FOUND_HERE;
		*n = (size_t)got;
	}
	if (fd >= 0)
		close(fd);
	return found;
}

bool
secret_read_own(const char *path, uint8_t *bytes, size_t max, size_t *n,
    const char **why)
{
	struct may nobody = { geteuid(), S_IRWXG | S_IRWXO };

	return read_file(path, nobody, bytes, max, n, why) == FOUND_HERE;
}

static enum found
read_variable(const char *name, uint8_t *bytes, size_t max, size_t *n,
    const char **why)
{
	const char *value = getenv(name);

	*n = value == NULL ? 0 : strlen(value);
	if (*n == 0 || *n >= max) {
		*why = value == NULL ? "the variable is not set" :
		    *n == 0	     ? "the variable is empty" :
				       "it is longer than 16 KiB";
		return FOUND_NOT;
	}
	memcpy(bytes, value, *n);
	return FOUND_HERE;
}

static void
warn_if_open(const struct monitor *m, const char *path)
{
	struct stat st;

	if (m->stage < STAGE_RUNNING && stat(path, &st) == 0 &&
	    (st.st_mode & (S_IRGRP | S_IROTH)) != 0 &&
	    strncmp(path, "/run/secrets/", 13) != 0)
		log_warn("%s can be read by others (chmod 600)", path);
}

/* It could be guessed piece by piece, by what is masked. */
static void
warn_if_short(const struct monitor *m, const struct owner_credential *c,
    const uint8_t *bytes, size_t n)
{
	if (n != 0 && bytes[n - 1] == '\n')
		n--;
	if (n >= LIMIT_SECRET_SEARCH_MIN || !c->public.response_filter ||
	    m->cfg->quiet || m->stage >= STAGE_RUNNING)
		return;
	log_warn("credential `%.*s`: a secret under %d bytes is not masked in "
		 "answers",
	    SLICE_ARG(c->public.name), LIMIT_SECRET_SEARCH_MIN);
}

void
secret_say(const struct owner_credential *c, const char *why)
{
	log_warn("credential `%.*s`: %.*s: %s; requests that need it are "
		 "refused (cred.unavailable)",
	    SLICE_ARG(c->public.name), SLICE_ARG(c->source), why);
}

static void
send_state(struct monitor *m, uint32_t i, struct slice bytes)
{
	uint8_t body[SECRET_MAX + 16];
	struct wr w = wr_of(body, sizeof(body));

	wr_u32(&w, i);
	wr_u8(&w, bytes.n != 0 ? OPS_SECRET_HERE : OPS_SECRET_MISSING);
	wr_slice16(&w, bytes);
	roles_send(&m->children[ROLE_KEEPER], OP_SECRET, wr_slice(&w), NULL, 0);
	explicit_bzero(body, sizeof(body));
}

/* From a file or a variable.  -1: it failed the run. */
static int
send_one(struct monitor *m, uint32_t i)
{
	struct owner_credential c = owner_credential(m->owner, i);
	uint8_t bytes[SECRET_MAX];
	const char *why = "";
	char source[4096];
	struct may may = { m->secret_owner, S_IWGRP | S_IWOTH };
	enum found found;
	size_t n = 0;

	snprintf(source, sizeof(source), "%.*s", SLICE_ARG(c.source));
	if (c.from == SECRET_FILE)
		found = read_file(source, may, bytes, sizeof(bytes), &n, &why);
	else
		found = read_variable(source, bytes, sizeof(bytes), &n, &why);
	if (found == FOUND_WRONG && m->stage < STAGE_RUNNING) {
		monitor_fail(m, "%.*s:%u:%u: `%s`, the secret of `%.*s`: %s",
		    SLICE_ARG(c.at.file), c.at.line, c.at.column, source,
		    SLICE_ARG(c.public.name), why);
		return -1;
	}
	if (found == FOUND_HERE && c.from == SECRET_FILE)
		warn_if_open(m, source);
	if (found == FOUND_HERE)
		warn_if_short(m, &c, bytes, n);
	else
		secret_say(&c, why);
	send_state(m, i, slice_of(bytes, found == FOUND_HERE ? n : 0));
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

/* One of any kind.  -1: it failed the run. */
static int
send_any(struct monitor *m, uint32_t i)
{
	if (owner_credential(m->owner, i).from != SECRET_COMMAND)
		return send_one(m, i);
	if (!command_start(m, i))
		send_state(m, i, (struct slice){ 0 });
	return 0;
}

/* The folder with `path` in it that the command sees, or NULL. */
static const char *
shown_in(const struct view *v, const char *path)
{
	static char known[PATH_MAX];
	struct stat st;

	if (path_is_below(path, v->work))
		return v->work;
	for (size_t i = 0; i < v->n_binds; i++)
		if (path_is_below(path, v->binds[i].path))
			return v->binds[i].path;
	for (size_t i = 0; plan_known[i] != NULL; i++)
		if (path_join(known, sizeof(known), v->home, plan_known[i]) &&
		    path_is_below(path, known))
			return known;
	/* In the system's folders it depends on who may read it; for root the
	 * private files of /etc are empty, ns/etc.c. */
	bool etc = path_is_below(path, "/etc");
	if (stat(path, &st) != 0 ||
	    ((st.st_mode & S_IROTH) == 0 &&
		!(geteuid() != 0 && st.st_uid == geteuid()) &&
		!(v->root && st.st_uid == 0 && !etc)))
		return NULL;
	for (size_t i = 0; plan_system[i] != NULL; i++)
		if (path_is_below(path, plan_system[i]))
			return plan_system[i];
	return etc ? "/etc" : NULL;
}

/* A secret's command, and each file that it names, runs outside: the sandbox
 * must not be able to write it. */
static bool
command_is_ours(struct monitor *m, uint32_t i, const struct view *v)
{
	struct owner_credential c = owner_credential(m->owner, i);
	char word[4096 + 1];

	for (uint32_t k = 0; k < c.n_args; k++) {
		struct slice text = owner_credential_arg(m->owner, i, k);
		snprintf(word, sizeof(word), "%.*s", SLICE_ARG(text));
		/* As a word of its own, or behind --option= */
		const char *path = word[0] == '/' ? word : strstr(word, "=/");
		if (path == NULL)
			continue;
		path += path[0] == '=';
		const char *where = reach_writes(v, path);
		if (where == NULL)
			continue;
		monitor_fail(m,
		    "credential `%.*s`: its command names %s, which is in %s, "
		    "where the sandbox may write. Keep it elsewhere.",
		    SLICE_ARG(c.public.name), path, where);
		return false;
	}
	return true;
}

/* Where the command sees the file, or could put another in its place. */
static const char *
seen_in(const struct view *v, const char *path)
{
	const char *where = reach_writes(v, path);
	static char real[PATH_MAX];

	if (where == NULL && realpath(path, real) != NULL)
		where = shown_in(v, real);
	return where;
}

static bool
ca_is_hidden(struct monitor *m, const struct view *v)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s", SLICE_ARG(owner_ca_key(m->owner)));
	const char *where = path[0] == '\0' ? NULL : seen_in(v, path);
	if (where == NULL)
		return true;
	monitor_fail(m,
	    "the key of `ca:`, %s, is in %s, which the command sees. Keep it "
	    "in ~/.config/duenna.",
	    path, where);
	return false;
}

bool
secrets_are_hidden(struct monitor *m, const struct view *v)
{
	char source[4096];

	if (!ca_is_hidden(m, v))
		return false;
	for (uint32_t i = 0; i < owner_n_credentials(m->owner); i++) {
		struct owner_credential c = owner_credential(m->owner, i);
		if (!command_is_ours(m, i, v))
			return false;
		snprintf(source, sizeof(source), "%.*s", SLICE_ARG(c.source));
		if (c.from != SECRET_FILE)
			continue;
		const char *where = seen_in(v, source);
		if (where == NULL)
			continue;
		monitor_fail(m,
		    "credential `%.*s`: its secret %s is in %s, which the "
		    "command sees. Keep it in ~/.config/duenna.",
		    SLICE_ARG(c.public.name), source, where);
		return false;
	}
	return true;
}

void
secrets_keep_from(const struct monitor *m, struct env *env)
{
	char name[256];

	for (uint32_t i = 0; i < owner_n_credentials(m->owner); i++) {
		struct owner_credential c = owner_credential(m->owner, i);
		snprintf(name, sizeof(name), "%.*s", SLICE_ARG(c.source));
		if (c.from == SECRET_ENV && env_drop(env, name))
			log_warn("%s is the secret of credential `%.*s`: the "
				 "command does not get it",
			    name, SLICE_ARG(c.public.name));
	}
}

int
secrets_send(struct monitor *m)
{
	/* Their pipes lead to a keeper that is gone. */
	commands_end(m);
	for (uint32_t i = 0; i < owner_n_credentials(m->owner); i++)
		if (m->ops->uses(m, i) && send_any(m, i) != 0)
			return -1;
	return 0;
}

void
secret_send_again(struct monitor *m, struct slice body)
{
	struct rd r = rd_of(body);
	uint32_t i = rd_u32(&r);

	if (!rd_is_done(&r) || m->owner == NULL || m->stage > STAGE_RUNNING ||
	    i >= owner_n_credentials(m->owner) || !m->ops->uses(m, i))
		return;
	(void)send_any(m, i);
}
