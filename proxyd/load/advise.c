/* SPDX-License-Identifier: Apache-2.0 */
#include "load/advise.h"
#include "base/limits.h"
#include "load/owner_text.h"
#include "load/pattern.h"
#include "policy/address.h"
#include "policy/method.h"
#include "policy/pathglob.h"

/* Methods that only read; the others have a body, or an effect. */
static bool
writes(const struct load_rule *rule)
{
	return (rule->methods & ~(uint32_t)METHODS_DEFAULT) != 0;
}

static bool
is_wild(const struct load_host *host)
{
	return host->kind == HOST_STAR || host->kind == HOST_DOUBLE;
}

/* Is it every path of its host? */
static bool
is_whole(const struct load_pattern *p)
{
	static const uint8_t every[] = { '/', PATHGLOB_DOUBLE };

	return slice_eq(p->path, slice_of(every, sizeof(every)));
}

/* Whoever it reaches can be sent data. */
static bool
sends(const struct load_rule *rule, const struct load_pattern *p)
{
	return writes(rule) || scheme_is_upgrade(p->scheme);
}

static void
advise_wildcard(const struct read *r, const struct load_rule *rule,
    const struct load_pattern *p)
{
	if (p->host.behind.n == 0)
		load_warn(r->report, p->at,
		    "`**` is every name: whatever is asked for by that name "
		    "can be sent there");
	else if (pattern_over_suffix(&p->host))
		load_advise(r->report, p->at,
		    "`public_suffix: true`: anybody may have a name under "
		    "`%.*s`, an attacker too",
		    SLICE_ARG(p->host.behind));
	else
		load_advise(r->report, p->at,
		    "`%.*s`: names are data; %u of them an hour can be asked "
		    "for",
		    SLICE_ARG(p->host.text),
		    rule->limits.names != 0 ? rule->limits.names :
					      LIMIT_NAMES_PER_HOUR);
	if (sends(rule, p))
		load_advise(r->report, p->at,
		    "%s, to every host of `%.*s`: whoever has "
		    "one can be sent data",
		    writes(rule) ? "methods that write" : "WebSockets",
		    SLICE_ARG(p->host.text));
}

/* What is said behind an upgrade. */
static void
advise_upgrade(const struct read *r, const struct load_rule *rule,
    const struct load_pattern *p)
{
	load_advise(r->report, p->at,
	    "`%.*s`: what goes either way behind the upgrade is counted and "
	    "limited, not looked at",
	    SLICE_ARG(p->text));
	if (rule->n_credentials != 0)
		load_advise(r->report, p->at,
		    "`%.*s` with a credential: what comes behind the upgrade "
		    "is not searched for it",
		    SLICE_ARG(p->text));
}

/* What nobody looks at any more, in a rule that passes bytes unread. */
static void
advise_passed(const struct read *r, const struct load_pattern *p)
{
	if (p->scheme == SCHEME_TLS)
		load_advise(r->report, p->at,
		    "`%.*s` is passed unread behind its ClientHello: no method, "
		    "path, header, credential or git check, and every name of "
		    "that origin can be reached, an encrypted one "
		    "(Encrypted ClientHello) too",
		    SLICE_ARG(p->text));
	if (p->scheme != SCHEME_TCP)
		return;
	load_advise(r->report, p->at,
	    "`%.*s` is passed unread: no method, path, header, credential or "
	    "git check, not even which name is asked for; every name of that "
	    "origin can be reached",
	    SLICE_ARG(p->text));
	if (p->port == 80 || p->port == 443)
		load_warn(r->report, p->at,
		    "`tcp` on port %u: `https`, `http` or `tls` would see more",
		    p->port);
}

static void
advise_pattern(const struct read *r, const struct load_rule *rule,
    const struct load_pattern *p)
{
	if (is_wild(&p->host))
		advise_wildcard(r, rule, p);
	if (scheme_below(p->scheme) == SCHEME_HTTP)
		load_advise(r->report, p->at,
		    "plain HTTP: anybody on the way can read and change it");
	if (scheme_is_upgrade(p->scheme))
		advise_upgrade(r, rule, p);
	advise_passed(r, p);
	if (rule->n_credentials != 0 && writes(rule) && is_whole(p))
		load_advise(r->report, p->at,
		    "methods that write, on every path, with a credential: "
		    "whatever it may do there");
}

/* Files that the forge's own CI runs, with rights of its own. */
static const char *
ci_of(enum git_forge forge)
{
	static const char *const paths[FORGES] = {
		[FORGE_GITHUB] = ".github/**",
		[FORGE_GITLAB] = ".gitlab-ci.yml",
		[FORGE_FORGEJO] = ".forgejo/**",
		[FORGE_BITBUCKET] = "bitbucket-pipelines.yml",
	};

	return paths[forge];
}

static void
advise_git(const struct read *r, const struct load_rule *rule)
{
	const struct load_git *git = rule->git;

	for (uint32_t i = 0; i < rule->n_patterns; i++)
		if (is_whole(&rule->patterns[i]))
			load_advise(r->report, rule->patterns[i].at,
			    "every repository of `%.*s`: one of an attacker's, "
			    "too",
			    SLICE_ARG(rule->patterns[i].host.text));
	if ((git->flags & GIT_PUSH) == 0)
		return;
	if (git->lists[GIT_KEEP].n == 0 && git->forge != FORGE_NONE)
		load_advise(r->report, rule->at,
		    "`push` without `keep`: what CI runs with rights of its "
		    "own can be changed on an allowed branch; write such as "
		    "`keep: [\"%s\"]`",
		    ci_of(git->forge));
	if ((git->flags & GIT_LFS_WRITE) != 0)
		load_advise(r->report, rule->at,
		    "`lfs: write`: what is stored there is of no branch, and "
		    "neither `keep` nor `max_file` sees it");
	if ((git->flags & GIT_FORCE) != 0)
		load_advise(r->report, rule->at,
		    "`force: true`: what is on these refs can be lost");
	for (uint32_t i = 0; i < git->lists[GIT_REFS].n; i++)
		if (slice_eq(git->lists[GIT_REFS].list[i].written,
			SLICE("refs/heads/**")))
			load_advise(r->report, rule->at,
			    "`branches: [\"**\"]`: every branch, the default "
			    "one too");
}

void
advise_rule(const struct read *r, const struct load_rule *rule)
{
	bool over = false;

	for (uint32_t i = 0; i < rule->n_patterns; i++) {
		advise_pattern(r, rule, &rule->patterns[i]);
		over = over || pattern_over_suffix(&rule->patterns[i].host);
	}
	if (rule->git != NULL)
		advise_git(r, rule);
	if (rule->public_suffix && !over)
		load_warn(r->report, rule->at,
		    "`public_suffix: true` says nothing here: no wildcard of "
		    "this rule is over a public suffix");
	if (rule->methods == METHODS_ANY)
		load_advise(r->report, rule->at,
		    "`methods: any`: all that creates, changes and deletes, "
		    "too");
}

static bool
has_address(const struct load_prefix *prefix, const struct ip *ip)
{
	if (prefix->first.family != ip->family)
		return false;
	for (unsigned i = 0; i < prefix->bits; i++) {
		uint8_t bit = (uint8_t)(0x80U >> i % 8);
		if (((prefix->first.bytes[i / 8] ^ ip->bytes[i / 8]) & bit) !=
		    0)
			return false;
	}
	return true;
}

static bool
is_private(const struct load_owner_text *text, const struct ip *ip)
{
	for (uint32_t i = 0; i < text->n_private; i++)
		if (has_address(&text->private[i], ip))
			return true;
	return false;
}

void
advise_owner(struct load_report *report, const struct load_owner_text *text)
{
	char shown[IP_TEXT_SIZE];

	for (uint32_t i = 0; i < text->n_upstreams; i++) {
		const struct load_upstream *u = &text->upstreams[i];
		for (uint32_t k = 0; k < u->n_addresses; k++) {
			const struct ip *ip = &u->addresses[k];
			if (address_is_global(ip) || is_private(text, ip))
				continue;
			ip_text(ip, shown);
			load_advise(report, u->addresses_at,
			    "`%s` is not public, and outside of `private:`: no "
			    "policy but your own can open it",
			    shown);
		}
	}
}
