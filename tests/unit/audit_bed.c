/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <sys/stat.h>

#include <fcntl.h>
#include <getopt.h>
#include <unistd.h>

#include "audit_bed.h"
#include "cmd/cmd.h"

struct bed bed;
char home[32];
char digest[DIGEST_NAME_SIZE], key_text[2 * SIGN_PUBLIC_SIZE + 1];
char out[65536];

static struct sign_key *machine;

void
write_file(const char *path, struct slice bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_true(write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n);
	close(fd);
}

void
make_folder(const char *name, char path[256])
{
	snprintf(path, 256, "%s/%s", home, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

struct journal *
log_begin(const char *path)
{
	uint8_t message[SIGN_KEY_MESSAGE_SIZE], signature[SIGN_SIZE];
	const char *why = NULL;
	enum err err = ERR_NONE;
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct journal *j = journal_new(fd, false, &why, &err);

	assert_non_null(j);
	sign_key_message(journal_key(j), message);
	assert_int_equal(sign_make(machine, slice_of(message, sizeof(message)),
			     signature, &err),
	    0);
	assert_true(journal_start(j, sign_key_public(machine), signature));
	return j;
}

void
log_event(struct journal *j, const struct event *e)
{
	assert_true(journal_put(j, e, NULL));
}

/* What is decided of these facts. */
static void
log_decision(struct journal *j, enum event_kind kind, const struct facts *f)
{
	static struct facts_text text;
	struct verdict v = policy_decide(bed.program, f);
	struct event e;

	event_init(&e, kind);
	event_str(&e, FIELD_SANDBOX, "build-1");
	event_str(&e, FIELD_PROGRAM, digest);
	if (kind == EVENT_REQUEST_END) {
		event_str(&e, FIELD_FLOW, "w0-1");
		event_number(&e, FIELD_EXCHANGE, 1);
	}
	facts_to_event(bed.program, f, &v, &text, &e);
	if (v.allow)
		event_number(&e, FIELD_COOKIE_SOCKET, 7);
	log_event(j, &e);
}

void
log_request(struct journal *j, const char *method, const char *url)
{
	struct facts f = bed_request(bed.program, method, url);

	log_decision(j, EVENT_REQUEST_END, &f);
}

void
log_question(struct journal *j, const char *host, uint16_t qtype)
{
	struct facts f = { .kind = FACTS_NAME, .qtype = qtype };

	f.host = slice_of_str(host);
	log_decision(j, EVENT_DNS, &f);
}

void
log_flow(struct journal *j, enum event_kind kind)
{
	struct event e;

	event_init(&e, kind);
	event_str(&e, FIELD_SANDBOX, "build-1");
	event_str(&e, FIELD_FLOW, "w0-1");
	if (kind == EVENT_FLOW_END)
		event_reason(&e, REASON_ALLOW);
	if (kind == EVENT_DIAL) {
		event_str(&e, FIELD_VERDICT, "allow");
		event_reason(&e, REASON_ALLOW);
		event_str(&e, FIELD_HOST, "api.test");
		event_number(&e, FIELD_PORT, 443);
		event_number(&e, FIELD_COOKIE_SOCKET, 7);
	}
	log_event(j, &e);
}

void
log_end(struct journal *j, bool stops, char hash[LINE_HASH_HEX + 1])
{
	struct event e;

	event_init(&e, EVENT_STOP);
	if (stops)
		log_event(j, &e);
	assert_true(journal_checkpoint(j));
	memcpy(hash, journal_sum(j).hash, LINE_HASH_HEX + 1);
	journal_free(j);
}

void
audit_bed_init(const char *policy)
{
	char path[512], folder[256];
	enum err err = ERR_NONE;
	struct secret secret = { 0 };

	machine = sign_key_new(&err);
	bed_load(&bed, NULL, policy);
	assert_non_null(bed.program);
	snprintf(home, sizeof(home), "/tmp/duenna-audit-XXXXXX");
	assert_non_null(mkdtemp(home));
	assert_int_equal(setenv("XDG_STATE_HOME", home, 1), 0);
	make_folder("duenna", folder);
	make_folder("duenna/log", folder);
	make_folder("duenna/programs", folder);
	digest_name(program_image(bed.program), digest);
	snprintf(path, sizeof(path), "%s/sha256-%s", folder, digest + 7);
	write_file(path, program_image(bed.program));
	assert_int_equal(sign_key_secret(machine, &secret, &err), 0);
	snprintf(path, sizeof(path), "%s/duenna/audit.key", home);
	write_file(path, secret_slice(&secret));
	secret_release(&secret);
	digest_hex(sign_key_public(machine), SIGN_PUBLIC_SIZE, key_text);
}

void
audit_bed_release(void)
{
	char command[256];

	sign_key_free(machine);
	bed_release(&bed);
	snprintf(command, sizeof(command), "rm -r '%s'", home);
	assert_int_equal(system(command), 0);
}

int
audit(const char *arg, ...)
{
	char *argv[16], path[256];
	char name[] = "audit";
	int argc = 0, kept = dup(STDOUT_FILENO);
	va_list ap;

	argv[argc++] = name;
	va_start(ap, arg);
	for (; arg != NULL; arg = va_arg(ap, const char *))
		argv[argc++] = strdup(arg);
	va_end(ap);
	argv[argc] = NULL;
	snprintf(path, sizeof(path), "%s/out", home);
	fflush(stdout);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	dup2(fd, STDOUT_FILENO);
	optind = 0;
	int status = audit_main(argc, argv);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	ssize_t n = pread(fd, out, sizeof(out) - 1, 0);
	assert_true(n >= 0);
	out[n] = '\0';
	close(fd);
	while (argc > 1)
		free(argv[--argc]);
	return status;
}

bool
says(const char *text)
{
	return strstr(out, text) != NULL;
}

size_t
count_lines(void)
{
	size_t n = 0;

	for (const char *p = out; *p != '\0'; p++)
		n += *p == '\n' ? 1 : 0;
	return n;
}
