/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pure parts of the git gateway as one program, for gateway.py to put
 * between real git and its real server.
 *
 * usage: gateway POLICY METHOD URL [ANSWER...] <body
 *
 * The first byte of the output says what is to be done, what follows with what:
 *	F	forward: the path that goes upstream, LF, and the body
 *	A	filter: the same, and the answer goes through `gateway POLICY
 *		advert METHOD URL`
 *	R	answer 200 with it: a report
 *	T	answer 403 text/plain with it
 *	B	answer 400 with it
 *	O	ask the upstream what it offers in protocol 2, and come again with
 *		the answer's file behind those that there are; the path, LF
 *	Q	the same with a question: the path, LF, and the body
 */
#include <stdio.h>
#include <unistd.h>

#include "base/limits.h"
#include "git/advert.h"
#include "git/prove_rule.h"
#include "git/push.h"
#include "git/report.h"
#include "git/say.h"
#include "load/load.h"
#include "wire/gitpath.h"

#define BODY_MAX 67108864 /* bytes */

static struct buf image, body;
static char **answers; /* files, up to NULL */

static struct program *
load(const char *file)
{
	struct load_report report = { 0 };
	struct buf text, said;
	enum err err;
	FILE *f = fopen(file, "rb");

	buf_init(&text, 1 << 20);
	buf_init(&said, 1 << 20);
	buf_init(&image, IMAGE_SIZE_MAX);
	if (f == NULL)
		exit(2);
	buf_added(&text, fread(buf_room(&text, 65536), 1, 65536, f));
	fclose(f);
	struct load_policy_in in = { .file = { SLICE("policy.yaml"), SLICE("/"),
					 buf_slice(&text) } };
	if (!load_policy(&in, &image, &report)) {
		load_report_text(&report, &said);
		fputs(buf_text(&said), stderr);
		exit(2);
	}
	return program_open(buf_slice(&image), &err);
}

static void
read_body(void)
{
	size_t n;

	buf_init(&body, BODY_MAX);
	do {
		uint8_t *room = buf_room(&body, 65536);
		n = room == NULL ? 0 : fread(room, 1, 65536, stdin);
		buf_added(&body, n);
	} while (n != 0);
}

/* `https://HOST/PATH[?QUERY]`, as over a connection to HOST. */
static struct facts
facts_of(const struct program *p, const char *method, const char *url)
{
	struct slice rest = slice_from(slice_of_str(url), 8);
	struct facts f = { .kind = FACTS_REQUEST,
		.scheme = SCHEME_HTTPS,
		.port = 443,
		.now_s = 1,
		.has_sni = true,
		.method = slice_of_str(method) };
	const uint8_t *slash = memchr(rest.p, '/', rest.n);

	f.host = f.sni = slice_first(rest, (size_t)(slash - rest.p));
	f.path = slice_from(rest, f.host.n);
	const uint8_t *mark = memchr(f.path.p, '?', f.path.n);
	f.has_query = mark != NULL;
	if (mark != NULL) {
		f.query = slice_from(f.path, (size_t)(mark - f.path.p) + 1);
		f.path = slice_first(f.path, (size_t)(mark - f.path.p));
	}
	(void)program_address(p, f.host, &f.dst);
	return f;
}

static int
answer(char what, const struct buf *b)
{
	putchar(what);
	fwrite(b->p, 1, b->n, stdout);
	return 0;
}

/* The path upstream: the rule's spelling, and what stood behind it. */
static void
put_path(const struct program *p, uint32_t rule, const struct facts *f,
    struct slice repository, struct buf *out)
{
	uint8_t path[512];
	struct wr w = wr_of(path, sizeof(path));

	if (!git_rule_path(p, rule, f->host, repository, &w))
		exit(2);
	buf_put(out, wr_slice(&w));
	buf_put(out, slice_from(f->path, repository.n));
	if (f->has_query) {
		buf_put_byte(out, '?');
		buf_put(out, f->query);
	}
	buf_put_byte(out, '\n');
}

static int
refuse_push(const struct say *s, const struct push *p, const struct facts *f,
    const struct verdict *v)
{
	static struct slice reasons[LIMIT_PUSH_COMMANDS_MOST];
	static struct buf lines[LIMIT_PUSH_COMMANDS_MOST];
	struct buf out, text;

	buf_init(&out, 1 << 20);
	buf_init(&text, 65536);
	for (size_t i = 0; i < p->n_commands; i++) {
		struct git_command c = push_command(p, i);
		buf_init(&lines[i], 65536);
		if (v->command != VERDICT_NONE)
			say_command(s, v->rule, &c, &lines[i]);
		else
			say_whole(s, f, v, &lines[i]);
		reasons[i] = buf_slice(&lines[i]);
	}
	say_allowed(s, v->rule, &text);
	report_text(p, buf_slice(&text), &out);
	if (report_refusal(p, reasons, &out))
		return answer('R', &out);
	buf_clear(&out);
	buf_put_str(&out, "no report capability was asked for\n");
	return answer('T', &out);
}

/* What the pack or the upstream showed of the push is not enough. */
static int
refuse_proof(const struct push *p, const struct prove_fail *fail)
{
	static struct slice reasons[LIMIT_PUSH_COMMANDS_MOST];
	struct buf out, text;

	buf_init(&out, 1 << 20);
	buf_init(&text, 4096);
	buf_putf(&text, "duenna: %s [%s w0-5f]", fail->detail,
	    reason_name(fail->reason));
	for (size_t i = 0; i < p->n_commands; i++)
		reasons[i] = fail->command == i || fail->command == SIZE_MAX ?
		    buf_slice(&text) :
		    SLICE("duenna: another ref of this push is refused");
	return report_refusal(p, reasons, &out) ? answer('R', &out) : 2;
}

static struct pack *
read_pack(const struct pack_cfg *cfg, struct slice in, struct parse_fail *fail)
{
	enum err err;
	struct pack *pack = pack_new(cfg, &err);
	enum parse got = PARSE_MORE;
	size_t used = 1, pass;

	while (pack != NULL && got == PARSE_MORE && used != 0) {
		got = pack_take(pack, in, &used, &pass, fail);
		in = slice_from(in, used);
	}
	if (pack == NULL || got == PARSE_DONE)
		return pack;
	if (got == PARSE_MORE)
		*fail = (struct parse_fail){ REASON_GIT_PACK, "cut", 0 };
	pack_free(pack);
	return NULL;
}

/* Give the next answer to what was asked. */
static void
tell(struct prove *p, enum prove_next asked, size_t id_size)
{
	FILE *f = fopen(*answers++, "rb");
	struct question_caps caps;
	enum parse got = PARSE_MORE;
	struct parse_fail fail;
	struct buf text;
	struct answer a;
	struct oid head;
	size_t used;

	buf_init(&text, BODY_MAX);
	while (f != NULL && buf_room(&text, 65536) != NULL &&
	    (used = fread(text.p + text.n, 1, 65536, f)) != 0)
		buf_added(&text, used);
	struct slice in = buf_slice(&text);
	if (asked == PROVE_ASK_OFFER) {
		got = question_caps_take(in, &caps, &fail);
		prove_offer(p, &caps);
	} else if (asked == PROVE_ASK_HEAD) {
		got = question_head_take(in, id_size, &head, &fail);
		prove_head(p, &head);
	} else {
		answer_init(&a, prove_answer(p));
		do {
			got = answer_take(&a, in, &used, &fail);
			in = slice_from(in, used);
		} while (got == PARSE_MORE && (used != 0 || a.done != 0));
	}
	if (got != PARSE_DONE)
		prove_unanswered(p);
}

/* 0: shown, as far as the rule asks for it; else what main() returns, and 1. */
static int
prove_push(const struct program *p, const struct verdict *v,
    const struct push *list, struct slice in, struct buf *path)
{
	struct pack_cfg cfg = { .id_size = prove_id_size(list),
		.strict = true };
	struct prove_command *commands = prove_commands(list);
	struct prove_fail fail = { .command = SIZE_MAX };
	struct parse_fail bad = { 0 };
	struct prove_rule rule;
	enum prove_next next;

	if (!prove_rule_init(&rule, p, v->rule) || commands == NULL)
		exit(2);
	if (!prove_wants_pack(&rule, commands, list->n_commands))
		return 0;
	cfg.names = prove_wants_whole(&rule);
	struct pack *pack = list->wants_pack ? read_pack(&cfg, in, &bad) : NULL;
	if (list->wants_pack && pack == NULL) {
		fail.detail = bad.detail;
		fail.reason = bad.reason;
		return refuse_proof(list, &fail) + 1;
	}
	struct prove *proof =
	    prove_new(&rule, commands, list->n_commands, pack, &cfg);
	size_t at = path->n;
	while ((next = prove_next(proof, path, &fail)) >= PROVE_ASK_OFFER) {
		if (*answers == NULL)
			return answer(next == PROVE_ASK_OFFER ? 'O' : 'Q',
				   path) +
			    1;
		tell(proof, next, cfg.id_size);
		path->n = at;
	}
	return next == PROVE_SHOWN ? 0 : refuse_proof(list, &fail) + 1;
}

static int
push_body(const struct program *p, struct facts *f, struct slice repository)
{
	static struct git_command commands[LIMIT_PUSH_COMMANDS_MOST];
	static struct slice options[LIMIT_PUSH_OPTIONS];
	struct facts_push push = { .commands = commands, .options = options };
	struct say s = { p, "w0-5f" };
	struct parse_fail fail = { .detail = "" };
	struct push list;
	struct buf out;
	size_t used;

	buf_init(&out, BODY_MAX);
	push_init(&list);
	enum parse got = push_take(&list, buf_slice(&body), &used, &fail);
	if (got == PARSE_MORE)
		got = push_end(&list, &fail);
	if (got == PARSE_BAD) {
		buf_putf(&out, "%s\n", fail.detail);
		return answer('B', &out);
	}
	if (push_is_probe(&list))
		return answer('R', &out);
	for (size_t i = 0; i < list.n_commands; i++)
		commands[i] = push_command(&list, i);
	for (size_t i = 0; i < list.n_options; i++)
		options[i] = push_option(&list, i);
	push.n_commands = (uint32_t)list.n_commands;
	push.n_options = (uint32_t)list.n_options;
	push.has_options = (list.caps & PUSH_OPTIONS) != 0;
	f->kind = FACTS_PUSH;
	f->push = &push;
	struct verdict v = policy_decide(p, f);
	if (!v.allow)
		return refuse_push(&s, &list, f, &v);
	put_path(p, v.rule, f, repository, &out);
	int not =
	    prove_push(p, &v, &list, slice_from(buf_slice(&body), used), &out);
	if (not != 0)
		return not -1;
	if (!push_write(&list, &out))
		return 2;
	buf_put(&out, slice_from(buf_slice(&body), used));
	return answer('F', &out);
}

static int
filter(const struct program *p, const struct verdict *v, bool push)
{
	struct parse_fail fail = { .detail = "" };
	struct advert a;
	struct buf out;

	buf_init(&out, BODY_MAX);
	advert_init(&a, p, v->rule, push);
	if (advert_take(&a, buf_slice(&body), &out, &fail) != PARSE_DONE) {
		fprintf(stderr, "advertisement: %s\n", fail.detail);
		return 2;
	}
	fwrite(out.p, 1, out.n, stdout);
	return 0;
}

static int
answer_one(int argc, char **argv)
{
	bool advert = argc == 5 && strcmp(argv[2], "advert") == 0;

	if (argc < 4)
		return 2;
	argv += advert;
	answers = argv + 4;
	struct program *p = load(argv[1 - advert]);
	struct facts f = facts_of(p, argv[2], argv[3]);
	struct gitpath_request request = { f.method, f.path, f.has_query,
		f.query };
	struct say s = { p, "w0-5f" };
	struct parse_fail fail;
	struct gitpath git;
	struct buf out;

	read_body();
	buf_init(&out, BODY_MAX);
	struct verdict v = policy_decide(p, &f);
	if (!v.allow) {
		say_discovery(&s, &f, &v, &out);
		return answer(v.reason == REASON_HTTP_PATH_INVALID ? 'B' : 'T',
		    &out);
	}
	if (gitpath_read(&request, &git, &fail) != PARSE_DONE)
		return 2;
	if (advert)
		return filter(p, &v, git.service == GITPATH_PUSH);
	if (git.service == GITPATH_PUSH && !git.discover)
		return push_body(p, &f, git.repository);
	put_path(p, v.rule, &f, git.repository, &out);
	buf_put(&out, buf_slice(&body));
	return answer(git.discover ? 'A' : 'F', &out);
}

/* One answer, and the memory goes with the program. */
int
main(int argc, char **argv)
{
	int status = answer_one(argc, argv);

	fflush(stdout);
	_exit(status);
}
