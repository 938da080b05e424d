/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "cmd/cmd.h"
#include "cmd/config.h"
#include "cmd/explain_push.h"
#include "policy/policy.h"
#include "wire/query.h"
#include "wire/target.h"
#include "wire/urlpath.h"

#define RULES_SHOWN 50 /* earlier rules of which it is said why they did not */

static const char usage[] =
    "usage: duenna explain [--policy FILE[:NAME] | --allow URL...]\n"
    "                      [--set KEY=VALUE] [--config FILE] [--name NAME] [-X METHOD] [--json] URL\n"
    "       duenna explain [...] --push REPOSITORY [REF]\n"
    "\n"
    "Say which rule decides about a request, and why each earlier one did not; or\n"
    "what may be pushed to a repository, such as github.com/acme/widgets, and\n"
    "whether a ref may be created, updated, deleted.\n"
    "Without --policy, ./duenna.yaml is taken.\n"
    "Exit status: 0 allowed, 1 denied, 2 usage.\n";

struct explain {
	struct config_want want;
	const char *config, *method, *url;
	const char *push;     /* a repository: `url` is a ref, or NULL */
	bool json, named;     /* by --policy */
	struct target target; /* of the URL */
	struct urlpath path;  /* points into `room` */
	uint8_t room[LIMIT_TARGET_SIZE];
};

enum option_id {
	OPT_POLICY = 256,
	OPT_ALLOW,
	OPT_CONFIG,
	OPT_NAME,
	OPT_SET,
	OPT_PUSH,
	OPT_JSON,
	OPT_HELP,
};

static const struct option options[] = {
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "allow", required_argument, NULL, OPT_ALLOW },
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "set", required_argument, NULL, OPT_SET },
	{ "push", required_argument, NULL, OPT_PUSH },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static int
refuse(const char *what, const char *why)
{
	fprintf(stderr, "duenna: explain: %s: %s\n", what, why);
	return CMD_USAGE + 1;
}

/* 0 to go on, else the exit status plus one. */
static int
take_option(struct explain *e, int option)
{
	switch (option) {
	case OPT_POLICY:
		e->want.file = optarg;
		e->want.policy = options_split(optarg);
		e->named = true;
		return 0;
	case OPT_ALLOW:
		return config_want_allow(&e->want, "explain", optarg) ?
		    0 :
		    CMD_USAGE + 1;
	case OPT_CONFIG:
		e->config = optarg;
		return 0;
	case 'X':
		e->method = optarg;
		return 0;
	case OPT_NAME:
		return config_want_name(&e->want, "explain", optarg) ?
		    0 :
		    CMD_USAGE + 1;
	case OPT_JSON:
		e->json = true;
		return 0;
	case OPT_SET:
		return config_want_set(&e->want, "explain", optarg) ?
		    0 :
		    CMD_USAGE + 1;
	case OPT_PUSH:
		e->push = optarg;
		return 0;
	case OPT_HELP:
		fputs(usage, stdout);
		return 1;
	default:
		fputs(usage, stderr);
		return CMD_USAGE + 1;
	}
}

/* A scheme, in letters of either case. */
static enum scheme
find_scheme(struct slice name)
{
	for (unsigned s = 0; s < SCHEME_COUNT; s++)
		if (ascii_eq_fold(name,
			slice_of_str(scheme_name((enum scheme)s))))
			return (enum scheme)s;
	return SCHEME_COUNT;
}

/* What passes unread is a connection; it has a port, and no path. */
static bool
read_passed(const struct explain *e, struct facts *f)
{
	if (f->port == 0 || f->has_query ||
	    !slice_eq(e->target.path, SLICE("/"))) {
		fprintf(stderr,
		    "duenna: explain: '%s': write '%s://HOST:PORT'\n", e->url,
		    scheme_name(f->scheme));
		return false;
	}
	f->kind = FACTS_CONNECT;
	f->method = (struct slice){ 0 };
	return true;
}

/* The URL as a client would send it: canonical, or a fault. */
static bool
read_url(struct explain *e, struct facts *f)
{
	struct slice url = slice_of_str(e->url);
	struct parse_fail fail = { .detail = "not an absolute URL" };

	if (strstr(e->url, "://") == NULL) {
		fprintf(stderr,
		    "duenna: explain: '%s' has no scheme: write "
		    "'https://%s'\n",
		    e->url, e->url);
		return false;
	}
	if (url.n > LIMIT_TARGET_SIZE ||
	    target_parse(url, &e->target, &fail) != PARSE_DONE ||
	    e->target.form != TARGET_ABSOLUTE ||
	    find_scheme(e->target.scheme) == SCHEME_COUNT) {
		fprintf(stderr,
		    "duenna: explain: '%s' is no URL that begins with "
		    "https://, http://, wss://, ws://, tls:// or tcp://: "
		    "%s\n",
		    e->url, fail.detail);
		return false;
	}
	enum scheme scheme = find_scheme(e->target.scheme);
	if (scheme == SCHEME_GIT) {
		fprintf(stderr,
		    "duenna: explain: '%s' is a repository: write `--push`, or "
		    "the https:// URL that git asks for, such as "
		    "'…/info/refs?service=git-upload-pack'\n",
		    e->url);
		return false;
	}
	f->scheme = scheme_below(scheme);
	f->upgrade = scheme_is_upgrade(scheme);
	f->host = host_slice(&e->target.authority.host);
	f->port = e->target.authority.has_port ? e->target.authority.port :
						 scheme_port(f->scheme);
	f->has_sni = (f->scheme == SCHEME_HTTPS || f->scheme == SCHEME_TLS) &&
	    !e->target.authority.host.is_ip;
	f->sni = f->has_sni ? f->host : SLICE("");
	f->has_query = e->target.has_query;
	f->query = e->target.query;
	if (scheme_is_passed(f->scheme))
		return read_passed(e, f);
	if (urlpath_canon(e->target.path, LIMIT_PATH_SIZE, e->room, &e->path,
		&fail) != PARSE_DONE ||
	    query_check(f->query, &fail) != PARSE_DONE)
		f->fault = fail.reason;
	else
		f->path = e->path.text;
	return true;
}

/* Where the client would go: the address that the answerer gives. */
static void
set_address(const struct program *p, const struct explain *e, struct facts *f)
{
	if (e->target.authority.host.is_ip)
		f->dst = e->target.authority.host.ip;
	else if (!program_address(p, f->host, &f->dst))
		f->dst = program_refusal_address(p);
}

/* What the URL asks for may pass unread, whatever it is. */
static void
set_kind(const struct program *p, struct facts *f)
{
	struct slice name;
	enum scheme kind = policy_kind(p, &f->dst, f->port, &name);

	if (kind != SCHEME_TCP &&
	    (kind != SCHEME_TLS || f->scheme != SCHEME_HTTPS))
		return;
	f->kind = FACTS_CONNECT;
	f->fault = REASON_ALLOW;
	f->scheme = kind;
	f->has_sni = kind == SCHEME_TLS && f->has_sni;
	f->method = f->path = f->query = (struct slice){ 0 };
	f->has_query = f->upgrade = false;
}

/* A name that does not exist for the sandbox has no connection. */
static void
set_question(const struct program *p, const struct explain *e, struct facts *f)
{
	struct facts question = *f;

	question.kind = FACTS_NAME;
	question.fault = REASON_ALLOW;
	question.qtype = 1; /* A */
	if (program_denies_names(p) && !e->target.authority.host.is_ip &&
	    !policy_decide(p, &question).allow)
		*f = question;
}

static void
print_earlier(const struct program *p, const struct facts *f, uint32_t end)
{
	uint32_t shown = 0, hosts = 0;

	for (uint32_t i = 0; i < end; i++) {
		const char *why = policy_stumble(p, f, i);
		struct program_rule r = program_rule(p, i);
		if (why == NULL)
			continue;
		if (strcmp(why, "host") == 0) {
			hosts++;
			continue;
		}
		if (++shown > RULES_SHOWN)
			continue;
		bool expired = strcmp(why, "time") == 0;
		printf(
		    "  passed over: rule `%.*s` (%.*s:%u), %s %.*s: %s%s%s\n",
		    SLICE_ARG(r.name), SLICE_ARG(r.file), r.line,
		    r.deny ? "deny" : "allow", SLICE_ARG(r.text),
		    expired ? "it has expired" : "the ", expired ? "" : why,
		    expired ? "" : " does not fit");
	}
	if (shown > RULES_SHOWN)
		printf("  passed over: %u more\n", shown - RULES_SHOWN);
	if (hosts != 0)
		printf("  passed over: %u for other hosts\n", hosts);
}

static void
print_text(const struct program *p, const struct facts *f,
    const struct verdict *v, const char *line)
{
	uint32_t end = v->rule == VERDICT_NONE ? program_n_rules(p) : v->rule;

	if (v->allow && !v->report)
		printf("allowed\n  %s\n", line);
	else
		printf("%s: %s\n  %s\n", v->report ? "not enforced" : "denied",
		    reason_name(v->reason), line);
	for (uint32_t i = 0; i < v->n_credentials; i++) {
		struct program_credential c =
		    program_credential(p, v->credentials[i]);
		printf("  carries credential `%.*s` in %s%.*s\n",
		    SLICE_ARG(c.name),
		    c.kind == CREDENTIAL_QUERY ? "the parameter " : "",
		    SLICE_ARG(c.slot));
	}
	if (f->fault == REASON_ALLOW)
		print_earlier(p, f, end);
}

static void
put_rule(struct json *j, const char *key, const struct program *p,
    uint32_t rule)
{
	json_key(j, key);
	if (rule == VERDICT_NONE) {
		json_none(j);
		return;
	}
	struct program_rule r = program_rule(p, rule);
	json_object_begin(j);
	json_key_text(j, "name", r.name);
	json_key_text(j, "file", r.file);
	json_key_number(j, "line", r.line);
	json_object_end(j);
}

static void
print_json(const struct program *p, const struct facts *f,
    const struct verdict *v, const char *line)
{
	uint32_t end = v->rule == VERDICT_NONE ? program_n_rules(p) : v->rule;
	struct json j;
	struct buf out;

	buf_init(&out, 1 << 24);
	json_init(&j, &out);
	json_object_begin(&j);
	json_key_bool(&j, "allow", v->allow);
	json_key_bool(&j, "report", v->report);
	json_key_str(&j, "reason", reason_name(v->reason));
	json_key_str(&j, "detail", line);
	put_rule(&j, "rule", p, v->rule);
	put_rule(&j, "nearest", p, v->nearest);
	json_key(&j, "credentials");
	json_array_begin(&j);
	for (uint32_t i = 0; i < v->n_credentials; i++)
		json_text(&j, program_credential(p, v->credentials[i]).name);
	json_array_end(&j);
	json_key(&j, "earlier");
	json_array_begin(&j);
	for (uint32_t i = 0; i < end && f->fault == REASON_ALLOW; i++) {
		const char *why = policy_stumble(p, f, i);
		json_object_begin(&j);
		put_rule(&j, "rule", p, i);
		json_key_str(&j, "stumbles", why == NULL ? "" : why);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	puts(buf_text(&out));
	buf_release(&out);
}

static int
decide(struct explain *e, const struct program *p)
{
	struct facts f = { .kind = FACTS_REQUEST,
		.method = slice_of_str(e->method),
		.now_s = clock_wall_us() / 1000000 };
	struct buf line;

	if (!read_url(e, &f))
		return CMD_USAGE;
	set_address(p, e, &f);
	set_kind(p, &f);
	set_question(p, e, &f);
	struct verdict v = policy_decide(p, &f);
	buf_init(&line, 4096);
	policy_explain(p, &f, &v, &line);
	if (e->json)
		print_json(p, &f, &v, buf_text(&line));
	else
		print_text(p, &f, &v, buf_text(&line));
	buf_release(&line);
	return v.allow ? 0 : CMD_NO;
}

static int
explain(struct explain *e)
{
	struct load_report report = { 0 };
	struct config_policy policy;
	struct config config;
	struct buf text;
	int status = CMD_USAGE;

	config_load(&config, e->config, &report);
	config_load_policy(&policy, &config, &e->want, NULL, &report);
	if (policy.program != NULL && report.n_errors == 0) {
		status = e->push == NULL ?
		    decide(e, policy.program) :
		    explain_push(policy.program, e->push, e->url, e->json);
	} else {
		buf_init(&text, 1 << 22);
		load_report_sort(&report);
		load_report_text(&report, &text);
		fputs(buf_text(&text), stderr);
		buf_release(&text);
		config_name_allowed(&e->want);
	}
	config_policy_release(&policy);
	load_report_release(&report);
	config_release(&config);
	return status;
}

/* One argument is wanted: what else they may be meant for. */
static void
say_count(const struct explain *e, int n)
{
	if (e->push != NULL)
		fprintf(stderr,
		    "duenna: explain: behind --push REPOSITORY one REF at most "
		    "is expected, found %d arguments\n",
		    n);
	else
		fprintf(stderr,
		    "duenna: explain: one URL is expected, found %d arguments"
		    "%s\n",
		    n, n > 1 ? "; a policy file is `--policy FILE`" : "");
	fputs(usage, stderr);
}

int
explain_main(int argc, char **argv)
{
	static struct explain e = { .want.file = CMD_POLICY, .method = "GET" };
	int option;

	optind = 1;
	while ((option = getopt_long(argc, argv, "X:", options, NULL)) != -1) {
		int end = take_option(&e, option);
		if (end != 0)
			return end - 1;
	}
	if (optind + 1 != argc && (e.push == NULL || optind != argc)) {
		say_count(&e, argc - optind);
		return CMD_USAGE;
	}
	if (e.named && e.want.n_allow != 0)
		return refuse("--policy", "or --allow: one of them") - 1;
	e.url = argv[optind];
	return explain(&e);
}
