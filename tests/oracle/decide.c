/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What policy/ decides, for a second implementation to compare with.
 *
 * Reads lines, writes a line for each:
 *   policy HEX        a policy file: `ok`, or `error`
 *   ask METHOD URL    a canonical URL, as over the connection that a client
 *                     would have: `REASON RULE`, the rule that decided or, if
 *                     none did, `-`; of tls and tcp the connection itself
 *   KIND REF URL      of a push there: may REF be created, updated, deleted
 *   nearest METHOD URL    the same, but the nearest rule
 *                     `report:REASON RULE` if that is not enforced
 */
#include <stdio.h>

#include "base/ascii.h"
#include "load/load.h"
#include "policy/policy.h"
#include "wire/target.h"

#define LINE_MAX 262144
#define NOW_S 1800000000 /* in 2027: policy.py says what is before and behind */

static struct buf image;
static struct program *program;

static void
on_policy(char *hex)
{
	struct load_report report = { 0 };
	size_t n = strlen(hex) / 2;
	enum err err;

	for (size_t i = 0; i < n; i++)
		hex[i] = (char)(ascii_hex((uint8_t)hex[2 * i]) * 16 +
		    ascii_hex((uint8_t)hex[2 * i + 1]));
	struct load_policy_in in = { .file = { SLICE("f"), SLICE("/"),
					 slice_of(hex, n) },
		.any = true };
	program_free(program);
	program = NULL;
	buf_clear(&image);
	if (load_policy(&in, &image, &report))
		program = program_open(buf_slice(&image), &err);
	load_report_release(&report);
	puts(program == NULL ? "error" : "ok");
}

static void
print_rule(uint32_t rule)
{
	if (rule == VERDICT_NONE) {
		puts(" -");
		return;
	}
	struct program_rule r = program_rule(program, rule);
	printf(" %.*s\n", SLICE_ARG(r.name));
}

#define ZERO SLICE("0000000000000000000000000000000000000000")
#define SOME SLICE("1111111111111111111111111111111111111111")

static const char *const kinds[GIT_COMMAND_KINDS] = { "create", "update",
	"delete" };

/* The word of a line that asks for a change of a ref, or GIT_COMMAND_KINDS. */
static unsigned
find_kind(const char *word)
{
	unsigned i = 0;

	while (i < GIT_COMMAND_KINDS && strcmp(word, kinds[i]) != 0)
		i++;
	return i;
}

static void
put_command(struct facts *f, unsigned kind, const char *ref)
{
	f->kind = FACTS_COMMAND;
	f->method = SLICE("POST");
	f->command = (struct git_command){ .kind = (enum git_command_kind)kind,
		.ref = slice_of_str(ref),
		.old_id = kind == GIT_COMMAND_CREATE ? ZERO : SOME,
		.new_id = kind == GIT_COMMAND_DELETE ? ZERO : SOME };
}

/* `word` is what the line begins with, `method` the next: or a ref. */
static void
on_ask(const char *word, const char *method, const char *url)
{
	bool nearest = strcmp(word, "nearest") == 0;
	unsigned kind = find_kind(word);
	struct facts f = { .kind = FACTS_REQUEST,
		.now_s = NOW_S,
		.method = slice_of_str(method) };
	struct parse_fail fail;
	struct target t;

	if (program == NULL ||
	    target_parse(slice_of_str(url), &t, &fail) != PARSE_DONE ||
	    t.form != TARGET_ABSOLUTE) {
		puts("? -");
		return;
	}
	enum scheme scheme = scheme_find(t.scheme);
	if (scheme == SCHEME_COUNT) {
		puts("? -");
		return;
	}
	f.scheme = scheme_below(scheme);
	f.upgrade = scheme_is_upgrade(scheme);
	f.port = scheme_port(f.scheme);
	if (t.authority.has_port)
		f.port = t.authority.port;
	f.host = host_slice(&t.authority.host);
	f.has_sni = (f.scheme == SCHEME_HTTPS || f.scheme == SCHEME_TLS) &&
	    !t.authority.host.is_ip;
	if (scheme_is_passed(f.scheme))
		f.kind = FACTS_CONNECT;
	f.sni = f.has_sni ? f.host : f.sni;
	f.path = t.path;
	f.has_query = t.has_query;
	f.query = t.query;
	if (t.authority.host.is_ip)
		f.dst = t.authority.host.ip;
	else if (!program_address(program, f.host, &f.dst))
		f.dst = program_refusal_address(program);
	if (kind < GIT_COMMAND_KINDS)
		put_command(&f, kind, method);
	struct verdict v = policy_decide(program, &f);
	printf("%s%s", v.report ? "report:" : "", reason_name(v.reason));
	print_rule(nearest ? v.nearest : v.rule);
}

int
main(void)
{
	static char line[LINE_MAX], method[256], url[LINE_MAX];

	buf_init(&image, IMAGE_SIZE_MAX);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		char *rest = strchr(line, ' ');
		if (rest == NULL)
			return 1;
		*rest++ = '\0';
		char *last = strchr(rest, ' ');
		if (strcmp(line, "policy") == 0) {
			on_policy(rest);
			continue;
		}
		if (last == NULL)
			return 1;
		*last++ = '\0';
		snprintf(method, sizeof(method), "%s", rest);
		snprintf(url, sizeof(url), "%s", last);
		on_ask(line, method, url);
	}
	program_free(program);
	buf_release(&image);
	return 0;
}
