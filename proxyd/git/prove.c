/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "git/ancestry.h"
#include "git/kept.h"
#include "git/prove.h"

#define ALL SIZE_MAX /* the pack as a whole, where a command is asked for */

/*
 * All proofs are made anew after each answer, from the packs that there are by
 * then: there is no state between them but those.  The first that is open says
 * what to ask next.
 */
struct prove {
	const struct prove_rule *rule;
	const struct prove_command *commands;
	size_t n;
	struct packs packs; /* its answers are owned */
	struct pack_cfg cfg;
	struct question_caps caps;
	struct oid head;
	bool has_offer, has_head;
	bool is_unanswered;
	uint64_t asked[LIMIT_PROOF_QUESTIONS]; /* hashes of the questions */
	size_t n_asked;
	/* What the proof that is open would have to see. */
	enum prove_next next;
	struct beyond beyond;
	struct beyond have; /* n 0: trees, else those commits are known */
};

bool
prove_wants_whole(const struct prove_rule *rule)
{
	const struct content_rule *c = &rule->content;

	return rule->n_keep != 0 || c->n_authors != 0 || c->n_committers != 0 ||
	    c->is_signed;
}

static bool
is_update(const struct prove_command *c)
{
	return !oid_is_zero(&c->old_id) && !oid_is_zero(&c->new_id);
}

bool
prove_wants_pack(const struct prove_rule *rule,
    const struct prove_command *commands, size_t n)
{
	if (prove_wants_whole(rule) || rule->content.max_file != 0)
		return true;
	for (size_t i = 0; i < n; i++) {
		if (!rule->force && is_update(&commands[i]))
			return true;
	}
	return false;
}

struct prove *
prove_new(const struct prove_rule *rule, const struct prove_command *commands,
    size_t n, struct pack *pushed, const struct pack_cfg *cfg)
{
	struct prove *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->rule = rule;
	p->commands = commands;
	p->n = n;
	p->packs.pushed = pushed;
	p->packs.id_size = cfg->id_size;
	p->cfg = *cfg;
	/* What the upstream has is not for this push to answer for. */
	p->cfg.strict = p->cfg.names = false;
	p->cfg.max_objects = 0;
	return p;
}

void
prove_free(struct prove *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->packs.n_answers; i++)
		pack_free(p->packs.answers[i]);
	free(p);
}

void
prove_offer(struct prove *p, const struct question_caps *caps)
{
	p->caps = *caps;
	p->has_offer = true;
}

void
prove_head(struct prove *p, const struct oid *head)
{
	p->head = *head;
	p->has_head = true;
}

struct pack *
prove_answer(struct prove *p)
{
	size_t n = p->packs.n_answers;
	enum err err;

	/* One room for all of them: else eight would be eight times as much. */
	if (n != 0)
		p->cfg.before = pack_kept(p->packs.answers[n - 1]);
	struct pack *pack = pack_new(&p->cfg, &err);
	/* As many as there are questions, so there is room. */
	if (pack != NULL)
		p->packs.answers[p->packs.n_answers++] = pack;
	return pack;
}

void
prove_unanswered(struct prove *p)
{
	p->is_unanswered = true;
}

static enum proof
refuse(struct prove_fail *fail, enum reason reason, const char *detail,
    size_t command)
{
	*fail = (struct prove_fail){ .reason = reason,
		.detail = detail,
		.command = command };
	return PROOF_NO;
}

/* Wait for objects; what it is refused for if they do not come is in `fail`. */
static enum proof
want(struct prove *p, const struct oid *have)
{
	p->next = PROVE_ASK_OBJECTS;
	beyond_clear(&p->have);
	if (have != NULL)
		beyond_add(&p->have, have);
	return PROOF_OPEN;
}

static enum proof
prove_content(struct prove *p, struct prove_fail *fail)
{
	struct parse_fail why = { 0 };
	enum proof proof = content_fits(&p->packs, &p->rule->content, &why);

	if (proof == PROOF_NO)
		return refuse(fail, why.reason, why.detail, ALL);
	if (proof == PROOF_OPEN)
		return refuse(fail, REASON_GIT_PACK,
		    "commits in the pack cannot all be read", ALL);
	return PROOF_YES;
}

/*
 * A stray commit that is seen to be one is refused.  A delta of no known kind
 * may be another: rules that ask for all commits do not take those
 * (content_fits()), the others are not about commits without a ref.
 */
static enum proof
prove_no_stray(struct prove *p, struct prove_fail *fail)
{
	struct oid stray, *tips = calloc(p->n + 1, sizeof(*tips));
	enum proof proof = PROOF_NO;

	if (tips == NULL)
		return refuse(fail, REASON_INTERNAL, "no memory", ALL);
	for (size_t i = 0; i < p->n; i++)
		tips[i] = p->commands[i].new_id;
	proof = ancestry_covers(&p->packs, tips, p->n, &stray);
	free(tips);
	if (proof != PROOF_NO)
		return PROOF_YES;
	return refuse(fail, REASON_GIT_PACK,
	    "a commit in the pack belongs to no ref of the push", ALL);
}

static enum proof
prove_forward(struct prove *p, size_t i, struct prove_fail *fail)
{
	const struct prove_command *c = &p->commands[i];
	enum proof proof =
	    ancestry_descends(&p->packs, &c->new_id, &c->old_id, &p->beyond);

	if (proof == PROOF_YES)
		return proof;
	(void)refuse(fail, REASON_GIT_UPDATE,
	    proof == PROOF_NO ? "not a fast-forward" :
				"not shown to be a fast-forward",
	    i);
	return proof == PROOF_NO ? proof : want(p, &c->old_id);
}

/* All patterns, against one base. */
static enum proof
prove_same(struct prove *p, const struct oid *tip, const struct oid *base)
{
	enum proof sum = PROOF_YES;

	for (size_t i = 0; i < p->rule->n_keep; i++) {
		enum proof one = kept_same(&p->packs, tip, base,
		    p->rule->keep[i], &p->beyond);
		if (one == PROOF_NO) {
			beyond_clear(&p->beyond);
			return PROOF_NO;
		}
		if (one == PROOF_OPEN)
			sum = PROOF_OPEN;
	}
	return sum == PROOF_OPEN ? want(p, NULL) : sum;
}

/* Was the question for what p->beyond and p->have say asked before? */
static bool is_asked(const struct prove *p);

/*
 * Ask for what lies between the push and HEAD's history: from HEAD to what was
 * seen of the push, if any of that is in its history; then from where the push
 * ends to where it left that history.
 */
static enum proof
ask_between(struct prove *p, const struct beyond *ends,
    const struct beyond *seen)
{
	beyond_clear(&p->beyond);
	beyond_add(&p->beyond, &p->head);
	(void)want(p, NULL);
	for (size_t i = 0; i < seen->n; i++)
		beyond_add(&p->have, &seen->ids[i]);
	if (!is_asked(p))
		return PROOF_OPEN;
	beyond_clear(&p->beyond);
	for (size_t i = 0; i < ends->n && !ends->is_cut; i++)
		beyond_add(&p->beyond, &ends->ids[i]);
	(void)want(p, &p->head);
	return is_asked(p) ? PROOF_NO : PROOF_OPEN;
}

/* Against commits of HEAD's history that the push builds on, until one has all
 * of it. */
static enum proof
prove_grown(struct prove *p, const struct prove_command *c)
{
	struct beyond ends = { .walked = p->beyond.walked };
	struct beyond bases = { 0 }, seen = { 0 };

	if (!p->has_head) {
		p->next = PROVE_ASK_HEAD;
		return PROOF_OPEN;
	}
	if (p->head.n == 0) /* nothing yet, or nothing that counts */
		return prove_same(p, &c->new_id, &p->head);
	ancestry_meets(&p->packs, &c->new_id, &p->head, &bases, &ends, &seen);
	p->beyond.walked = ends.walked;
	for (size_t i = 0; i < bases.n; i++) {
		enum proof proof = prove_same(p, &c->new_id, &bases.ids[i]);
		if (proof == PROOF_YES || (proof == PROOF_OPEN && !is_asked(p)))
			return proof;
		beyond_clear(&p->beyond);
	}
	return ask_between(p, &ends, &seen);
}

static enum proof
prove_kept(struct prove *p, size_t i, struct prove_fail *fail)
{
	const struct prove_command *c = &p->commands[i];
	enum proof proof = PROOF_NO;

	if (p->rule->n_keep == 0)
		return PROOF_YES;
	(void)refuse(fail, REASON_GIT_PACK,
	    "what `keep` names is not shown to be as it was", i);
	fail->keep = true;
	if (is_update(c))
		proof = prove_same(p, &c->new_id, &c->old_id);
	if (proof == PROOF_OPEN && is_asked(p)) {
		beyond_clear(&p->beyond);
		proof = PROOF_NO;
	}
	return proof == PROOF_NO ? prove_grown(p, c) : proof;
}

static enum proof
prove_command(struct prove *p, size_t i, struct prove_fail *fail)
{
	const struct prove_command *c = &p->commands[i];

	if (oid_is_zero(&c->new_id))
		return PROOF_YES;
	if (!p->rule->force && is_update(c)) {
		enum proof proof = prove_forward(p, i, fail);
		if (proof != PROOF_YES)
			return proof;
	}
	return prove_kept(p, i, fail);
}

static enum proof
prove_all(struct prove *p, struct prove_fail *fail)
{
	p->beyond = (struct beyond){ 0 }; /* work too: anew */
	enum proof proof = prove_content(p, fail);
	if (proof == PROOF_YES)
		proof = prove_no_stray(p, fail);
	for (size_t i = 0; proof == PROOF_YES && i < p->n; i++)
		proof = prove_command(p, i, fail);
	return proof;
}

/* Write the next question.  False if none can be asked. */
static bool
put_question(const struct prove *p, struct buf *out)
{
	if (p->next == PROVE_ASK_HEAD)
		return question_put_head(&p->caps, out);
	return question_put(&p->caps, &p->beyond,
	    p->have.n == 0 ? NULL : &p->have, out);
}

/* The hash of the next question; false if none can be asked. */
static bool
hash_question(const struct prove *p, uint64_t *hash)
{
	struct buf question;

	buf_init(&question, LIMIT_QUESTION_HEAD_SIZE);
	bool is = put_question(p, &question);
	*hash = siphash(p->cfg.key, buf_slice(&question));
	buf_release(&question);
	return is;
}

static bool
is_asked(const struct prove *p)
{
	uint64_t hash;

	if (!p->has_offer)
		return false;
	if (!hash_question(p, &hash))
		return true; /* it would show as much */
	for (size_t i = 0; i < p->n_asked; i++) {
		if (p->asked[i] == hash)
			return true;
	}
	return false;
}

enum prove_next
prove_next(struct prove *p, struct buf *body, struct prove_fail *fail)
{
	enum proof proof = prove_all(p, fail);

	if (proof != PROOF_OPEN)
		return proof == PROOF_YES ? PROVE_SHOWN : PROVE_REFUSED;
	if (p->is_unanswered || p->n_asked == LIMIT_PROOF_QUESTIONS)
		return PROVE_REFUSED;
	if (!p->has_offer)
		return PROVE_ASK_OFFER;
	if (p->caps.id_size != p->packs.id_size || is_asked(p) ||
	    !hash_question(p, &p->asked[p->n_asked]) || !put_question(p, body))
		return PROVE_REFUSED;
	p->n_asked++;
	return p->next;
}
