/* SPDX-License-Identifier: Apache-2.0 */
/* `fetch`, `push` and the rest of a rule of git+https. */
#include "load/read_git.h"
#include "base/limits.h"
#include "load/pattern.h"
#include "policy/git.h"

static const char *const git_keys[] = { "fetch", "push", "lfs", "archive",
	"hide_other_refs", "forge", "api" };

bool
rule_is_git(const struct load_rule *rule)
{
	return rule->n_patterns != 0 && rule->patterns[0].scheme == SCHEME_GIT;
}

/* All of a rule's patterns are of git's requests, or none. */
static bool
check_patterns(const struct read *r, const struct load_rule *rule)
{
	for (uint32_t i = 1; i < rule->n_patterns; i++) {
		const struct load_pattern *p = &rule->patterns[i];
		if ((p->scheme == SCHEME_GIT) == rule_is_git(rule))
			continue;
		load_error(r->report, p->at,
		    "`%.*s` and `%.*s` in one rule: write one for `git+https` "
		    "and one for the rest",
		    SLICE_ARG(rule->patterns[0].text), SLICE_ARG(p->text));
		return false;
	}
	return true;
}

static bool
refuse_keys(const struct read *r, const struct doc_node *node, bool git)
{
	static const char *const others[] = { "methods", "query", "signed_url",
		"encoded_slash", "report" };
	const char *const *keys = git ? others : git_keys;
	size_t n = git ? COUNT_OF(others) : COUNT_OF(git_keys);
	bool good = true;

	for (size_t i = 0; i < n; i++) {
		const struct doc_node *key = read_find_key(node, keys[i]);
		if (key == NULL)
			continue;
		good = git ?
		    read_refuse(r, key,
			"`%s` says nothing of `git+https`: what git asks for "
			"is allowed by `fetch` and `push`",
			keys[i]) :
		    read_refuse(r, key,
			"`%s` is a key of a rule with `git+https://` URLs",
			keys[i]);
	}
	return good;
}

static bool
read_flag(const struct read *r, const struct doc_node *node, const char *key,
    enum git_flag flag, struct load_git *git)
{
	const struct doc_node *value = read_find(node, key);
	bool on = false;

	if (value == NULL)
		return true;
	if (!read_bool(r, value, &on))
		return false;
	git->flags &= ~(uint32_t)flag;
	git->flags |= on ? (uint32_t)flag : 0;
	return true;
}

/* What writes reads, too: an upload begins with the question what is there. */
static bool
read_lfs(const struct read *r, const struct doc_node *node,
    struct load_git *git)
{
	const struct doc_node *value = read_find(node, "lfs");
	struct slice text;

	if (value == NULL)
		return true;
	if (!read_scalar(r, value, "`false`, `read` or `write`", &text))
		return false;
	if (slice_eq_str(text, "read"))
		git->flags |= GIT_LFS_READ;
	else if (slice_eq_str(text, "write"))
		git->flags |= GIT_LFS_READ | GIT_LFS_WRITE;
	else if (!slice_eq_str(text, "false"))
		return read_refuse(r, value,
		    "expected `false`, `read` or `write`, found `%.*s`",
		    SLICE_ARG(text));
	return true;
}

/* Objects belong to what is fetched or pushed. */
static bool
check_lfs(const struct read *r, const struct doc_node *node,
    const struct load_git *git)
{
	bool write = (git->flags & GIT_LFS_WRITE) != 0;
	uint32_t wanted = write ? GIT_PUSH : GIT_FETCH;

	if ((git->flags & GIT_LFS_READ) == 0 || (git->flags & wanted) != 0)
		return true;
	return read_refuse(r, read_find_key(node, "lfs"),
	    "`lfs: %s` wants `%s`", write ? "write" : "read",
	    write ? "push:" : "fetch: true");
}

/* The side doors: policy/gitapi.h. */
static bool
read_api(const struct read *r, const struct doc_node *node,
    struct load_git *git)
{
	const struct doc_node *value = read_find(node, "api");
	struct slice text;

	if (value == NULL)
		return true;
	if (!read_scalar(r, value, "`refuse` or `follow`", &text))
		return false;
	if (slice_eq(text, SLICE("follow")))
		git->flags |= GIT_API_FOLLOW;
	return (git->flags & GIT_API_FOLLOW) != 0 ||
	    slice_eq(text, SLICE("refuse")) ||
	    read_refuse(r, value, "expected `refuse` or `follow`, found `%.*s`",
		SLICE_ARG(text));
}

static bool
read_forge(const struct read *r, const struct doc_node *node,
    enum git_forge *forge)
{
	static const char expected[] =
	    "`github`, `gitlab`, `forgejo`, `bitbucket` or `none`";
	struct slice text;

	if (!read_scalar(r, node, expected, &text))
		return false;
	*forge = git_forge_find(text);
	if (*forge != FORGES)
		return true;
	struct nearest near = nearest_to(text);
	for (unsigned i = 0; i < FORGES; i++)
		nearest_look(&near,
		    slice_of_str(git_forge_name((enum git_forge)i)));
	return read_refuse(r, node, "unknown forge `%.*s`" NEAREST_FMT "%s%s",
	    SLICE_ARG(text), NEAREST_ARG(near),
	    near.best.n != 0 ? "" : "; expected ",
	    near.best.n != 0 ? "" : expected);
}

/*
 * A wildcard over hosts of forges: each is of its own forge, and so of none that
 * the rule could say; what is attached, or pushed, is not the same there.
 */
static bool
check_wildcard(const struct read *r, const struct doc_node *node,
    const struct load_pattern *p, enum git_forge forge)
{
	const char *name = NULL;
	struct load_host one = { .kind = HOST_EXACT };

	for (unsigned i = 0; (name = git_forge_host(i)) != NULL; i++) {
		one.text = one.behind = slice_of_str(name);
		if (pattern_host_covers(&p->host, &one))
			break;
	}
	if (name == NULL)
		return true;
	if (forge != FORGES || read_find_key(node, "credential") != NULL)
		load_error(r->report, p->at,
		    "`%.*s` covers `%s`: %s wants a rule for that host alone",
		    SLICE_ARG(p->host.text), name,
		    forge != FORGES ? "`forge`" : "`credential`");
	else if (!slice_eq(pattern_lowered(r->arena, p->path), p->path))
		load_error(r->report, p->at,
		    "`%.*s` covers `%s`, where letters of either case are the "
		    "same: write the path in lower case",
		    SLICE_ARG(p->host.text), name);
	else
		return true;
	return false;
}

/* What each host says itself has to be what the rule says. */
static bool
check_hosts(const struct read *r, const struct doc_node *node,
    const struct load_rule *rule, enum git_forge *forge, bool *unknown)
{
	enum git_forge written = *forge;
	bool said = written != FORGES;

	for (uint32_t i = 0; i < rule->n_patterns; i++) {
		const struct load_pattern *p = &rule->patterns[i];
		enum git_forge own = git_forge_of_host(p->host.text);
		if (p->host.kind != HOST_EXACT &&
		    !check_wildcard(r, node, p, written))
			return false;
		if (own == FORGES) {
			*unknown = *unknown || !said;
			continue;
		}
		if (*forge != FORGES && *forge != own) {
			load_error(r->report, p->at,
			    "`%.*s` is of forge `%s`, and this rule is of "
			    "`%s`: write a rule of its own for it",
			    SLICE_ARG(p->host.text), git_forge_name(own),
			    git_forge_name(*forge));
			return false;
		}
		*forge = own;
	}
	return true;
}

/* How repositories are spelt there has to be known before one is compared. */
static bool
find_forge(const struct read *r, const struct doc_node *node,
    const struct load_rule *rule, struct load_git *git)
{
	const struct doc_node *value = read_find(node, "forge");
	const struct doc_node *push = read_find_key(node, "push");
	enum git_forge forge = FORGES;
	bool unknown = false;

	if (value != NULL && !read_forge(r, value, &forge))
		return false;
	if (!check_hosts(r, node, rule, &forge, &unknown))
		return false;
	if (push != NULL && (forge == FORGES || unknown))
		return read_refuse(r, push,
		    "`push` to a host that does not say what it is: write "
		    "`forge:` with `github`, `gitlab`, `forgejo`, `bitbucket` "
		    "or `none`");
	/* Else the API of the one would be looked at as that of the other. */
	if (unknown && forge != FORGES)
		return read_refuse(r, read_find_key(node, "allow"),
		    "hosts of `%s` and others that do not say what they are: "
		    "write one rule for those and one for the rest",
		    git_forge_name(forge));
	git->forge = forge == FORGES ? FORGE_NONE : forge;
	return true;
}

/* A host that takes letters of either case for one; what denies does, too. */
static void
fold_paths(const struct read *r, struct load_rule *rule)
{
	if (rule->git != NULL && rule->git->forge == FORGE_NONE)
		return;
	for (uint32_t i = 0; i < rule->n_patterns; i++)
		rule->patterns[i].path =
		    pattern_lowered(r->arena, rule->patterns[i].path);
}

bool
read_rule_git(const struct read *r, const struct doc_node *node,
    struct load_rule *rule)
{
	bool git = rule_is_git(rule);

	if (!check_patterns(r, rule))
		return false;
	if (!refuse_keys(r, node, git))
		return false;
	if (git && rule->deny)
		fold_paths(r, rule);
	if (!git || rule->deny)
		return true;
	rule->git = arena_alloc(r->arena, sizeof(*rule->git));
	*rule->git = (struct load_git){ .max_commands = LIMIT_PUSH_COMMANDS };
	const struct doc_node *push = read_find(node, "push");
	bool good = read_flag(r, node, "fetch", GIT_FETCH, rule->git);
	good = read_flag(r, node, "archive", GIT_ARCHIVE, rule->git) && good;
	good =
	    read_flag(r, node, "hide_other_refs", GIT_HIDE_REFS, rule->git) &&
	    good;
	good = read_lfs(r, node, rule->git) && good;
	good = read_api(r, node, rule->git) && good;
	good = find_forge(r, node, rule, rule->git) && good;
	good = (push == NULL || read_rule_push(r, push, rule->git)) && good;
	if (!good)
		return false;
	fold_paths(r, rule);
	if ((rule->git->flags & (GIT_FETCH | GIT_PUSH | GIT_ARCHIVE)) == 0)
		return read_refuse(r, node,
		    "the rule allows nothing: write `fetch: true`, `push:` or "
		    "both%s",
		    slice_eq_str(r->file, "--allow") ?
			"; `--allow` has no place for that: a policy file has "
			"(`duenna init`)" :
			"");
	if (!check_lfs(r, node, rule->git))
		return false;
	if ((rule->git->flags & GIT_API_FOLLOW) != 0 &&
	    ((rule->git->flags & GIT_DELETE) == 0 ||
		rule->git->forge == FORGE_NONE))
		return read_refuse(r, read_find_key(node, "api"),
		    "`api: follow` lets the API delete what a push may delete: "
		    "it wants `push:` with `delete: true`, and a forge");
	if ((rule->git->flags & GIT_HIDE_REFS) != 0 &&
	    (rule->git->flags & GIT_PUSH) == 0)
		return read_refuse(r, read_find_key(node, "hide_other_refs"),
		    "`hide_other_refs` says nothing without `push`: a fetch "
		    "is shown every ref");
	return true;
}
