/* SPDX-License-Identifier: Apache-2.0 */
#include "git/content.h"
#include "base/wr.h"
#include "git/commit.h"
#include "policy/pathglob.h"

#define ADDRESS 321 /* bytes of a slash and an e-mail address, RFC 3696 3 */

static bool
is_one_of(const struct slice *patterns, size_t n, struct slice address)
{
	uint8_t text[ADDRESS];
	struct wr w = wr_of(text, sizeof(text));

	wr_u8(&w, '/'); /* as the patterns begin */
	wr_bytes(&w, address);
	for (size_t i = 0; !w.bad && i < n; i++) {
		if (pathglob_match(patterns[i], wr_slice(&w)))
			return true;
	}
	return n == 0;
}

/* What is wrong with the object, or NULL. */
static const char *
fault_of(const struct object *o, size_t id_size, const struct content_rule *r)
{
	struct slice content = object_content(o);
	struct parse_fail fail;
	struct commit c;
	struct tag t;

	if (o->kind == OBJECT_COMMIT) {
		if (!commit_read(content, id_size, &c, &fail))
			return fail.detail;
		if (!is_one_of(r->authors, r->n_authors, c.author))
			return "author of a commit";
		if (!is_one_of(r->committers, r->n_committers, c.committer))
			return "committer of a commit";
		return r->is_signed && !c.is_signed ?
		    "commit without signature" :
		    NULL;
	}
	if (!tag_read(content, id_size, &t, &fail))
		return fail.detail;
	if (!is_one_of(r->committers, r->n_committers, t.tagger))
		return "tagger of a tag";
	return r->is_signed && !t.is_signed ? "tag without signature" : NULL;
}

enum proof
content_fits(const struct packs *packs, const struct content_rule *rule,
    struct parse_fail *fail)
{
	const struct pack *p = packs->pushed;
	const struct object *o;

	if (p == NULL)
		return PROOF_YES;
	const struct pack_facts *f = pack_facts(p);
	if (rule->max_file != 0 && f->largest > rule->max_file) {
		*fail = (struct parse_fail){ REASON_GIT_PACK,
			"file is too large", 0 };
		return PROOF_NO;
	}
	if (rule->n_authors == 0 && rule->n_committers == 0 && !rule->is_signed)
		return PROOF_YES;
	for (size_t i = 0; (o = pack_nth(p, i)) != NULL; i++) {
		const char *fault = o->kind == OBJECT_TREE ?
		    NULL :
		    fault_of(o, packs->id_size, rule);
		if (fault != NULL) {
			*fail = (struct parse_fail){ REASON_GIT_PACK, fault,
				(size_t)o->at };
			return PROOF_NO;
		}
	}
	return f->n_unknown == 0 && f->unread[OBJECT_COMMIT] == 0 &&
		f->unread[OBJECT_TAG] == 0 ?
	    PROOF_YES :
	    PROOF_OPEN;
}
