/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rule asks for beyond public names, held against the owner's
 * configuration: credentials within their `only:`, addresses within
 * `private:`.
 */
#include "load/pattern.h"
#include "load/read_policy.h"
#include "policy/address.h"
#include "policy/inside.h"
#include "policy/owner_image.h"
#include "policy/pathglob.h"

#define OWNERS_FILES                                               \
	"the owner's configuration (`~/.config/duenna/*.yaml` or " \
	"`--config FILE`)"

/*
 * Is what the configuration defines unknown, for the errors in it?  Complaints
 * that it lacks something would be false then; said where that first counts.
 */
static bool
is_unchecked(struct read_policy *p, struct load_at at)
{
	if (!p->in->owner_failed)
		return false;
	if (!p->unchecked)
		load_warn(p->r.report, at,
		    "the configuration has errors: this, and what else the "
		    "policy takes from it (credentials, `private:`), was not "
		    "checked");
	p->unchecked = true;
	return true;
}

static uint32_t
find_credential(const struct owner *o, struct slice name)
{
	uint32_t n = o == NULL ? 0 : owner_n_credentials(o);

	for (uint32_t i = 0; i < n; i++)
		if (slice_eq(image_string(&o->image, OWNED_CREDENTIALS, i,
				 CREDENTIAL_NAME_S),
			name))
			return i;
	return IMAGE_NONE;
}

/* The `i`th pattern of an `only:`, out of the image. */
static struct load_pattern
only_pattern(const struct image *m, uint32_t i)
{
	struct load_pattern p = {
		.at = { image_string(m, OWNED_ONLY, i, ONLY_FILE_S),
		    image_word(m, OWNED_ONLY, i, ONLY_LINE), 0 },
		.text = image_string(m, OWNED_ONLY, i, ONLY_TEXT_S),
		.scheme =
		    (enum scheme)image_word(m, OWNED_ONLY, i, ONLY_SCHEME),
		.port = (uint16_t)image_word(m, OWNED_ONLY, i, ONLY_PORT),
		.path = image_string(m, OWNED_ONLY, i, ONLY_PATH_S),
	};

	p.host.kind =
	    (enum host_kind)image_word(m, OWNED_ONLY, i, ONLY_HOST_KIND);
	p.host.behind = image_string(m, OWNED_ONLY, i, ONLY_HOST_S);
	return p;
}

/*
 * A wildcard carries a token only if `only:` has that very wildcard.  The
 * request that asks for an upgrade is one of https, and has the token.
 */
static bool
only_covers(const struct load_pattern *only, const struct load_pattern *p)
{
	bool wild = p->host.kind == HOST_STAR || p->host.kind == HOST_DOUBLE;
	struct load_pattern below = *p;

	if (p->scheme != SCHEME_GIT)
		below.scheme = scheme_below(p->scheme);

	if (wild &&
	    (only->host.kind != p->host.kind ||
		!slice_eq(only->host.behind, p->host.behind)))
		return false;
	if (wild)
		return only->scheme == below.scheme && only->port == p->port &&
		    pathglob_covers(only->path, p->path);
	return pattern_covers(only, &below);
}

/* What else to say of a pattern outside of `only:`, which begins with `near`. */
static const char *
why_wider(const struct load_pattern *near, const struct load_pattern *pattern)
{
	if (pattern->host.kind == HOST_STAR ||
	    pattern->host.kind == HOST_DOUBLE)
		return "; a wildcard must stand there literally";
	if (pattern->scheme == SCHEME_GIT && near->scheme != SCHEME_GIT)
		return "; for a rule of git it wants `git+https://` there";
	return near->port != pattern->port ? "; their ports differ" : "";
}

static bool
check_only(struct read_policy *p, uint32_t credential,
    const struct load_rule *rule, const struct load_pattern *pattern)
{
	/* Then the paths of its patterns are in lower case. */
	bool folds = rule->git != NULL && rule->git->forge != FORGE_NONE;
	const struct image *m = &p->in->owner->image;
	uint32_t first =
	    image_word(m, OWNED_CREDENTIALS, credential, CREDENTIAL_ONLY);
	uint32_t n =
	    image_word(m, OWNED_CREDENTIALS, credential, CREDENTIAL_N_ONLY);
	struct slice name =
	    image_string(m, OWNED_CREDENTIALS, credential, CREDENTIAL_NAME_S);

	if (scheme_is_passed(pattern->scheme))
		return false; /* it has no credential at all: read_rule.c */
	if (scheme_below(pattern->scheme) != SCHEME_HTTPS) {
		load_error(p->r.report, pattern->at,
		    "credential `%.*s` on %s `%s` rule: a token never goes "
		    "over plain HTTP",
		    SLICE_ARG(name),
		    pattern->scheme == SCHEME_HTTP ? "an" : "a",
		    scheme_name(pattern->scheme));
		return false;
	}
	for (uint32_t i = first; i < first + n; i++) {
		struct load_pattern only = only_pattern(m, i);
		if (folds)
			only.path = pattern_lowered(p->r.arena, only.path);
		if (only_covers(&only, pattern))
			return true;
	}
	struct load_pattern near = only_pattern(m, first);
	load_error(p->r.report, pattern->at,
	    "`%.*s` is wider than `only:` of credential `%.*s`, which begins "
	    "with `%.*s` (%.*s:%u)%s",
	    SLICE_ARG(pattern->text), SLICE_ARG(name), SLICE_ARG(near.text),
	    SLICE_ARG(near.at.file), near.at.line, why_wider(&near, pattern));
	return false;
}

static bool
check_slot(struct read_policy *p, const struct doc_node *node,
    const struct load_rule *rule, uint32_t credential)
{
	struct program_credential c =
	    owner_credential(p->in->owner, credential).public;

	for (uint32_t i = 0; i < rule->n_credentials; i++) {
		struct program_credential other =
		    owner_credential(p->in->owner, rule->credentials[i]).public;
		if (program_same_slot(&c, &other))
			return read_refuse(&p->r, node,
			    "`%.*s` and `%.*s` have one slot, the %s `%.*s`",
			    SLICE_ARG(other.name), SLICE_ARG(c.name),
			    c.kind == CREDENTIAL_QUERY ? "parameter" : "header",
			    SLICE_ARG(c.slot));
	}
	return true;
}

/* git's own servers take Basic, which a token becomes, and nothing else. */
static bool
check_git(struct read_policy *p, const struct doc_node *node,
    const struct load_rule *rule, uint32_t credential)
{
	struct program_credential c =
	    owner_credential(p->in->owner, credential).public;

	if (rule->git == NULL || c.kind == CREDENTIAL_TOKEN ||
	    c.kind == CREDENTIAL_BASIC)
		return true;
	return read_refuse(&p->r, node,
	    "`%.*s` is of no kind that git takes: expected one of `token` or "
	    "`basic`",
	    SLICE_ARG(c.name));
}

/* What is mapped where this file is included. */
static uint32_t
find_mapped(struct read_policy *p, const struct doc_node *node,
    struct slice name)
{
	struct read_scope *s = p->scope;

	for (uint32_t i = 0; i < s->n_mapped; i++) {
		if (!slice_eq(s->mapped[i].name, name))
			continue;
		s->mapped[i].used = true;
		return s->mapped[i].credential;
	}
	load_warn(p->r.report, read_at(&p->r, node),
	    "credential `%.*s` is not mapped: the rule carries none; write "
	    "`credentials: {%.*s: NAME}` beside the `include:` (%.*s:%u)",
	    SLICE_ARG(name), SLICE_ARG(name), SLICE_ARG(s->at.file),
	    s->at.line);
	return IMAGE_NONE;
}

bool
read_credential_name(struct read_policy *p, const struct doc_node *node,
    uint32_t *credential)
{
	const struct owner *o = p->in->owner;
	uint32_t n = o == NULL ? 0 : owner_n_credentials(o);
	struct slice name;

	if (!read_name(&p->r, node, "the name of a credential", &name))
		return false;
	if (p->scope->outer != NULL) {
		*credential = find_mapped(p, node, name);
		return true;
	}
	*credential = find_credential(o, name);
	if (*credential != IMAGE_NONE || is_unchecked(p, read_at(&p->r, node)))
		return true;
	struct nearest near = nearest_to(name);
	for (uint32_t i = 0; i < n; i++)
		nearest_look(&near, owner_credential(o, i).public.name);
	return read_refuse(&p->r, node,
	    "credential `%.*s` is not defined in " OWNERS_FILES NEAREST_FMT,
	    SLICE_ARG(name), NEAREST_ARG(near));
}

static bool
add_credential(struct read_policy *p, const struct doc_node *node,
    struct load_rule *rule)
{
	bool good = true;
	uint32_t i;

	if (!read_credential_name(p, node, &i))
		return false;
	if (i == IMAGE_NONE)
		return true; /* not mapped: it carries none */
	if (rule->n_credentials == VERDICT_CREDENTIALS_MAX)
		return read_refuse(&p->r, node, "more than %d credentials",
		    VERDICT_CREDENTIALS_MAX);
	if (!check_slot(p, node, rule, i) || !check_git(p, node, rule, i))
		return false;
	for (uint32_t k = 0; k < rule->n_patterns; k++)
		good = check_only(p, i, rule, &rule->patterns[k]) && good;
	rule->credentials[rule->n_credentials++] = i;
	if (p->in->used != NULL)
		p->in->used[i] = true;
	return good;
}

bool
read_rule_credentials(struct read_policy *p, const struct doc_node *node,
    struct load_rule *rule)
{
	bool good = true;

	if (node->kind != DOC_LIST)
		return add_credential(p, node, rule);
	if (node->n == 0)
		return read_refuse(&p->r, node,
		    "an empty list: expected the name of a credential");
	for (const struct doc_node *i = node->first; i != NULL; i = i->next)
		good = add_credential(p, i, rule) && good;
	return good;
}

/* Is the whole prefix inside one that the owner opened? */
static bool
is_private(const struct read_policy *p, const struct ip *first, unsigned bits)
{
	const struct owner *o = p->in->owner;
	uint32_t n = o == NULL ? 0 : image_count(&o->image, OWNED_PRIVATE);

	for (uint32_t i = 0; i < n; i++)
		if (image_word(&o->image, OWNED_PRIVATE, i, PREFIX_BITS) <=
			bits &&
		    inside_prefix_has(&o->image, OWNED_PRIVATE, i, first))
			return true;
	return false;
}

static bool
check_prefix(struct read_policy *p, const struct doc_node *node,
    const struct load_prefix *prefix)
{
	bool whole = prefix->bits == (prefix->first.family == 4 ? 32 : 128);

	if (prefix->bits == 0)
		return read_refuse(&p->r, node,
		    "every address: name the ones that this host has");
	if (whole && address_is_metadata(&prefix->first))
		return read_refuse(&p->r, node,
		    "`%.*s` is a metadata address: never dialled",
		    SLICE_ARG(node->text));
	if (whole && address_is_global(&prefix->first)) {
		load_warn(p->r.report, read_at(&p->r, node),
		    "`%.*s` is a public address: it needs no opening",
		    SLICE_ARG(node->text));
		return true;
	}
	if (!p->scope->trusted &&
	    !is_private(p, &prefix->first, prefix->bits) &&
	    !is_unchecked(p, read_at(&p->r, node)))
		return read_refuse(&p->r, node,
		    "`%.*s` is outside of `private:` in " OWNERS_FILES,
		    SLICE_ARG(node->text));
	load_advise(p->r.report, read_at(&p->r, node),
	    "`addresses:` opens `%.*s`, which is not public",
	    SLICE_ARG(node->text));
	return true;
}

/* A literal host opens itself: it needs the same leave. */
static bool
check_literals(struct read_policy *p, const struct load_rule *rule)
{
	bool good = true;

	for (uint32_t i = 0; i < rule->n_patterns; i++) {
		const struct load_pattern *pattern = &rule->patterns[i];
		const struct ip *ip = &pattern->host.ip;
		if (pattern->host.kind != HOST_LITERAL || p->scope->trusted ||
		    address_is_global(ip) ||
		    is_private(p, ip, ip->family == 4 ? 32 : 128) ||
		    is_unchecked(p, pattern->at))
			continue;
		load_error(p->r.report, pattern->at,
		    "`%.*s` is not public and outside of `private:` in " OWNERS_FILES,
		    SLICE_ARG(pattern->host.text));
		good = false;
	}
	return good;
}

bool
read_rule_addresses(struct read_policy *p, const struct doc_node *node,
    struct load_rule *rule)
{
	bool good = check_literals(p, rule);

	if (node == NULL)
		return good;
	if (!read_list(&p->r, node, "a list of addresses or prefixes"))
		return false;
	if (node->n == 0)
		return read_refuse(&p->r, node,
		    "an empty list: expected at least one address");
	rule->prefixes =
	    arena_alloc(p->r.arena, node->n * sizeof(*rule->prefixes));
	for (const struct doc_node *i = node->first; i != NULL; i = i->next) {
		struct load_prefix *prefix = &rule->prefixes[rule->n_prefixes];
		if (read_prefix(&p->r, i, prefix) && check_prefix(p, i, prefix))
			rule->n_prefixes++;
		else
			good = false;
	}
	return good;
}
