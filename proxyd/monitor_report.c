/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run says at its end: for people, or with --json for a program.
 *
 * The log is read by a process of its own, `duenna audit report`: its texts are
 * a sandbox's choice.  What comes of that is handed on as it is.
 */
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/json.h"
#include "proxyd/monitor_state.h"

#define GROUPS_MAX (1 << 20) /* bytes of them as JSON */

/* Start it with its output on `out`. */
static pid_t
start_report(const char *log, bool json, int out)
{
	char *argv[] = { (char[]){ "duenna" }, (char[]){ "audit" },
		(char[]){ "report" }, NULL, NULL, NULL };
	static char *const no_environment[] = { NULL };
	char path[4096], option[] = "--json";
	pid_t pid;

	snprintf(path, sizeof(path), "%s", log);
	argv[3] = json ? option : path;
	argv[4] = json ? path : NULL;
	pid = fork();
	if (pid == 0) {
		if (dup2(out, STDOUT_FILENO) >= 0)
			execve("/proc/self/exe", argv, no_environment);
		_exit(MONITOR_FAULT);
	}
	return pid;
}

static void
wait_for(pid_t pid)
{
	while (pid > 0 && waitpid(pid, NULL, 0) == -1)
		if (errno != EINTR)
			break;
}

/* One line of JSON into `out`, without its end. */
static void
take_report(const char *log, struct buf *out)
{
	char bytes[4096];
	int pair[2];
	ssize_t n;

	if (pipe2(pair, O_CLOEXEC) != 0)
		return;
	pid_t pid = start_report(log, true, pair[1]);
	close(pair[1]);
	while ((n = read(pair[0], bytes, sizeof(bytes))) > 0 ||
	    (n < 0 && errno == EINTR))
		if (n > 0)
			buf_put(out, slice_of(bytes, (size_t)n));
	close(pair[0]);
	wait_for(pid);
	while (!out->failed && out->n != 0 && out->p[out->n - 1] == '\n')
		out->n--;
}

static void
put_text(struct json *j, const char *key, const char *text)
{
	if (text[0] != '\0') {
		json_key_str(j, key, text);
	} else {
		json_key(j, key);
		json_none(j);
	}
}

void
report_json(struct monitor *m)
{
	struct buf out, groups;
	struct json j;

	if (!m->cfg->json)
		return;
	buf_init(&out, GROUPS_MAX + 65536);
	buf_init(&groups, GROUPS_MAX);
	json_init(&j, &out);
	json_object_begin(&j);
	json_key_number(&j, "exit", (uint64_t)m->status);
	json_key_bool(&j, "ran", m->ran);
	put_text(&j, "sandbox", m->name);
	put_text(&j, "log", m->ran ? buf_text(&m->log_path) : "");
	put_text(&j, "last_hash", buf_text(&m->last_hash));
	json_key_number(&j, "blocked", m->n_denied);
	json_key_number(&j, "alarms", m->n_alarms);
	json_key_number(&j, "reported", m->n_reported);
	json_key_number(&j, "missing", m->n_missing);
	if (m->ran)
		take_report(buf_text(&m->log_path), &groups);
	json_key(&j, "report");
	if (groups.n != 0 && !groups.failed)
		json_made(&j, buf_slice(&groups));
	else
		json_none(&j);
	json_object_end(&j);
	if (!out.failed)
		fprintf(stderr, "%s\n", buf_text(&out));
	buf_release(&out);
	buf_release(&groups);
}

void
report_end(struct monitor *m)
{
	const char *log = buf_text(&m->log_path);

	/* Why a command could not be started has been said. */
	if (m->cfg->quiet || m->cfg->json || !m->ran ||
	    m->n_denied + m->n_reported + m->n_alarms + m->n_missing == 0)
		return;
	fprintf(stderr, "\nduenna: ");
	fflush(stderr);
	wait_for(start_report(log, false, STDERR_FILENO));
	if (m->n_missing != 0)
		fprintf(stderr,
		    "duenna: that is not all: %llu record%s could not be "
		    "written into the log\n",
		    (unsigned long long)m->n_missing,
		    m->n_missing == 1 ? "" : "s");
	if (m->n_reported != 0)
		fprintf(stderr,
		    "duenna: what was not enforced, as rules: duenna audit "
		    "suggest %s\n",
		    log);
	if (m->n_denied != 0)
		fprintf(stderr,
		    "duenna: each refusal: duenna audit show --denied %s\n",
		    log);
	fprintf(stderr, "duenna: log: %s\n", log);
	fprintf(stderr, "duenna: last hash: %s\n", buf_text(&m->last_hash));
}
