/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who trusts duenna inside a sandbox: each program of doctor_tools.c that is
 * installed opens a URL as it does by itself.  Any name will do, since a
 * refused one is explained over TLS too; so the question needs no rule.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "certs/trust.h"
#include "cmd/doctor.h"
#include "cmd/doctor_tools.h"
#include "ns/home.h"

#define TOOL_MS 30000  /* a compiler on a busy machine */
#define SAID_MAX 65536 /* bytes of what a tool says */
#define SAID_SHOWN 200 /* bytes of its last line */
#define EXIT_ABSENT 3  /* doctor_tools.h */
#define SCHEME "https://"

/* Set HOST and PORT from `url` for the scripts; false: it is none of ours. */
static bool
set_url(const char *url)
{
	char host[256];
	const char *port = "443";
	size_t scheme = strlen(SCHEME);

	if (strncmp(url, SCHEME, scheme) != 0)
		return false;
	size_t n = strcspn(url + scheme, "/?#");
	if (n == 0 || n >= sizeof(host))
		return false;
	memcpy(host, url + scheme, n);
	host[n] = '\0';
	char *colon = strchr(host, ':');
	if (colon != NULL) {
		*colon = '\0';
		port = colon + 1;
	}
	return setenv("URL", url, 1) == 0 && setenv("HOST", host, 1) == 0 &&
	    setenv("PORT", port, 1) == 0;
}

static bool
has_address(struct doctor *d)
{
	struct addrinfo *found = NULL;
	int rc = getaddrinfo(getenv("HOST"), getenv("PORT"), NULL, &found);

	if (rc == 0)
		freeaddrinfo(found);
	else
		doctor_say(d, true, "trust",
		    "not tried: %s has no address here (%s); name an allowed "
		    "URL by --url",
		    getenv("HOST"), gai_strerror(rc));
	return rc == 0;
}

static bool
is_installed(const char *program)
{
	const char *path = getenv("PATH");
	char file[4096];

	while (path != NULL && *path != '\0') {
		size_t n = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, program);
		if (access(file, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static NORETURN void
become(const char *script, const char *folder, int out)
{
	int in = open("/dev/null", O_RDWR | O_CLOEXEC);

	setpgid(0, 0);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(in, STDERR_FILENO);
	if (chdir(folder) == 0)
		execl("/bin/sh", "sh", "-c", script, (char *)NULL);
	_exit(127);
}

/* What it says until it has ended, or too much, or too late. */
static void
hear(int fd, struct buf *said)
{
	uint64_t until = clock_ms() + TOOL_MS;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t part[4096];

	for (uint64_t now = clock_ms(); now < until; now = clock_ms()) {
		if (poll(&p, 1, (int)(until - now)) == -1 && errno == EINTR)
			continue;
		ssize_t n = p.revents == 0 ? 0 : read(fd, part, sizeof(part));
		if (n <= 0 || !buf_put(said, slice_of(part, (size_t)n)))
			return;
	}
}

/* The exit status of the script, or -1. */
static int
run_script(const char *script, struct buf *said)
{
	char folder[] = "/tmp/duenna-doctor-XXXXXX";
	int pair[2], status = -1;
	struct fail fail;

	if (mkdtemp(folder) == NULL || pipe2(pair, O_CLOEXEC) == -1)
		return -1;
	pid_t pid = fork();
	if (pid == 0)
		become(script, folder, pair[1]);
	close(pair[1]);
	if (pid != -1) {
		setpgid(pid, pid);
		hear(pair[0], said);
		kill(-pid, SIGKILL); /* nobody waits for the rest */
		while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
			continue;
	}
	close(pair[0]);
	/* what stays is gone with the sandbox's /tmp */
	if (home_remove(folder, &fail) == -1)
		log_info("%s", fail.text);
	return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Into `text`: printable, without colour or newline. */
static void
copy_line(char *text, size_t size, struct slice line)
{
	size_t n = 0;

	for (size_t i = 0; i < line.n && n + 1 < size; i++)
		if (line.p[i] >= ' ' && line.p[i] < 0x7f)
			text[n++] = (char)line.p[i];
	text[n] = '\0';
}

/* The line to show: that with the issuer, else the last that says something. */
static void
pick_line(struct slice said, bool issuer, char *text, size_t size)
{
	static const char mark[] = "issuer";
	size_t n = 0;

	text[0] = '\0';
	for (; said.n != 0; said = slice_from(said, n)) {
		const uint8_t *end = memchr(said.p, '\n', said.n);
		n = end == NULL ? said.n : (size_t)(end - said.p) + 1;
		struct slice line = slice_first(said, n);
		const uint8_t *at = memmem(line.p, line.n, mark, strlen(mark));
		if (issuer && at != NULL) {
			line = slice_from(line,
			    (size_t)(at - line.p) + strlen(mark));
			while (
			    line.n != 0 && memchr(":= ", line.p[0], 3) != NULL)
				line = slice_from(line, 1);
			copy_line(text, size, line);
			return;
		}
		if (!issuer && line.n > 3)
			copy_line(text, size, line);
	}
}

static const char *
kit_value(const char *name)
{
	size_t n;
	const struct trust_variable *v = trust_variables(&n);

	for (size_t i = 0; name != NULL && i < n; i++)
		if (strcmp(v[i].name, name) == 0)
			return v[i].value;
	return NULL;
}

/* What a program that does not trust needs, by its variable. */
static void
say_failed(struct doctor *d, const struct doctor_tool *tool, const char *why)
{
	const char *value = kit_value(tool->variable);
	const char *now = value == NULL ? NULL : getenv(tool->variable);

	if (value == NULL)
		doctor_say(d, false, tool->name,
		    "%s\nIt reads the system's store, " TRUST_BUNDLE
		    ", by itself: is another one configured?",
		    why);
	else if (now != NULL && strcmp(now, value) == 0)
		doctor_say(d, false, tool->name,
		    "%s\n%s is as it has to be: it has a setting of its own, or "
		    "roots built in (then a `tls:` rule).",
		    why, tool->variable);
	else
		doctor_say(d, false, tool->name, "%s\nSet %s=%s (now: %s)", why,
		    tool->variable, value, now == NULL ? "not set" : now);
}

static void
try_tool(struct doctor *d, const struct doctor_tool *tool)
{
	char line[SAID_SHOWN];
	struct buf said;

	buf_init(&said, SAID_MAX);
	int status = run_script(tool->script, &said);
	pick_line(buf_slice(&said), status == 0, line, sizeof(line));
	buf_release(&said);
	if (status == 0)
		doctor_say(d, true, tool->name, "trusts %s",
		    line[0] == '\0' ? "the CA (it names no issuer)" : line);
	else if (status != EXIT_ABSENT)
		say_failed(d, tool, line[0] == '\0' ? "it said nothing" : line);
}

bool
doctor_trust(struct doctor *d, const char *url)
{
	if (!set_url(url))
		return false;
	if (!has_address(d))
		return true;
	for (size_t i = 0; i < doctor_n_tools; i++)
		if (is_installed(doctor_tools[i].program))
			try_tool(d, &doctor_tools[i]);
	return true;
}
