/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/explain_push.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "cmd/cmd.h"
#include "policy/git.h"
#include "policy/gitref.h"
#include "policy/policy.h"
#include "wire/gitpath.h"
#include "wire/target.h"
#include "wire/urlpath.h"

#define ZERO SLICE("0000000000000000000000000000000000000000")
#define SOME SLICE("1111111111111111111111111111111111111111")

static const char *const kinds[GIT_COMMAND_KINDS] = {
	[GIT_COMMAND_CREATE] = "create",
	[GIT_COMMAND_UPDATE] = "update",
	[GIT_COMMAND_DELETE] = "delete",
};

struct ask {
	const struct program *p;
	struct target target;
	struct urlpath path; /* points into `room` */
	uint8_t room[LIMIT_PATH_SIZE];
	struct buf text, refs; /* what was written; the path; full name */
	struct facts f;	       /* of the discovery before a push */
	const char *ref;       /* NULL: none */
	struct verdict verdicts[GIT_COMMAND_KINDS];
};

static int
refuse(const char *what, const char *why)
{
	fprintf(stderr, "duenna: explain: --push: '%s': %s\n", what, why);
	return CMD_USAGE;
}

/* The URL of the repository, whatever it was written as. */
static struct slice
put_url(struct ask *a, const char *repository)
{
	const char *scheme = strstr(repository, "://");
	const char *rest = scheme == NULL ? repository : scheme + 3;

	buf_put_str(&a->text, "https://");
	buf_put_str(&a->text, rest);
	while (a->text.n != 0 && a->text.p[a->text.n - 1] == '/')
		a->text.n--;
	return buf_slice(&a->text);
}

static bool
is_scheme(const char *repository)
{
	const char *end = strstr(repository, "://");
	struct slice name =
	    slice_of(repository, end == NULL ? 0 : (size_t)(end - repository));

	return end == NULL || ascii_eq_fold(name, SLICE("https")) ||
	    ascii_eq_fold(name, SLICE("git+https"));
}

/* The facts of `GET REPOSITORY/info/refs?service=git-receive-pack`. */
static int
read_repository(struct ask *a, const char *repository)
{
	static const char expected[] =
	    "expected a repository such as github.com/acme/widgets";
	struct parse_fail fail = { .detail = "" };
	struct facts *f = &a->f;

	if (!is_scheme(repository) ||
	    target_parse(put_url(a, repository), &a->target, &fail) !=
		PARSE_DONE ||
	    a->target.form != TARGET_ABSOLUTE || a->target.has_query)
		return refuse(repository, expected);
	if (urlpath_canon(a->target.path, LIMIT_PATH_SIZE, a->room, &a->path,
		&fail) != PARSE_DONE ||
	    a->path.text.n < 2)
		return refuse(repository, expected);
	buf_put(&a->refs, a->path.text);
	buf_put_str(&a->refs, "/info/refs");
	*f = (struct facts){ .kind = FACTS_REQUEST,
		.now_s = clock_wall_us() / 1000000,
		.scheme = SCHEME_HTTPS,
		.method = SLICE("GET"),
		.has_query = true,
		.query = SLICE("service=git-receive-pack"),
		.path = buf_slice(&a->refs) };
	f->host = host_slice(&a->target.authority.host);
	f->port = a->target.authority.has_port ? a->target.authority.port :
						 scheme_port(SCHEME_HTTPS);
	f->has_sni = !a->target.authority.host.is_ip;
	f->sni = f->has_sni ? f->host : SLICE("");
	if (a->target.authority.host.is_ip)
		f->dst = a->target.authority.host.ip;
	else if (!program_address(a->p, f->host, &f->dst))
		f->dst = program_refusal_address(a->p);
	return 0;
}

/* The POST of one command of each kind. */
static void
judge_kinds(struct ask *a, struct slice ref)
{
	struct buf path;

	buf_init(&path, LIMIT_TARGET_SIZE);
	buf_put(&path, a->path.text);
	buf_put_str(&path, "/git-receive-pack");
	for (unsigned i = 0; i < GIT_COMMAND_KINDS; i++) {
		struct facts f = a->f;
		f.kind = FACTS_COMMAND;
		f.method = SLICE("POST");
		f.path = buf_slice(&path);
		f.has_query = false;
		f.query = (struct slice){ 0 };
		f.command =
		    (struct git_command){ .kind = (enum git_command_kind)i,
			    .ref = ref,
			    .old_id = i == GIT_COMMAND_CREATE ? ZERO : SOME,
			    .new_id = i == GIT_COMMAND_DELETE ? ZERO : SOME };
		a->verdicts[i] = policy_decide(a->p, &f);
	}
	buf_release(&path);
}

static void
print_list(const struct ask *a, uint32_t rule, enum git_list list,
    const char *what)
{
	uint32_t n = git_rule_n(a->p, rule, list);

	for (uint32_t i = 0; i < n; i++) {
		struct slice text = git_rule_text(a->p, rule, list, i);
		printf("%s%.*s", i == 0 ? what : ", ", SLICE_ARG(text));
	}
	if (n != 0)
		putchar('\n');
}

/* What else the rule wants of a push. */
static void
print_rule(const struct ask *a, uint32_t rule)
{
	struct git_rule says;

	if (!git_rule(a->p, rule, &says))
		return;
	print_list(a, rule, GIT_REFS, "  refs: ");
	if (says.create)
		puts("  may be created");
	if (says.update)
		printf("  may be updated, %s\n",
		    says.force ? "forced, too" : "by a fast-forward alone");
	if (says.delete)
		printf("  may be deleted%s\n",
		    says.follow ? ", by the forge's API, too" : "");
	print_list(a, rule, GIT_KEEP, "  may not change: ");
	print_list(a, rule, GIT_AUTHORS, "  authors: ");
	print_list(a, rule, GIT_COMMITTERS, "  committers: ");
	print_list(a, rule, GIT_OPTIONS, "  push options: ");
	if (says.lfs_write)
		puts("  objects of LFS may be uploaded");
	if (says.is_signed)
		puts("  commits and tags are signed");
}

static int
print_repository(const struct ask *a, const struct verdict *v)
{
	struct buf line;

	buf_init(&line, 4096);
	policy_explain(a->p, &a->f, v, &line);
	printf("%s%s\n  %s\n", v->allow ? "allowed" : "denied: ",
	    v->allow ? "" : reason_name(v->reason), buf_text(&line));
	buf_release(&line);
	if (v->allow)
		print_rule(a, v->rule);
	return v->allow ? 0 : CMD_NO;
}

static bool
any_allowed(const struct ask *a)
{
	for (unsigned i = 0; i < GIT_COMMAND_KINDS; i++)
		if (a->verdicts[i].allow)
			return true;
	return false;
}

static void
print_refused(const struct ask *a, unsigned kind, struct slice ref)
{
	const struct verdict *v = &a->verdicts[kind];
	struct git_command c = { .kind = (enum git_command_kind)kind,
		.ref = ref };
	struct buf line;

	/* No kind of change of a ref that the rule does not have. */
	bool all = v->reason == REASON_GIT_REF;
	if (all && kind != 0)
		return;
	printf("%s%sdenied: %s\n", all ? "" : kinds[kind], all ? "" : ": ",
	    reason_name(v->reason));
	if (v->rule == VERDICT_NONE || (!all && v->reason != REASON_GIT_UPDATE))
		return;
	buf_init(&line, 4096);
	git_rule_put_refusal(a->p, v->rule, &c, &line);
	printf("  %s\n", buf_text(&line));
	buf_release(&line);
}

static int
print_ref(const struct ask *a, const struct verdict *v, struct slice ref)
{
	/* Whatever the ref is: the repository, or the service, is the reason. */
	if (!v->allow)
		return print_repository(a, v);
	printf("%.*s\n", SLICE_ARG(ref));
	for (unsigned i = 0; i < GIT_COMMAND_KINDS; i++) {
		const struct verdict *one = &a->verdicts[i];
		struct git_rule says;
		if (!one->allow) {
			print_refused(a, i, ref);
			continue;
		}
		struct program_rule r = program_rule(a->p, one->rule);
		bool force = git_rule(a->p, one->rule, &says) && says.force;
		printf("%s: allowed by rule `%.*s` (%.*s:%u)%s\n", kinds[i],
		    SLICE_ARG(r.name), SLICE_ARG(r.file), r.line,
		    i == GIT_COMMAND_UPDATE && !force ?
			", if it is a fast-forward" :
			"");
	}
	return any_allowed(a) ? 0 : CMD_NO;
}

static void
put_refs(const struct ask *a, uint32_t rule, struct json *j)
{
	uint32_t n =
	    rule == VERDICT_NONE ? 0 : git_rule_n(a->p, rule, GIT_REFS);

	json_key(j, "refs");
	json_array_begin(j);
	for (uint32_t i = 0; i < n; i++)
		json_text(j, git_rule_text(a->p, rule, GIT_REFS, i));
	json_array_end(j);
}

static int
print_json(const struct ask *a, const struct verdict *v, bool ref)
{
	bool allow = v->allow && (!ref || any_allowed(a));
	struct json j;
	struct buf out;

	buf_init(&out, 1 << 20);
	json_init(&j, &out);
	json_object_begin(&j);
	json_key_bool(&j, "allow", allow);
	json_key_str(&j, "reason", reason_name(v->reason));
	put_refs(a, v->allow ? v->rule : VERDICT_NONE, &j);
	for (unsigned i = 0; ref && i < GIT_COMMAND_KINDS; i++)
		json_key_str(&j, kinds[i], reason_name(a->verdicts[i].reason));
	json_object_end(&j);
	puts(buf_text(&out));
	buf_release(&out);
	return allow ? 0 : CMD_NO;
}

/* `fix/42` is a branch; a full name begins with `refs/`. */
static struct slice
full_name(struct buf *name, const char *ref)
{
	if (strncmp(ref, "refs/", 5) != 0)
		buf_put(name, GITREF_HEADS);
	buf_put_str(name, ref);
	return buf_slice(name);
}

int
explain_push(const struct program *p, const char *repository, const char *ref,
    bool json)
{
	static struct ask a;
	struct slice full = { 0 };
	struct buf name;

	a.p = p;
	buf_init(&a.text, LIMIT_TARGET_SIZE);
	buf_init(&a.refs, LIMIT_TARGET_SIZE);
	buf_init(&name, 4096);
	int status = read_repository(&a, repository);
	if (status == 0) {
		struct verdict v = policy_decide(p, &a.f);
		if (ref != NULL) {
			full = full_name(&name, ref);
			judge_kinds(&a, full);
		}
		status = json	? print_json(&a, &v, ref != NULL) :
		    ref == NULL ? print_repository(&a, &v) :
				  print_ref(&a, &v, full);
	}
	buf_release(&name);
	buf_release(&a.refs);
	buf_release(&a.text);
	return status;
}
