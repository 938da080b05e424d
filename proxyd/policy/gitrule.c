/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/gitrule.h"
#include "base/ascii.h"
#include "base/limits.h"
#include "policy/git.h"
#include "policy/gitref.h"
#include "policy/pathglob.h"
#include "policy/policy.h"

static uint32_t
flags_of(const struct image *m, uint32_t rule)
{
	uint32_t git = image_word(m, TABLE_RULES, rule, RULE_GIT);

	return git == IMAGE_NONE ? 0 :
				   image_word(m, TABLE_GIT, git, GIT_FLAG_BITS);
}

/* The host takes repositories in letters of either case for the same. */
static bool
folds(const struct image *m, uint32_t rule, const struct walk_git *named)
{
	uint32_t git = image_word(m, TABLE_RULES, rule, RULE_GIT);

	/* What denies, denies every spelling. */
	return git == IMAGE_NONE || named->folds ||
	    image_word(m, TABLE_GIT, git, GIT_FORGE) != FORGE_NONE;
}

bool
gitrule_names(const struct image *m, uint32_t route, const struct walk_git *git)
{
	uint32_t rule = image_word(m, TABLE_ROUTES, route, ROUTE_RULE);

	return pathglob_match(image_string(m, TABLE_ROUTES, route,
				  ROUTE_PATH_S),
	    folds(m, rule, git) ? git->lowered : git->bare);
}

/* A batch of objects is read by whoever may do either: its body says which. */
static bool
grants_lfs(uint32_t flags, enum gitpath_lfs what)
{
	static const uint32_t wanted[GITPATH_LFS_KINDS] = {
		[GITPATH_LFS_BATCH] = GIT_LFS_READ,
		[GITPATH_LFS_DOWNLOAD] = GIT_LFS_READ,
		[GITPATH_LFS_UPLOAD] = GIT_LFS_WRITE,
		[GITPATH_LFS_VERIFY] = GIT_LFS_WRITE,
	};

	return (flags & wanted[what]) != 0;
}

static bool
grants(uint32_t flags, const struct gitpath *is)
{
	static const uint32_t wanted[GITPATH_SERVICES] = {
		[GITPATH_FETCH] = GIT_FETCH,
		[GITPATH_PUSH] = GIT_PUSH,
		[GITPATH_ARCHIVE] = GIT_ARCHIVE,
	};

	return is->service == GITPATH_LFS ? grants_lfs(flags, is->lfs) :
					    (flags & wanted[is->service]) != 0;
}

enum progress
gitrule_walk(const struct image *m, uint32_t route,
    const struct walk_request *r)
{
	uint32_t rule = image_word(m, TABLE_ROUTES, route, ROUTE_RULE);

	/* None of git's is an upgrade, whatever it says. */
	if (r->git.is.service == GITPATH_NONE || r->facts->upgrade ||
	    !gitrule_names(m, route, &r->git))
		return PROGRESS_SCHEME;
	if (walk_is_deny(m, route))
		return PROGRESS_ALL;
	if (!grants(flags_of(m, rule), &r->git.is))
		return PROGRESS_PATH;
	return PROGRESS_ALL;
}

/* Does some pattern of the list match `text`, behind a slash? */
static bool
list_has(const struct image *m, uint32_t rule, enum git_list list,
    struct slice text)
{
	uint32_t git = image_word(m, TABLE_RULES, rule, RULE_GIT);
	uint8_t slashed[LIMIT_PUSH_OPTION_SIZE + 1];

	if (git == IMAGE_NONE || text.n > LIMIT_PUSH_OPTION_SIZE)
		return false;
	uint32_t first = image_word(m, TABLE_GIT, git, GIT_LIST + 2 * list);
	uint32_t n = image_word(m, TABLE_GIT, git, GIT_LIST + 2 * list + 1);
	slashed[0] = '/';
	if (text.n != 0)
		memcpy(slashed + 1, text.p, text.n);
	for (uint32_t i = first; i < first + n; i++)
		if (pathglob_match(image_string(m, TABLE_TEXTS, i, TEXT_GLOB_S),
			slice_of(slashed, text.n + 1)))
			return true;
	return false;
}

enum reason
gitrule_command(const struct image *m, uint32_t rule,
    const struct git_command *c)
{
	static const uint32_t wanted[GIT_COMMAND_KINDS] = {
		[GIT_COMMAND_CREATE] = GIT_CREATE,
		[GIT_COMMAND_UPDATE] = GIT_UPDATE,
		[GIT_COMMAND_DELETE] = GIT_DELETE,
	};
	uint32_t need = wanted[c->kind];

	if (!gitref_is_good(c->ref) || !list_has(m, rule, GIT_REFS, c->ref))
		return REASON_GIT_REF;
	/* A tag that moves is no fast-forward of anything. */
	if (c->kind == GIT_COMMAND_UPDATE &&
	    slice_has_prefix(c->ref, GITREF_TAGS))
		need |= GIT_FORCE;
	return (flags_of(m, rule) & need) == need ? REASON_ALLOW :
						    REASON_GIT_UPDATE;
}

static enum reason
judge_options(const struct image *m, uint32_t rule,
    const struct facts_push *push)
{
	uint32_t git = image_word(m, TABLE_RULES, rule, RULE_GIT);
	uint32_t n =
	    image_word(m, TABLE_GIT, git, GIT_LIST + 2 * GIT_OPTIONS + 1);

	/* They were not offered: no client of git's asks for them then. */
	if (push->has_options && n == 0)
		return REASON_GIT_MALFORMED;
	for (uint32_t i = 0; i < push->n_options; i++)
		if (!list_has(m, rule, GIT_OPTIONS, push->options[i]))
			return REASON_GIT_UPDATE;
	return REASON_ALLOW;
}

static enum reason
judge_push(const struct image *m, uint32_t rule, const struct facts_push *push,
    uint32_t *command)
{
	uint32_t git = image_word(m, TABLE_RULES, rule, RULE_GIT);

	if (push->n_commands > image_word(m, TABLE_GIT, git, GIT_MAX_COMMANDS))
		return REASON_LIMIT_BYTES;
	for (uint32_t i = 0; i < push->n_commands; i++) {
		enum reason why = gitrule_command(m, rule, &push->commands[i]);
		if (why == REASON_ALLOW)
			continue;
		*command = i;
		return why;
	}
	return judge_options(m, rule, push);
}

enum reason
gitrule_push(const struct image *m, uint32_t rule, const struct facts *f,
    uint32_t *command)
{
	*command = VERDICT_NONE;
	if (f->kind != FACTS_PUSH && f->kind != FACTS_COMMAND)
		return REASON_ALLOW;
	/* It would be of a rule that says nothing of refs. */
	if (image_word(m, TABLE_RULES, rule, RULE_GIT) == IMAGE_NONE)
		return REASON_INTERNAL;
	if (f->kind == FACTS_COMMAND)
		return gitrule_command(m, rule, &f->command);
	if (f->push == NULL || f->push->n_commands == 0)
		return REASON_INTERNAL;
	return judge_push(m, rule, f->push, command);
}

void
gitrule_seek(struct seek *s, const struct walk_git *git)
{
	if (git->bare.n == 0)
		return;
	seek_path(s, git->lowered, true);
	if (!slice_eq(git->lowered, git->bare))
		seek_path(s, git->bare, true);
}

static bool
is_of_git(const struct image *m, uint32_t route, const struct facts *f)
{
	return image_word(m, TABLE_ROUTES, route, ROUTE_SCHEME) == SCHEME_GIT &&
	    walk_connect(m, route, f) == PROGRESS_SCHEME;
}

/* Is a rule of git+https there at all? */
static bool
has_rules(const struct image *m, const struct host_matches *found,
    const struct facts *f)
{
	COUNTED struct walk w;

	walk_init_heads(&w, m, found, f);
	for (uint32_t r = walk_next(&w); r != IMAGE_NONE; r = walk_next(&w))
		if (is_of_git(m, r, f))
			return true;
	return false;
}

/* Does one that allows name the repository? */
static bool
is_named(const struct walk_request *r, const struct image *m,
    const struct host_matches *found)
{
	COUNTED struct seek s;

	seek_init(&s, m, found, r->facts, r->facts->port);
	gitrule_seek(&s, &r->git);
	for (uint32_t i = seek_next(&s); i != IMAGE_NONE; i = seek_next(&s))
		if (is_of_git(m, i, r->facts) && !walk_is_deny(m, i) &&
		    gitrule_names(m, i, &r->git))
			return true;
	return false;
}

enum reason
walk_prepare_git(struct walk_request *r, const struct image *m,
    const struct host_matches *found, uint8_t *lowered)
{
	const struct facts *f = r->facts;
	struct gitpath_request request = { f->method, f->path, f->has_query,
		f->query };
	struct parse_fail fail = { .reason = REASON_ALLOW };

	enum parse got = gitpath_read(&request, &r->git.is, &fail);
	if (f->path.n > LIMIT_PATH_SIZE)
		return REASON_ALLOW; /* it matches nothing */
	if (got == PARSE_DONE && r->git.is.service == GITPATH_NONE)
		return REASON_ALLOW;
	r->git.bare = gitpath_bare(r->git.is.repository);
	for (size_t i = 0; i < r->git.bare.n; i++)
		lowered[i] = ascii_lower(r->git.bare.p[i]);
	r->git.lowered = slice_of(lowered, r->git.bare.n);
	r->git.folds = git_forge_of_host(f->host) != FORGES;
	if (!has_rules(m, found, f)) {
		r->git.is.service = GITPATH_NONE;
		return REASON_ALLOW;
	}
	r->git.named = is_named(r, m, found);
	return got == PARSE_BAD ? fail.reason : REASON_ALLOW;
}
