/* SPDX-License-Identifier: Apache-2.0 */
/* What a git server answers: its advertisement, its 401, its redirect. */
#include "base/ascii.h"
#include "cred/mask.h"
#include "flow/git.h"
#include "flow/git_lfs.h"
#include "flow/record.h"
#include "flow/request.h"
#include "git/advert.h"

/*
 * Each line may become longer by the one LF that it came without; the shortest
 * that goes on has nine bytes.  Behind this stage the mask holds some, too.
 */
#define ADVERT_MOST ((LIMIT_ADVERT_LINE_SIZE + STAGE_TAKE_MAX) / 9 * 10)
_Static_assert(ADVERT_MOST - STAGE_TAKE_MAX + MASK_HOLD_MAX <= STAGE_HOLD_MAX,
    "more is held than there is room for");

struct advert_stage {
	struct stage stage; /* first */
	struct advert advert;
};

/* --- the advertisement --------------------------------------------------- */

static bool
take_advert(struct stage *s, struct slice in, bool last, struct buf *out,
    struct parse_fail *fail)
{
	struct advert *a = &((struct advert_stage *)s)->advert;

	if (in.n != 0 && advert_take(a, in, out, fail) == PARSE_BAD)
		return false;
	if (advert_held(a) > LIMIT_ADVERT_LINE_SIZE) {
		*fail = (struct parse_fail){ REASON_LIMIT_BYTES,
			"line of an advertisement over the limit", 0 };
		return false;
	}
	return !last || advert_end(a, fail) == PARSE_DONE;
}

static void
free_advert(struct stage *s)
{
	struct advert_stage *a = (struct advert_stage *)s;

	advert_release(&a->advert);
	free(a);
}

static struct stage *
advert_stage_new(const struct request *r)
{
	static const struct stage_ops ops = { take_advert, free_advert };
	struct advert_stage *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->stage.ops = &ops;
	advert_init(&a->advert, r->generation->program, r->verdict.rule,
	    r->git.service == GITPATH_PUSH);
	return &a->stage;
}

/* --- answers ------------------------------------------------------------- */

/* `text` is for people, and of ours. */
static bool
refuse(struct request *r, unsigned status, enum reason reason, const char *text)
{
	struct refusal *refusal = &r->x.refusal;

	refusal->status = status;
	buf_put_str(&refusal->policy, text);
	if (r->verdict.rule != VERDICT_NONE)
		refusal->rule =
		    program_rule(r->generation->program, r->verdict.rule).name;
	exchange_refuse(&r->x, reason, text);
	return false;
}

/* Never a 401: git would ask for a name, and show nothing else. */
static bool
refuse_unauthorised(struct request *r)
{
	static const char ours[] =
	    "the server did not take duenna's credential for this repository";
	static const char none[] =
	    "the server wants a credential, and the rule for this repository "
	    "has none";
	bool has = r->verdict.n_credentials != 0;

	if (has)
		record_alarm(r, REASON_CRED_UNAVAILABLE, ours);
	return refuse(r, 403, REASON_CRED_UNAVAILABLE, has ? ours : none);
}

/* The field stands once, and says just that. */
static bool
says(struct field_list *fields, struct slice name, struct slice value)
{
	const struct field *f = field_find(fields, name);

	return f != NULL && field_count(fields, name) == 1 &&
	    slice_eq(f->value, value);
}

/* git takes a type with parameters for the same: what is not read is refused. */
static bool
is_advert(struct request *r)
{
	struct http_response *res = &r->x.res;
	struct slice type = r->git.service == GITPATH_PUSH ?
	    SLICE("application/x-git-receive-pack-advertisement") :
	    SLICE("application/x-git-upload-pack-advertisement");
	bool empty = res->body == HTTP_BODY_NONE ||
	    (res->body == HTTP_BODY_LENGTH && res->length == 0);

	return res->status == 200 && !empty &&
	    says(&res->fields, SLICE("content-type"), type);
}

static bool
discovered(struct request *r)
{
	struct field_list *fields = &r->x.res.fields;
	struct slice coding = SLICE("content-encoding");

	if (!is_advert(r))
		return refuse(r, 502, REASON_UP_RESPONSE,
		    "the server does not answer in git's smart HTTP");
	if (field_find(fields, coding) != NULL &&
	    !says(fields, coding, SLICE("identity")))
		return refuse(r, 502, REASON_UP_RESPONSE,
		    "an encoded advertisement cannot be read; identity was "
		    "asked for");
	struct stage *stage = advert_stage_new(r);
	if (stage == NULL)
		return refuse(r, 0, REASON_INTERNAL, "out of memory");
	stages_add(&r->x.down.stages, stage);
	r->x.new_length = true;
	return true;
}

bool
git_answered(struct request *r)
{
	unsigned status = r->x.res.status;

	if (r->git.service == GITPATH_NONE)
		return true;
	(void)field_remove(&r->x.res.fields, SLICE("www-authenticate"));
	if (status < 200)
		return true;
	if (status == 401 || status == 407)
		return refuse_unauthorised(r);
	/* The client comes back with a fetch, and is judged again. */
	if (status / 100 == 3 && r->git.service == GITPATH_PUSH)
		return refuse(r, 403, REASON_UP_RESPONSE,
		    "the repository moved; change the policy");
	const char *why = git_lfs_answered(r);
	if (why != NULL)
		return refuse(r, 502, REASON_UP_RESPONSE, why);
	return status / 100 != 2 || !r->git.discover || discovered(r);
}
