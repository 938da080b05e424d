/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/random.h>

#include "base/clock.h"
#include "flow/inquire.h"
#include "flow/pushing_proof.h"
#include "flow/request.h"

/* What an answer that comes is read as. */
enum asked_for {
	ASKED_NOTHING,
	ASKED_OFFER,
	ASKED_HEAD,
	ASKED_OBJECTS,
};

struct pushing_proof {
	LIST_ENTRY(pushing_proof) entry; /* of sandbox->proofs, if has_place */
	bool has_place;
	uint64_t moved_ms; /* by clock_ms(): bytes of the pack came last */
	struct request *r; /* borrowed */
	const struct push *list; /* borrowed */
	struct prove_rule rule;
	struct prove_command *commands; /* owned */
	struct pack_cfg cfg;
	struct pack *pack;	     /* owned; NULL: the push has none */
	uint8_t trailer[OID_SHA256]; /* of it, once all is shown */
	size_t n_trailer;
	struct prove *prove;	 /* owned; behind the pack's end */
	struct inquire *inquire; /* owned; made for the first question */
	enum asked_for asked;
	struct answer answer;		   /* ASKED_OBJECTS */
	char unanswered[STREAM_TEXT_SIZE]; /* why the last one is; or empty */
	struct timer turn;		   /* set: it rests until then */
};

static void
on_turn(void *arg)
{
	struct pushing_proof *p = arg;

	request_wake(p->r);
}

static void
rest(struct pushing_proof *p)
{
	timer_set(&p->turn, 0);
}

bool
pushing_proof_is_resting(const struct pushing_proof *p)
{
	return timer_is_set(&p->turn);
}

bool
pushing_proof_is_pending(const struct pushing_proof *p)
{
	return pushing_proof_is_resting(p) ||
	    (p->inquire != NULL && inquire_is_pending(p->inquire));
}

/* What was started, all but the memory itself and its timer. */
static void
release(struct pushing_proof *p)
{
	inquire_free(p->inquire);
	prove_free(p->prove);
	pack_free(p->pack);
	free(p->commands);
	prove_rule_release(&p->rule);
	p->inquire = NULL;
	p->prove = NULL;
	p->pack = NULL;
	p->commands = NULL;
}

static bool
start(struct pushing_proof *p)
{
	enum err err;

	p->cfg.id_size = prove_id_size(p->list);
	p->cfg.strict = true;
	p->cfg.names = prove_wants_whole(&p->rule);
	/* Names of objects are a peer's: the hash of them is keyed. */
	if (getrandom(p->cfg.key, sizeof(p->cfg.key), 0) != sizeof(p->cfg.key))
		return false;
	if (p->list->wants_pack)
		p->pack = pack_new(&p->cfg, &err);
	return !p->list->wants_pack || p->pack != NULL;
}

static void
take_place(struct pushing_proof *p)
{
	struct sandbox *sb = p->r->flow->sandbox;

	p->moved_ms = clock_ms();
	p->has_place = true;
	LIST_INSERT_HEAD(&sb->proofs, p, entry);
	sb->n_proofs++;
}

static void
leave(struct pushing_proof *p)
{
	if (!p->has_place)
		return;
	p->has_place = false;
	LIST_REMOVE(p, entry);
	p->r->flow->sandbox->n_proofs--;
}

/* The one whose pack stands still for longest, and for too long; or NULL. */
static struct pushing_proof *
find_halted(const struct pushing_proof * not )
{
	struct pushing_proof *p, *found = NULL;
	uint64_t now = clock_ms();

	LIST_FOREACH(p, &not ->r->flow->sandbox->proofs, entry) {
		if (p == not || pushing_proof_is_whole(p) ||
		    now < p->moved_ms + LIMIT_PROOF_SILENT_MS)
			continue;
		if (found == NULL || p->moved_ms < found->moved_ms)
			found = p;
	}
	return found;
}

struct request *
pushing_proof_oust(struct pushing_proof *p)
{
	struct pushing_proof *halted = find_halted(p);

	if (halted == NULL)
		return NULL;
	leave(halted);
	/* Not from within another flow. */
	rest(halted);
	return halted->r;
}

bool
pushing_proof_new(struct request *r, const struct push *list,
    struct pushing_proof **proof)
{
	struct pushing_proof *p = calloc(1, sizeof(*p));
	enum err err;

	*proof = NULL;
	if (p == NULL ||
	    timer_init(&p->turn, r->flow->loop, on_turn, p, &err) != 0) {
		free(p);
		return false;
	}
	p->r = r;
	p->list = list;
	p->commands = prove_commands(list);
	bool good = p->commands != NULL &&
	    prove_rule_init(&p->rule, r->generation->program, r->verdict.rule);
	bool wants =
	    good && prove_wants_pack(&p->rule, p->commands, list->n_commands);
	good = good && (!wants || start(p));
	if (good && wants) {
		take_place(p);
		*proof = p;
		return true;
	}
	release(p);
	timer_release(&p->turn);
	free(p);
	return good;
}

void
pushing_proof_free(struct pushing_proof *p)
{
	if (p == NULL)
		return;
	leave(p);
	release(p);
	timer_release(&p->turn);
	free(p);
}

enum parse
pushing_proof_take(struct pushing_proof *p, struct slice in, size_t *used,
    size_t *pass, struct parse_fail *fail)
{
	enum parse got = pack_take(p->pack, in, used, pass, fail);

	if (*used != 0)
		p->moved_ms = clock_ms();
	if (got == PARSE_MORE && *used < in.n)
		rest(p);
	return got;
}

bool
pushing_proof_is_whole(const struct pushing_proof *p)
{
	return p->pack == NULL || pack_is_done(p->pack);
}

struct slice
pushing_proof_trailer(const struct pushing_proof *p)
{
	return slice_of(p->trailer, p->n_trailer);
}

const char *
pushing_proof_unanswered(const struct pushing_proof *p)
{
	return p->unanswered;
}

/* --- questions ----------------------------------------------------------- */

/* One question of prove_next()'s.  False: it cannot be asked. */
static bool
ask(struct pushing_proof *p, enum prove_next next, struct slice body)
{
	if (p->inquire == NULL)
		p->inquire = inquire_new(p->r);
	if (p->inquire == NULL ||
	    !inquire_ask(p->inquire, next == PROVE_ASK_OFFER, body))
		return false;
	p->asked = next == PROVE_ASK_OFFER ? ASKED_OFFER :
	    next == PROVE_ASK_HEAD	   ? ASKED_HEAD :
					     ASKED_OBJECTS;
	if (p->asked != ASKED_OBJECTS)
		return true;
	struct pack *pack = prove_answer(p->prove);
	if (pack != NULL)
		answer_init(&p->answer, pack);
	return pack != NULL;
}

/* Of these `in` is all that has come, since nothing of it is taken before. */
static enum parse
read_small(struct pushing_proof *p, struct slice in, struct parse_fail *fail)
{
	struct question_caps caps;
	struct oid head;
	enum parse got;

	if (p->asked == ASKED_OFFER) {
		got = question_caps_take(in, &caps, fail);
		if (got == PARSE_DONE)
			prove_offer(p->prove, &caps);
	} else {
		got = question_head_take(in, p->cfg.id_size, &head, fail);
		if (got == PARSE_DONE)
			prove_head(p->prove, &head);
	}
	return got;
}

static enum parse
read_objects(struct pushing_proof *p, struct slice in, struct parse_fail *fail)
{
	size_t used;
	enum parse got = answer_take(&p->answer, in, &used, fail);

	if (got == PARSE_BAD)
		return got;
	inquire_take(p->inquire, used);
	if (got == PARSE_MORE && (p->answer.done != 0 || used != 0))
		rest(p);
	return got;
}

/*
 * The answer to what was asked.  PARSE_DONE: it was read, or never will be, and
 * prove_next() knows.
 */
static enum parse
read_answer(struct pushing_proof *p)
{
	struct parse_fail fail;
	struct slice in;
	enum parse came = inquire_peek(p->inquire, &in, &fail);
	enum parse got = came;

	if (came != PARSE_BAD)
		got = p->asked == ASKED_OBJECTS ? read_objects(p, in, &fail) :
						  read_small(p, in, &fail);
	/* Of what is read as a whole no more would come. */
	bool is_full =
	    p->asked != ASKED_OBJECTS && in.n >= LIMIT_QUESTION_HEAD_SIZE;
	if (got == PARSE_MORE && !is_full &&
	    (came == PARSE_MORE || pushing_proof_is_resting(p)))
		return PARSE_MORE;
	/* Ended before it was whole: no answer either. */
	if (got != PARSE_DONE) {
		snprintf(p->unanswered, sizeof(p->unanswered), "%s",
		    got == PARSE_BAD ? fail.detail :
				       "the answer to duenna's own question "
				       "is no whole one");
		prove_unanswered(p->prove);
	}
	p->asked = ASKED_NOTHING;
	return PARSE_DONE;
}

static enum parse
refuse(struct prove_fail *fail, enum reason reason, const char *detail)
{
	*fail = (struct prove_fail){ .reason = reason,
		.detail = detail,
		.command = SIZE_MAX };
	return PARSE_BAD;
}

/* All is shown.  The server may take its time with its answer. */
static void
end(struct pushing_proof *p)
{
	if (p->pack != NULL) {
		struct slice trailer = pack_trailer(p->pack);
		memcpy(p->trailer, trailer.p, trailer.n);
		p->n_trailer = trailer.n;
	}
	release(p);
	leave(p);
}

/* Ask prove_next() and do what it says. */
static enum parse
prove_on(struct pushing_proof *p, struct prove_fail *fail)
{
	struct buf body;

	buf_init(&body, LIMIT_QUESTION_HEAD_SIZE);
	enum prove_next next = prove_next(p->prove, &body, fail);
	bool asked = next >= PROVE_ASK_OFFER && !body.failed &&
	    ask(p, next, buf_slice(&body));
	buf_release(&body);
	if (next == PROVE_SHOWN) {
		end(p);
		return PARSE_DONE;
	}
	if (next == PROVE_REFUSED)
		return PARSE_BAD;
	if (!asked)
		prove_unanswered(p->prove);
	rest(p);
	return PARSE_MORE;
}

enum parse
pushing_proof_run(struct pushing_proof *p, struct prove_fail *fail)
{
	if (pushing_proof_is_resting(p))
		return PARSE_MORE;
	if (p->prove == NULL) {
		p->prove = prove_new(&p->rule, p->commands, p->list->n_commands,
		    p->pack, &p->cfg);
		if (p->prove == NULL)
			return refuse(fail, REASON_INTERNAL, "out of memory");
	}
	/* Each step of it may do much work: one a turn. */
	if (p->asked != ASKED_NOTHING) {
		if (read_answer(p) == PARSE_DONE)
			rest(p);
		return PARSE_MORE;
	}
	return prove_on(p, fail);
}
