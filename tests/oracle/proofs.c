/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: proofs sha1|sha256	proofs over packs, for tests/oracle/proofs.py
 *
 * A line a question on standard input, a line an answer on standard output:
 *
 *	pushed FILE		done UNKNOWN LARGEST COMMITS TREES | bad DETAIL
 *	answer FILE		the same, for what the upstream said to a question
 *	none			forget the answer, and what was open
 *	objects			KIND ID ... of the pushed pack
 *	descends TIP OLD	yes | no | open ID ...
 *	covers TIP ...		yes | no ID | open
 *	kept TIP BASE PATH	yes | no | open DEPTH ID ...
 *	offer FILE		what an upstream offers: FORMAT FETCH SHALLOW FILTER
 *				LS-REFS, each 0 or 1, and the size of names
 *	ask OLD			the question for the open answers since; "-": trees
 *	prove FORCE PATHS OLD NEW ...	a push by a rule; PATHS have commas
 *				between, or are "-".  An answer is: shown |
 *				refused COMMAND DETAIL | offer | head QUESTION |
 *				objects QUESTION.  After one of the last three:
 *	told FILE		the answer that file has; and so on
 *	head FILE		ID of the upstream's HEAD
 *	ask-head		the question for it
 */
#include <stdio.h>

#include "base/buf.h"
#include "git/ancestry.h"
#include "git/kept.h"
#include "git/prove.h"
#include "git/question.h"
#include "policy/pathglob.h"

#define STEP 4096

static struct packs packs;
static struct beyond beyond;

static struct buf
file_read(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct buf b;
	size_t n;

	buf_init(&b, 1 << 30);
	while (f != NULL && (n = fread(buf_room(&b, STEP), 1, STEP, f)) != 0)
		buf_added(&b, n);
	if (f == NULL || fclose(f) != 0)
		abort();
	return b;
}

static struct pack *
pack_make(bool is_pushed)
{
	struct pack_cfg cfg = { .id_size = packs.id_size,
		.strict = is_pushed,
		.names = is_pushed };
	enum err err;
	struct pack *p = pack_new(&cfg, &err);

	if (p == NULL)
		abort();
	return p;
}

static void
say(enum parse answer, const struct pack *p, const struct parse_fail *fail)
{
	const struct pack_facts *f = pack_facts(p);

	if (answer != PARSE_DONE)
		printf("bad %s\n", answer == PARSE_BAD ? fail->detail : "cut");
	else
		printf("done %u %ju %u %u\n", f->n_unknown,
		    (uintmax_t)f->largest,
		    f->unread[OBJECT_COMMIT] + f->unread[OBJECT_TAG],
		    f->unread[OBJECT_TREE]);
}

static void
read_pushed(const char *path)
{
	struct buf file = file_read(path);
	struct slice in = buf_slice(&file);
	struct pack *p = pack_make(true);
	enum parse answer = PARSE_MORE;
	struct parse_fail fail = { 0 };
	size_t used, pass;

	while (answer == PARSE_MORE && in.n != 0) {
		answer =
		    pack_take(p, slice_first(in, STEP), &used, &pass, &fail);
		in = slice_from(in, used);
		answer =
		    answer == PARSE_DONE && in.n != 0 ? PARSE_MORE : answer;
	}
	say(answer, p, &fail);
	buf_release(&file);
	pack_free(packs.pushed);
	packs.pushed = p;
}

static void
forget(void)
{
	while (packs.n_answers != 0)
		pack_free(packs.answers[--packs.n_answers]);
}

static void
read_answer(const char *path)
{
	struct buf file = file_read(path);
	struct slice in = buf_slice(&file);
	struct pack *p = pack_make(false);
	enum parse answer;
	struct parse_fail fail = { 0 };
	struct answer a;
	size_t used;

	answer_init(&a, p);
	do {
		answer = answer_take(&a, in, &used, &fail);
		in = slice_from(in, used);
	} while (answer == PARSE_MORE && (used != 0 || a.done != 0));
	say(answer, p, &fail);
	buf_release(&file);
	forget();
	packs.answers[packs.n_answers++] = p;
}

static struct oid
id_read(const char *text)
{
	struct oid id = { 0 };

	if (text == NULL || !oid_read(slice_of_str(text), packs.id_size, &id))
		abort();
	return id;
}

static void
say_id(const struct oid *id)
{
	char text[OID_TEXT_SIZE];

	oid_text(id, text);
	printf(" %s", text);
}

static void
say_proof(enum proof proof)
{
	static const char *const names[] = { "yes", "no", "open" };

	fputs(names[proof], stdout);
}

static void
say_beyond(void)
{
	if (beyond.is_cut)
		fputs(" cut", stdout);
	for (size_t i = 0; i < beyond.n; i++)
		say_id(&beyond.ids[i]);
}

static void
descends(const char *tip, const char *old)
{
	struct oid a = id_read(tip), b = id_read(old);
	enum proof proof = ancestry_descends(&packs, &a, &b, &beyond);

	say_proof(proof);
	if (proof == PROOF_OPEN)
		say_beyond();
	puts("");
}

static void
covers(char *tips)
{
	struct oid ids[64], stray;
	size_t n = 0;

	for (char *save, *t = strtok_r(tips, " ", &save); t != NULL && n < 64;
	     t = strtok_r(NULL, " ", &save))
		ids[n++] = id_read(t);
	enum proof proof = ancestry_covers(&packs, ids, n, &stray);
	say_proof(proof);
	if (proof == PROOF_NO)
		say_id(&stray);
	puts("");
}

static struct slice
glob_of(const char *path, uint8_t *glob)
{
	struct buf text;
	const char *why;
	size_t n;

	buf_init(&text, 256);
	buf_putf(&text, "/%s", path);
	if (text.failed || !pathglob_compile(buf_slice(&text), glob, &n, &why))
		abort();
	buf_release(&text);
	return slice_of(glob, n);
}

static void
kept(const char *tip, const char *base, const char *path)
{
	struct oid a = id_read(tip), b = id_read(base);
	uint8_t glob[256];
	enum proof proof =
	    kept_same(&packs, &a, &b, glob_of(path, glob), &beyond);
	say_proof(proof);
	if (proof == PROOF_OPEN) {
		printf(" %u", beyond.depth);
		say_beyond();
	}
	puts("");
}

static void
objects(void)
{
	static const char *const kinds[] = { "", "commit", "tree", "", "tag" };
	const struct object *o;

	for (size_t i = 0; (o = pack_nth(packs.pushed, i)) != NULL; i++) {
		printf("%s%s", i == 0 ? "" : " ", kinds[o->kind]);
		say_id(&o->id);
	}
	puts("");
}

/* A question, on one line: its line ends are written as spaces. */
static void
ask(const char *old)
{
	struct question_caps caps = { packs.id_size, true, true, true, true,
		true };
	struct beyond have = { 0 };
	struct buf out;
	bool done;

	buf_init(&out, 1 << 20);
	if (old == NULL) {
		done = question_put_head(&caps, &out);
	} else {
		struct oid id = { 0 };
		if (strcmp(old, "-") != 0)
			id = id_read(old);
		if (id.n != 0)
			beyond_add(&have, &id);
		done = question_put(&caps, &beyond, have.n == 0 ? NULL : &have,
		    &out);
	}
	for (size_t i = 0; done && i < out.n; i++)
		putchar(out.p[i] == '\n' ? '~' : out.p[i]);
	puts(done ? "" : "nothing");
	buf_release(&out);
}

static void
offer(const char *path)
{
	struct buf file = file_read(path);
	struct question_caps c;
	struct parse_fail fail;

	if (question_caps_take(buf_slice(&file), &c, &fail) != PARSE_DONE)
		abort();
	printf("%d%d%d%d%d %zu\n", c.has_format, c.has_fetch, c.has_shallow,
	    c.has_filter, c.has_ls_refs, c.id_size);
	buf_release(&file);
}

static void
head(const char *path)
{
	struct buf file = file_read(path);
	struct parse_fail fail;
	struct oid id;

	if (question_head_take(buf_slice(&file), packs.id_size, &id, &fail) ==
	    PARSE_DONE)
		say_id(&id);
	puts("");
	buf_release(&file);
}

static struct prove *proving;
static enum prove_next waiting;

static void
say_next(void)
{
	static const char *const names[] = { "shown", "refused", "offer",
		"head ", "objects " };
	struct prove_fail fail = { 0 };
	struct buf body;

	buf_init(&body, 1 << 20);
	waiting = prove_next(proving, &body, &fail);
	fputs(names[waiting], stdout);
	if (waiting == PROVE_REFUSED)
		printf(" %zd %s", (ssize_t)fail.command, fail.detail);
	for (size_t i = 0; i < body.n; i++)
		putchar(body.p[i] == '\n' ? '~' : body.p[i]);
	puts("");
	buf_release(&body);
	if (waiting == PROVE_SHOWN || waiting == PROVE_REFUSED) {
		prove_free(proving);
		proving = NULL;
	}
}

static void
prove(char *rest)
{
	static struct prove_command commands[64];
	static uint8_t globs[16][256];
	static struct slice keep[16];
	static struct prove_rule rule;
	static struct pack_cfg cfg;
	char *save, *more, *t = strtok_r(rest, " ", &save);
	char *paths = strtok_r(NULL, " ", &save);
	size_t n = 0;

	rule = (struct prove_rule){ .keep = keep };
	rule.force = t != NULL && strcmp(t, "1") == 0;
	cfg = (struct pack_cfg){ .id_size = packs.id_size };
	while ((t = strtok_r(NULL, " ", &save)) != NULL && n < 64) {
		commands[n].old_id = id_read(t);
		commands[n++].new_id = id_read(strtok_r(NULL, " ", &save));
	}
	for (t = strtok_r(paths, ",", &more); t != NULL && strcmp(t, "-") != 0;
	     t = strtok_r(NULL, ",", &more)) {
		keep[rule.n_keep] = glob_of(t, globs[rule.n_keep]);
		rule.n_keep++;
	}
	proving = prove_new(&rule, commands, n, packs.pushed, &cfg);
	say_next();
}

static void
told(const char *path)
{
	struct buf file = file_read(path);
	struct slice in = buf_slice(&file);
	struct question_caps caps;
	enum parse answer = PARSE_BAD;
	struct parse_fail fail;
	struct answer a;
	struct oid id;
	size_t used;

	if (waiting == PROVE_ASK_OFFER) {
		answer = question_caps_take(in, &caps, &fail);
		prove_offer(proving, &caps);
	} else if (waiting == PROVE_ASK_HEAD) {
		answer = question_head_take(in, packs.id_size, &id, &fail);
		prove_head(proving, &id);
	} else {
		answer_init(&a, prove_answer(proving));
		do {
			answer = answer_take(&a, in, &used, &fail);
			in = slice_from(in, used);
		} while (answer == PARSE_MORE && (used != 0 || a.done != 0));
	}
	if (answer != PARSE_DONE)
		prove_unanswered(proving);
	buf_release(&file);
	say_next();
}

static void
one(char *line)
{
	char *save, *verb = strtok_r(line, " ", &save);
	char *rest = strtok_r(NULL, "", &save), *more = NULL, *path = NULL;

	if (verb == NULL)
		abort();
	if (strcmp(verb, "covers") == 0 || strcmp(verb, "prove") == 0) {
		(*verb == 'c' ? covers : prove)(rest);
		return;
	}
	if (rest != NULL) {
		rest = strtok_r(rest, " ", &save);
		more = strtok_r(NULL, " ", &save);
		path = strtok_r(NULL, "", &save);
	}
	if (strcmp(verb, "pushed") == 0)
		read_pushed(rest);
	else if (strcmp(verb, "answer") == 0)
		read_answer(rest);
	else if (strcmp(verb, "objects") == 0)
		objects();
	else if (strcmp(verb, "descends") == 0)
		descends(rest, more);
	else if (strcmp(verb, "kept") == 0)
		kept(rest, more, path);
	else if (strcmp(verb, "ask") == 0 || strcmp(verb, "ask-head") == 0)
		ask(rest);
	else if (strcmp(verb, "offer") == 0)
		offer(rest);
	else if (strcmp(verb, "head") == 0)
		head(rest);
	else if (strcmp(verb, "told") == 0)
		told(rest);
	else {
		forget();
		beyond = (struct beyond){ 0 };
		puts("done");
	}
}

int
main(int argc, char **argv)
{
	static char line[65536];

	packs.id_size =
	    argc == 2 && strcmp(argv[1], "sha256") == 0 ? OID_SHA256 : OID_SHA1;
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		one(line);
		fflush(stdout);
	}
	pack_free(packs.pushed);
	forget();
	return 0;
}
