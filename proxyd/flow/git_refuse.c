/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What git, or git-lfs, shows of a refusal: at `info/refs` each line of a text
 * in text/plain, of LFS the message in its own JSON, and of a 404 to
 * `locks/verify` nothing.  Whatever the client accepts, since git asks for
 * anything and shows no other type.
 */
#include "base/json.h"
#include "cred/foreign.h"
#include "flow/git.h"
#include "flow/request.h"
#include "git/say.h"

#define LFS_TYPE "application/vnd.git-lfs+json"
#define LFS_VERIFY SLICE("/locks/verify")

/* It was asked of policy, and policy said no. */
static bool
is_denied(const struct request *r)
{
	return !r->verdict.allow && r->facts.fault == REASON_ALLOW;
}

/* git-lfs goes on without locks where there are none, and warns of a 403. */
unsigned
git_refusal_status(const struct request *r)
{
	struct slice path = r->facts.path;
	size_t n = LFS_VERIFY.n;

	if (r->git.service != GITPATH_LFS || !is_denied(r) || path.n < n ||
	    !slice_eq(slice_from(path, path.n - n), LFS_VERIFY))
		return 0;
	return 404;
}

/* Where the client's own credential stood that is refused. */
static void
put_slots(const struct request *r, struct buf *out)
{
	const char *before = "duenna: the client's own stood in ";

	if (r->verdict.reason != REASON_CRED_CLIENT_AUTH ||
	    r->x.refusal.code_only)
		return;
	for (unsigned i = 0; i < FOREIGN_SLOT_COUNT; i++) {
		if ((r->facts.foreign >> i & 1) == 0)
			continue;
		buf_putf(out, "%s%s", before,
		    foreign_name((enum foreign_slot)i));
		before = ", ";
	}
	if (r->facts.foreign != 0)
		buf_put_byte(out, '\n');
}

static void
put_lfs(const struct request *r, const struct say *say, struct buf *out)
{
	struct buf text;
	struct json j;

	buf_init(&text, REFUSAL_TEXT_MAX);
	if (is_denied(r))
		say_whole(say, &r->facts, &r->verdict, &text);
	else
		refusal_put_body(&r->x.refusal, r->flow->name, NULL, &text);
	json_init(&j, out);
	json_object_begin(&j);
	json_key_text(&j, "message", buf_slice(&text));
	json_object_end(&j);
	buf_put_byte(out, '\n');
	buf_release(&text);
}

void
git_refusing(struct request *r)
{
	struct refusal *refusal = &r->x.refusal;

	if (r->git.service == GITPATH_NONE || refusal->type != NULL)
		return;
	const struct say say = { r->generation->program, r->flow->name };
	if (r->git.service == GITPATH_LFS) {
		put_lfs(r, &say, &refusal->first);
		refusal->type = LFS_TYPE;
		return;
	}
	if (!is_denied(r)) {
		refusal_put_body(refusal, r->flow->name, NULL, &refusal->first);
	} else {
		say_discovery(&say, &r->facts, &r->verdict, &refusal->first);
		put_slots(r, &refusal->first);
	}
	refusal->type = REFUSAL_TEXT;
}
