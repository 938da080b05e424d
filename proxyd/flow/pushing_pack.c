/* SPDX-License-Identifier: Apache-2.0 */
/* The pack of a push on its way: read, if a rule wants that, and counted. */
#include "flow/pushing_inside.h"

static enum parse
bad(struct parse_fail *fail, enum reason reason, const char *detail)
{
	*fail = (struct parse_fail){ reason, detail, 0 };
	return PARSE_BAD;
}

/* Of these the body's bytes go on as they are. */
static enum parse
pass_on(struct pushing *p, size_t room, struct slice *out,
    struct parse_fail *fail)
{
	struct slice in;
	enum parse got = pushing_body_peek(&p->body, &in, fail);

	*out = slice_first(in, room);
	p->n_given = out->n;
	p->pack_bytes += out->n;
	if (got == PARSE_DONE && p->pack_bytes == 0)
		return bad(fail, REASON_GIT_MALFORMED, "no pack");
	return got;
}

/* All of the pack was taken, and nothing may follow it. */
static enum parse
prove(struct pushing *p, struct slice *out, struct parse_fail *fail)
{
	struct prove_fail why = { .command = SIZE_MAX };

	switch (pushing_proof_run(p->proof, &why)) {
	case PARSE_MORE:
		return PARSE_MORE;
	case PARSE_DONE:
		*out = pushing_proof_trailer(p->proof);
		return PARSE_DONE;
	case PARSE_BAD:
		break;
	}
	pushing_say_proof(p, &why);
	return bad(fail, why.reason, why.detail);
}

static enum parse
refuse_pack(struct pushing *p, struct parse_fail *fail)
{
	const struct prove_fail why = { fail->reason, fail->detail, SIZE_MAX };

	pushing_say_proof(p, &why);
	return PARSE_BAD;
}

/* Read on in the pack: what of it passes, or what is wrong with it. */
static enum parse
read_on(struct pushing *p, size_t room, struct slice *out,
    struct parse_fail *fail)
{
	size_t used = 0, pass = 0;
	struct slice in;

	while (!pushing_proof_is_resting(p->proof)) {
		enum parse got = pushing_body_peek(&p->body, &in, fail);
		if (got == PARSE_BAD || (got == PARSE_MORE && in.n == 0))
			return got;
		if (got == PARSE_DONE && pushing_proof_is_whole(p->proof))
			return prove(p, out, fail);
		if (got == PARSE_DONE) {
			(void)bad(fail, REASON_GIT_PACK, "the pack is cut");
			return refuse_pack(p, fail);
		}
		in = slice_first(in, room);
		if (pushing_proof_take(p->proof, in, &used, &pass, fail) ==
		    PARSE_BAD)
			return refuse_pack(p, fail);
		*out = slice_first(in, pass);
		p->n_given = used;
		p->pack_bytes += used;
		if (pass != 0)
			break;
		/* Of the trailer, which stays here. */
		pushing_body_take(&p->body, used);
		p->n_given = 0;
	}
	return PARSE_MORE;
}

enum parse
pushing_pack_next(struct pushing *p, size_t room, struct slice *out,
    struct parse_fail *fail)
{
	enum parse got;

	if (p->n_given != 0)
		pushing_body_take(&p->body, p->n_given);
	p->n_given = 0;
	*out = (struct slice){ 0 };
	got = p->proof == NULL ? pass_on(p, room, out, fail) :
				 read_on(p, room, out, fail);
	if (got == PARSE_BAD || p->rule.max_pack == 0 ||
	    p->pack_bytes <= p->rule.max_pack)
		return got;
	(void)bad(fail, REASON_LIMIT_BYTES,
	    "the pack is larger than the rule's `max_pack`");
	return refuse_pack(p, fail);
}
