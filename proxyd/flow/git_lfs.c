/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/git_lfs.h"
#include "base/ascii.h"
#include "flow/request.h"
#include "git/lfs.h"
#include "policy/git.h"

/* A question: read as a whole, and what goes up instead. */
struct git_lfs {
	bool writes; /* the rule lets objects be uploaded */
	size_t n, given;
	uint8_t held[LIMIT_LFS_ASK_SIZE], written[LIMIT_LFS_ASK_SIZE];
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

bool
git_lfs_prepare(struct request *r)
{
	struct git_rule says;

	if (!git_lfs_is_batch(r))
		return true;
	r->lfs = calloc(1, sizeof(*r->lfs));
	if (r->lfs == NULL)
		return false;
	r->lfs->writes =
	    git_rule(r->generation->program, r->verdict.rule, &says) &&
	    says.lfs_write;
	r->x.reads = true;
	return true;
}

void
git_lfs_free(struct git_lfs *l)
{
	free(l);
}

static void
refuse(struct request *r, const struct parse_fail *fail)
{
	exchange_refuse(&r->x, fail->reason, fail->detail);
}

/* It is whole: may it go up? */
static void
judge(struct request *r)
{
	struct git_lfs *l = r->lfs;
	struct wr w = wr_of(l->written, sizeof(l->written));
	struct parse_fail fail;
	struct lfs_ask ask;

	if (lfs_ask_read(slice_of(l->held, l->n), &ask, &w, &fail) !=
	    PARSE_DONE) {
		refuse(r, &fail);
		return;
	}
	if (ask.upload && !l->writes) {
		exchange_refuse(&r->x, REASON_GIT_SERVICE,
		    "the rule has `lfs: read`: nothing is uploaded");
		return;
	}
	l->n = w.n;
	exchange_feed(&r->x, HTTP_BODY_LENGTH, l->n);
	exchange_allow(&r->x);
}

void
git_lfs_read(struct request *r)
{
	struct git_lfs *l = r->lfs;
	struct parse_fail fail;
	struct slice in;
	enum parse p = exchange_pull(&r->x, &in, &fail);

	while (p == PARSE_MORE && in.n != 0) {
		if (in.n > sizeof(l->held) - l->n) {
			exchange_refuse(&r->x, REASON_LIMIT_BYTES,
			    "a batch of LFS over the limit");
			return;
		}
		memcpy(l->held + l->n, in.p, in.n);
		l->n += in.n;
		exchange_pulled(&r->x, in.n);
		p = exchange_pull(&r->x, &in, &fail);
	}
	if (p == PARSE_BAD)
		refuse(r, &fail);
	else if (p == PARSE_DONE)
		judge(r);
}

enum parse
git_lfs_feed(struct request *r, size_t room, struct slice *out)
{
	struct git_lfs *l = r->lfs;

	*out =
	    slice_first(slice_of(l->written + l->given, l->n - l->given), room);
	l->given += out->n;
	return l->given == l->n ? PARSE_DONE : PARSE_MORE;
}

static void
free_stage(struct stage *stage)
{
	free(stage);
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
