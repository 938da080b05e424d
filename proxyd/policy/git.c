/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/git.h"
#include "base/ascii.h"
#include "base/limits.h"
#include "policy/gitref.h"
#include "policy/gitrule.h"
#include "policy/inside.h"
#include "policy/pathglob.h"

static const struct {
	const char *name, *user;
} forges[FORGES] = {
	[FORGE_NONE] = { "none", "git" },
	[FORGE_GITHUB] = { "github", "x-access-token" },
	[FORGE_GITLAB] = { "gitlab", "oauth2" },
	[FORGE_FORGEJO] = { "forgejo", "git" }, /* any will do */
	[FORGE_BITBUCKET] = { "bitbucket", "x-token-auth" },
};

static const struct {
	const char *host;
	enum git_forge forge;
} hosts[] = {
	{ "github.com", FORGE_GITHUB },
	{ "gitlab.com", FORGE_GITLAB },
	{ "codeberg.org", FORGE_FORGEJO },
	{ "bitbucket.org", FORGE_BITBUCKET },
};

const char *
git_forge_host(unsigned i)
{
	return i < COUNT_OF(hosts) ? hosts[i].host : NULL;
}

enum git_forge
git_forge_of_host(struct slice host)
{
	for (size_t i = 0; i < COUNT_OF(hosts); i++)
		if (slice_eq_str(host, hosts[i].host))
			return hosts[i].forge;
	return FORGES;
}

const char *
git_forge_name(enum git_forge forge)
{
	return forges[forge].name;
}

enum git_forge
git_forge_find(struct slice name)
{
	unsigned i = 0;

	while (i < FORGES && !slice_eq_str(name, forges[i].name))
		i++;
	return (enum git_forge)i;
}

const char *
git_forge_user(enum git_forge forge)
{
	return forges[forge].user;
}

static uint32_t
record_of(const struct program *p, uint32_t rule)
{
	return image_word(&p->image, TABLE_RULES, rule, RULE_GIT);
}

bool
git_rule(const struct program *p, uint32_t rule, struct git_rule *git)
{
	const struct image *m = &p->image;
	uint32_t i = record_of(p, rule);

	if (i == IMAGE_NONE)
		return false;
	uint32_t flags = image_word(m, TABLE_GIT, i, GIT_FLAG_BITS);
	*git = (struct git_rule){
		.fetch = (flags & GIT_FETCH) != 0,
		.push = (flags & GIT_PUSH) != 0,
		.archive = (flags & GIT_ARCHIVE) != 0,
		.hide_refs = (flags & GIT_HIDE_REFS) != 0,
		.create = (flags & GIT_CREATE) != 0,
		.update = (flags & GIT_UPDATE) != 0,
		.delete = (flags & GIT_DELETE) != 0,
		.force = (flags & GIT_FORCE) != 0,
		.is_signed = (flags & GIT_SIGNED) != 0,
		.lfs_read = (flags & GIT_LFS_READ) != 0,
		.lfs_write = (flags & GIT_LFS_WRITE) != 0,
		.follow = (flags & GIT_API_FOLLOW) != 0,
		.forge = (enum git_forge)image_word(m, TABLE_GIT, i, GIT_FORGE),
		.max_commands = image_word(m, TABLE_GIT, i, GIT_MAX_COMMANDS),
		.max_pack = image_size(m, TABLE_GIT, i, GIT_MAX_PACK),
		.max_file = image_size(m, TABLE_GIT, i, GIT_MAX_FILE),
	};
	return true;
}

bool
git_next_host(const struct program *p, uint32_t *next, struct slice *host,
    uint16_t *port)
{
	const struct image *m = &p->image;

	if ((image_flags(m) & PROGRAM_GIT) == 0)
		return false;
	while (*next < image_count(m, TABLE_ROUTES)) {
		uint32_t r = (*next)++;
		uint32_t h = image_word(m, TABLE_ROUTES, r, ROUTE_HOST);
		if (image_word(m, TABLE_ROUTES, r, ROUTE_SCHEME) !=
			SCHEME_GIT ||
		    image_word(m, TABLE_HOSTS, h, HOST_KIND) != HOST_EXACT ||
		    walk_is_deny(m, r))
			continue;
		*host = image_string(m, TABLE_HOSTS, h, HOST_TEXT_S);
		*port = (uint16_t)image_word(m, TABLE_ROUTES, r, ROUTE_PORT);
		return true;
	}
	return false;
}

uint32_t
git_rule_n(const struct program *p, uint32_t rule, enum git_list list)
{
	uint32_t git = record_of(p, rule);

	return git == IMAGE_NONE ?
	    0 :
	    image_word(&p->image, TABLE_GIT, git, GIT_LIST + 2 * list + 1);
}

static uint32_t
text_of(const struct program *p, uint32_t rule, enum git_list list, uint32_t i)
{
	return image_word(&p->image, TABLE_GIT, record_of(p, rule),
		   GIT_LIST + 2 * list) +
	    i;
}

struct slice
git_rule_glob(const struct program *p, uint32_t rule, enum git_list list,
    uint32_t i)
{
	return image_string(&p->image, TABLE_TEXTS, text_of(p, rule, list, i),
	    TEXT_GLOB_S);
}

struct slice
git_rule_text(const struct program *p, uint32_t rule, enum git_list list,
    uint32_t i)
{
	return image_string(&p->image, TABLE_TEXTS, text_of(p, rule, list, i),
	    TEXT_WRITTEN_S);
}

bool
git_rule_has_ref(const struct program *p, uint32_t rule, struct slice ref)
{
	const struct git_command c = { .kind = GIT_COMMAND_CREATE, .ref = ref };

	return gitrule_command(&p->image, rule, &c) != REASON_GIT_REF;
}

enum reason
git_rule_command(const struct program *p, uint32_t rule,
    const struct git_command *c)
{
	return gitrule_command(&p->image, rule, c);
}

static bool
is_literal(struct slice glob)
{
	for (size_t i = 0; i < glob.n; i++)
		if (glob.p[i] == PATHGLOB_STAR || glob.p[i] == PATHGLOB_DOUBLE)
			return false;
	return true;
}

/* The path of `git+https://host/path`, without a final slash. */
static struct slice
written_path(struct slice text)
{
	size_t at = 0;

	while (at + 3 <= text.n && memcmp(text.p + at, "://", 3) != 0)
		at++;
	at += 3;
	while (at < text.n && text.p[at] != '/')
		at++;
	return slice_from(text, at);
}

/* The first route of the rule that names the repository on that host. */
static uint32_t
find_route(const struct program *p, uint32_t rule, struct slice host,
    const struct walk_git *git)
{
	const struct image *m = &p->image;
	COUNTED struct host_matches found;
	COUNTED struct walk w;

	hostset_match(m, host, &found);
	walk_init_rule(&w, m, &found, NULL, rule);
	for (uint32_t r = walk_next(&w); r != IMAGE_NONE; r = walk_next(&w))
		if (image_word(m, TABLE_ROUTES, r, ROUTE_SCHEME) ==
			SCHEME_GIT &&
		    gitrule_names(m, r, git))
			return r;
	return IMAGE_NONE;
}

bool
git_rule_path(const struct program *p, uint32_t rule, struct slice host,
    struct slice repository, struct wr *out)
{
	uint8_t lowered[LIMIT_PATH_SIZE];
	struct walk_git git = { .bare = gitpath_bare(repository),
		.folds = git_forge_of_host(host) != FORGES };
	struct git_rule says;

	if (git.bare.n > LIMIT_PATH_SIZE || !git_rule(p, rule, &says))
		return false;
	for (size_t i = 0; i < git.bare.n; i++)
		lowered[i] = ascii_lower(git.bare.p[i]);
	git.lowered = slice_of(lowered, git.bare.n);
	uint32_t route = find_route(p, rule, host, &git);
	if (route == IMAGE_NONE)
		return false;
	bool forge = git.folds || says.forge != FORGE_NONE;
	struct slice path = forge ? git.lowered : repository;
	if (is_literal(
		image_string(&p->image, TABLE_ROUTES, route, ROUTE_PATH_S)))
		path = written_path(
		    image_string(&p->image, TABLE_ROUTES, route, ROUTE_TEXT_S));
	if (forge) {
		wr_bytes(out, gitpath_bare(path));
		wr_bytes(out, SLICE(".git"));
	} else {
		wr_bytes(out, path);
	}
	return !out->bad;
}

struct program_credential
git_credential(const struct program *p, uint32_t rule, uint32_t i)
{
	struct program_credential c = program_credential(p, i);
	struct git_rule git;

	if (c.kind != CREDENTIAL_TOKEN || !git_rule(p, rule, &git))
		return c;
	c.kind = CREDENTIAL_BASIC;
	c.prefix = SLICE("Basic ");
	c.user = slice_of_str(git_forge_user(git.forge));
	c.secret_is_user = false;
	return c;
}
