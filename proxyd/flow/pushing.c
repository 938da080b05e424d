/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/pushing_inside.h"
#include "flow/record.h"
#include "flow/reload.h"
#include "git/report.h"

#define REQUEST_TYPE "application/x-git-receive-pack-request"
#define UNSUPPORTED 415 /* RFC 9110 15.5.16 */

bool
pushing_is(const struct request *r)
{
	return !r->x.is_bad && r->git.service == GITPATH_PUSH &&
	    !r->git.discover;
}

/* git's own server takes the type alone, and either name of gzip, as they are
 * written here.  What it would read otherwise is not read at all. */
static bool
read_coding(struct request *r, bool *is_gzip)
{
	struct field_list *fields = &r->x.req.fields;
	const struct field *type = field_find(fields, SLICE("content-type"));
	const struct field *coding =
	    field_find(fields, SLICE("content-encoding"));

	*is_gzip = coding != NULL &&
	    (slice_eq(coding->value, SLICE("gzip")) ||
		slice_eq(coding->value, SLICE("x-gzip")));
	return type != NULL && slice_eq_str(type->value, REQUEST_TYPE) &&
	    field_count(fields, SLICE("content-type")) == 1 &&
	    field_count(fields, SLICE("content-encoding")) <= 1 &&
	    (coding == NULL || *is_gzip ||
		slice_eq(coding->value, SLICE("identity")));
}

/* What goes up is not encoded, and what comes back is read. */
static bool
set_fields(struct request *r)
{
	struct field_list *fields = &r->x.req.fields;

	field_remove_named(fields);
	field_remove(fields, SLICE("content-encoding"));
	field_remove(fields, SLICE("accept-encoding"));
	return field_add(fields, SLICE("Accept-Encoding"), SLICE("identity"));
}

/* Of what is inflated nobody has said a length: it is counted as it goes. */
static bool
count_inflated(struct request *r)
{
	return !r->verdict.allow || r->x.req.body != HTTP_BODY_LENGTH ||
	    request_count_body(r);
}

static struct pushing *
pushing_new(struct request *r, bool is_gzip)
{
	struct pushing *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->r = r;
	p->is_denied = !r->verdict.allow;
	push_init(&p->list);
	buf_init(&p->head, (size_t)2 * LIMIT_PUSH_LIST_SIZE);
	if (pushing_body_init(&p->body, &r->x, is_gzip))
		return p;
	pushing_free(p);
	return NULL;
}

enum reason
pushing_begin(struct request *r, const char **detail)
{
	struct sandbox *sb = r->flow->sandbox;
	bool is_gzip;

	if (!read_coding(r, &is_gzip)) {
		r->x.refusal.status = UNSUPPORTED;
		*detail = "a push has the type " REQUEST_TYPE
			  ", and no coding but gzip";
		return REASON_GIT_MALFORMED;
	}
	if (sb->n_pushes == LIMIT_PUSHES) {
		*detail = "too many pushes of this sandbox are under way; try "
			  "again when one of them is over";
		return REASON_LIMIT_CONNS;
	}
	*detail = "out of memory";
	if (!set_fields(r) || (is_gzip && !count_inflated(r)))
		return REASON_INTERNAL;
	r->pushing = pushing_new(r, is_gzip);
	if (r->pushing == NULL)
		return REASON_INTERNAL;
	r->pushing->is_counted = true;
	sb->n_pushes++;
	r->x.reads = true;
	return REASON_ALLOW;
}

void
pushing_let_go(struct pushing *p)
{
	pushing_proof_free(p->proof);
	p->proof = NULL;
	hold_free(p->hold);
	p->hold = NULL;
	buf_release(&p->head);
}

void
pushing_free(struct pushing *p)
{
	if (p == NULL)
		return;
	if (p->is_counted)
		p->r->flow->sandbox->n_pushes--;
	p->r->flow->sandbox->push_lists -= p->n_list;
	pushing_let_go(p);
	if (p->has_outcome)
		outcome_release(&p->outcome);
	pushing_body_release(&p->body);
	buf_release(&p->head);
	push_release(&p->list);
	free(p->commands);
	free(p->options);
	free(p);
}

/* --- the list ------------------------------------------------------------ */

void
pushing_refuse(struct pushing *p, enum reason reason, const char *detail)
{
	p->state = PUSHING_OVER;
	exchange_refuse(&p->r->x, reason, detail);
}

/* By policy: with the record of it. */
static void
deny(struct pushing *p)
{
	p->state = PUSHING_OVER;
	pushing_say_denied(p);
	request_deny(p->r);
}

/* The body is no list of ours to read. */
static void
malformed(struct pushing *p, const struct parse_fail *fail)
{
	if (p->is_denied)
		deny(p);
	else
		pushing_refuse(p, fail->reason, fail->detail);
}

/* git asks so whether a large push will be let in: 200 and nothing in it. */
static void
answer_probe(struct pushing *p)
{
	struct refusal *refusal = &p->r->x.refusal;

	if (p->is_denied) {
		deny(p);
		return;
	}
	p->is_probe = p->is_told = true;
	refusal->type = REPORT_TYPE;
	refusal->for_git = true;
	refusal->status = 200;
	pushing_refuse(p, REASON_ALLOW, "");
}

/* The commands as policy reads them.  False: no memory. */
static bool
take_facts(struct pushing *p)
{
	const struct push *list = &p->list;

	p->commands = calloc(list->n_commands + 1, sizeof(*p->commands));
	p->options = calloc(list->n_options + 1, sizeof(*p->options));
	if (p->commands == NULL || p->options == NULL)
		return false;
	for (size_t i = 0; i < list->n_commands; i++)
		p->commands[i] = push_command(list, i);
	for (size_t i = 0; i < list->n_options; i++)
		p->options[i] = push_option(list, i);
	p->facts = (struct facts_push){
		.commands = p->commands,
		.n_commands = (uint32_t)list->n_commands,
		.has_options = (list->caps & PUSH_OPTIONS) != 0,
		.options = p->options,
		.n_options = (uint32_t)list->n_options,
	};
	return true;
}

/* The commands that are refused; the request's own record has the rest. */
static void
record_denied(struct pushing *p)
{
	const struct verdict *v = &p->r->verdict;

	if (v->command == VERDICT_NONE)
		return;
	for (size_t i = 0; i < p->list.n_commands; i++)
		if (git_rule_command(p->r->generation->program, v->rule,
			&p->commands[i]) != REASON_ALLOW)
			record_push_end(p->r, &p->commands[i], NULL,
			    (struct slice){ 0 });
}

/* Does this server need a pack's last bytes to change a ref?  git's own does,
 * which these two run. */
static bool
needs_trailer(enum git_forge forge)
{
	return forge == FORGE_FORGEJO || forge == FORGE_GITLAB;
}

/* Is it one of at most LIMIT_PROOFS?  One that stands still gives way. */
static bool
has_place(struct pushing *p)
{
	struct request *halted;

	if (p->r->flow->sandbox->n_proofs <= LIMIT_PROOFS)
		return true;
	halted = pushing_proof_oust(p->proof);
	if (halted == NULL)
		return false;
	pushing_refuse(halted->pushing, REASON_LIMIT_TIME,
	    "the pack came to a halt, and another push waited for its place");
	/* Refused, it is read no further: its file is free, too. */
	hold_free(halted->pushing->hold);
	halted->pushing->hold = NULL;
	return true;
}

static enum reason
prepare_pack(struct pushing *p, const char **detail)
{
	struct request *r = p->r;

	*detail = "out of memory";
	if (!push_write(&p->list, &p->head))
		return REASON_INTERNAL;
	if (!p->list.wants_pack)
		return REASON_ALLOW;
	if (!pushing_proof_new(r, &p->list, &p->proof))
		return REASON_INTERNAL;
	if (p->proof == NULL)
		return REASON_ALLOW;
	if (!has_place(p)) {
		*detail = "too many pushes of this sandbox are being proven; "
			  "try again when one of them is over";
		return REASON_LIMIT_CONNS;
	}
	if (needs_trailer(p->rule.forge))
		return REASON_ALLOW;
	p->hold = hold_new(r, p->rule.max_pack);
	return p->hold != NULL ? REASON_ALLOW : REASON_INTERNAL;
}

/* Each command, and that there is a push, before anything is sent. */
static void
record_begin(struct pushing *p)
{
	p->is_begun = true;
	p->state = PUSHING_RECORDS;
	record_request_begin(p->r);
	for (size_t i = 0; i < p->list.n_commands; i++)
		record_push_begin(p->r, &p->commands[i]);
}

static void
judge(struct pushing *p)
{
	struct request *r = p->r;
	const char *detail;

	p->is_whole = true;
	if (!take_facts(p)) {
		pushing_refuse(p, REASON_INTERNAL, "out of memory");
		return;
	}
	if (!p->is_denied) {
		r->facts.kind = FACTS_PUSH;
		r->facts.push = &p->facts;
		record_judge(r->generation, &r->facts, &r->verdict);
	}
	if (r->verdict.allow && !reload_allows(r)) {
		pushing_refuse(p, REASON_POLICY_CHANGED,
		    "the policy has changed and does not allow it any more");
		return;
	}
	if (!r->verdict.allow) {
		record_denied(p);
		deny(p);
		return;
	}
	if (!git_rule(r->generation->program, r->verdict.rule, &p->rule)) {
		pushing_refuse(p, REASON_INTERNAL, "no rule for a push");
		return;
	}
	enum reason reason = prepare_pack(p, &detail);
	if (r->flow->record_failed) {
		reason = REASON_AUDIT_FULL;
		detail = "the record could not be written";
	}
	if (reason == REASON_ALLOW)
		record_begin(p);
	else
		pushing_refuse(p, reason, detail);
}

/* The body ends behind what was read of it. */
static void
end_list(struct pushing *p)
{
	struct parse_fail fail;

	if (push_end(&p->list, &fail) == PARSE_BAD)
		malformed(p, &fail);
	else if (push_is_probe(&p->list))
		answer_probe(p);
	else
		judge(p);
}

/* What is made of a list is a few times its size, and stays as long as the
 * push does, refused or not.  False: they are too much together. */
static bool
count_list(struct pushing *p, size_t n)
{
	struct sandbox *sb = p->r->flow->sandbox;

	p->n_list += n;
	sb->push_lists += n;
	return sb->push_lists <= LIMIT_PUSH_LISTS_SIZE;
}

/* True: there is more to do at once. */
static bool
read_list(struct pushing *p)
{
	struct parse_fail fail;
	struct slice in;
	size_t used;
	enum parse got = pushing_body_peek(&p->body, &in, &fail);

	if (got == PARSE_BAD) {
		malformed(p, &fail);
	} else if (got == PARSE_DONE) {
		end_list(p);
	} else if (in.n != 0) {
		got = push_take(&p->list, in, &used, &fail);
		if (got == PARSE_BAD) {
			malformed(p, &fail);
			return false;
		}
		pushing_body_take(&p->body, used);
		if (!count_list(p, used))
			pushing_refuse(p, REASON_LIMIT_CONNS,
			    "the lists of this sandbox's pushes that are under "
			    "way are too long together; try again when one of "
			    "them is over");
		else if (got == PARSE_DONE && p->list.wants_pack)
			judge(p);
		else if (got == PARSE_DONE)
			p->state = PUSHING_END;
		return true;
	}
	return false;
}

/* A list that wants no pack is the whole body: servers act on it whatever
 * stands behind. */
static void
read_end(struct pushing *p)
{
	struct parse_fail fail = { REASON_GIT_MALFORMED,
		"bytes behind a list that wants no pack", 0 };
	struct slice in;
	enum parse got = pushing_body_peek(&p->body, &in, &fail);

	if (got == PARSE_DONE)
		end_list(p);
	else if (got == PARSE_BAD || in.n != 0)
		malformed(p, &fail);
}

/* --- READ ---------------------------------------------------------------- */

/* How what goes up is framed, if that is known. */
static void
set_length(struct pushing *p)
{
	struct exchange *x = &p->r->x;
	uint64_t length = p->head.n;

	if (p->hold != NULL)
		length += hold_size(p->hold);
	else if (x->req.body == HTTP_BODY_LENGTH && p->body.gzip == NULL)
		length += x->req.length - p->body.taken;
	else if (p->list.wants_pack) {
		exchange_feed(x, HTTP_BODY_OPEN, 0);
		return;
	}
	exchange_feed(x, HTTP_BODY_LENGTH, length);
}

void
pushing_allow(struct pushing *p)
{
	p->state = PUSHING_FEED;
	set_length(p);
	exchange_allow(&p->r->x);
}

static void
await_records(struct pushing *p)
{
	if (p->r->record_failed)
		pushing_refuse(p, REASON_AUDIT_FULL,
		    "the record could not be written");
	else if (p->r->is_recorded && p->hold != NULL)
		p->state = PUSHING_HOLD;
	else if (p->r->is_recorded)
		pushing_allow(p);
}

void
pushing_read(struct exchange *x UNUSED, void *arg)
{
	struct request *r = arg;
	struct pushing *p = r->pushing;

	while (p->state == PUSHING_LIST && read_list(p))
		;
	if (p->state == PUSHING_END)
		read_end(p);
	if (p->state == PUSHING_RECORDS)
		await_records(p);
	if (p->state == PUSHING_HOLD)
		pushing_hold(p);
}
