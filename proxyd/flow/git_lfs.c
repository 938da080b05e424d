/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/git_lfs.h"
#include "base/ascii.h"
#include "flow/request.h"
#include "git/lfs.h"
#include "policy/git.h"

/* Of a question: all of it is held until it is whole. */
struct ask_stage {
	struct stage stage; /* first */
	bool writes;	    /* the rule lets objects be uploaded */
	size_t n;
	uint8_t held[LIMIT_LFS_ASK_SIZE];
};

struct answer_stage {
	struct stage stage; /* first */
	struct lfs_answer answer;
};

bool
git_lfs_is_batch(const struct request *r)
{
	return r->git.service == GITPATH_LFS && r->git.lfs == GITPATH_LFS_BATCH;
}

static bool
is_encoded(struct field_list *fields)
{
	const struct field *f = field_find(fields, SLICE("content-encoding"));

	return f != NULL && !ascii_eq_fold(f->value, SLICE("identity"));
}

enum reason
git_lfs_check(struct request *r, const char **detail)
{
	struct http_request *req = &r->x.req;

	if (!r->verdict.allow || !git_lfs_is_batch(r))
		return REASON_ALLOW;
	*detail = "a batch of LFS that is encoded, or has no body";
	if (is_encoded(&req->fields) || req->body == HTTP_BODY_NONE)
		return REASON_GIT_MALFORMED;
	*detail = "a batch of LFS over the limit";
	return req->body == HTTP_BODY_LENGTH &&
		req->length > LIMIT_LFS_ASK_SIZE ?
	    REASON_LIMIT_BYTES :
	    REASON_ALLOW;
}

static bool
end_ask(struct ask_stage *s, struct buf *out, struct parse_fail *fail)
{
	uint8_t written[LIMIT_LFS_ASK_SIZE];
	struct wr w = wr_of(written, sizeof(written));
	struct lfs_ask ask;

	if (lfs_ask_read(slice_of(s->held, s->n), &ask, &w, fail) != PARSE_DONE)
		return false;
	if (ask.upload && !s->writes) {
		*fail = (struct parse_fail){ REASON_GIT_SERVICE,
			"the rule has `lfs: read`: nothing is uploaded", 0 };
		return false;
	}
	return buf_put(out, wr_slice(&w));
}

static bool
take_ask(struct stage *stage, struct slice in, bool last, struct buf *out,
    struct parse_fail *fail)
{
	struct ask_stage *s = (struct ask_stage *)stage;

	if (in.n > sizeof(s->held) - s->n) {
		*fail = (struct parse_fail){ REASON_LIMIT_BYTES,
			"a batch of LFS over the limit", 0 };
		return false;
	}
	if (in.n != 0)
		memcpy(s->held + s->n, in.p, in.n);
	s->n += in.n;
	return !last || end_ask(s, out, fail);
}

static void
free_stage(struct stage *stage)
{
	free(stage);
}

bool
git_lfs_prepare(struct request *r)
{
	static const struct stage_ops ops = { take_ask, free_stage };
	struct git_rule says;
	struct ask_stage *s;

	if (!git_lfs_is_batch(r))
		return true;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return false;
	s->stage.ops = &ops;
	s->writes = git_rule(r->generation->program, r->verdict.rule, &says) &&
	    says.lfs_write;
	stages_add(&r->x.up.stages, &s->stage);
	return true;
}

static bool
take_answer(struct stage *stage, struct slice in, bool last, struct buf *out,
    struct parse_fail *fail)
{
	struct lfs_answer *a = &((struct answer_stage *)stage)->answer;

	return lfs_answer_take(a, in, out, fail) &&
	    (!last || lfs_answer_end(a, fail));
}

const char *
git_lfs_answered(struct request *r)
{
	static const struct stage_ops ops = { take_answer, free_stage };
	struct http_response *res = &r->x.res;
	struct answer_stage *s;

	if (!git_lfs_is_batch(r) || res->status < 200)
		return NULL;
	/* A redirect has no batch, and a client that follows is judged anew. */
	if (res->status / 100 == 3 || res->body == HTTP_BODY_NONE)
		return NULL;
	if (is_encoded(&res->fields))
		return "an encoded answer to a batch of LFS cannot be read; "
		       "identity was asked for";
	/* What is no batch says why in a text, which a token is masked in. */
	if (res->status / 100 != 2)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return "out of memory";
	s->stage.ops = &ops;
	lfs_answer_init(&s->answer);
	stages_add(&r->x.down.stages, &s->stage);
	return NULL;
}
