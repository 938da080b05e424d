/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/explain.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "policy/inside.h"
#include "policy/method.h"
#include "policy/policy.h"
#include "policy/querycond.h"
#include "policy/walk.h"

static void
put_url(struct buf *out, const struct facts *f)
{
	bool v6 = f->host.n != 0 && memchr(f->host.p, ':', f->host.n) != NULL;
	struct slice host = f->host.n == 0 && f->has_sni ? f->sni : f->host;

	buf_putf(out, "%s://",
	    scheme_name(f->upgrade ? scheme_above(f->scheme) : f->scheme));
	buf_put_str(out, v6 ? "[" : "");
	explain_put_shown(out, host);
	buf_put_str(out, v6 ? "]" : "");
	if (f->port != 0 && f->port != scheme_port(f->scheme))
		buf_putf(out, ":%u", f->port);
	explain_put_shown(out, f->path);
}

static void
put_methods(struct buf *out, uint32_t methods)
{
	const char *before = "";

	if (methods == METHODS_ANY) {
		buf_put_str(out, "any method of the table");
		return;
	}
	for (unsigned i = 0; i < METHOD_COUNT; i++) {
		if ((methods & METHOD_BIT(i)) == 0)
			continue;
		buf_putf(out, "%s%s", before, method_name((enum method)i));
		before = ", ";
	}
}

/* The line that would have allowed the name, for those that no rule knows. */
static void
put_missing_rule(struct buf *out, const struct facts *f)
{
	struct facts whole = *f;

	/* A rule of paths would let any branch be pushed. */
	if (explain_git_missing(f, out))
		return;
	whole.path = (struct slice){ 0 };
	buf_put_str(out, "; the missing rule: `- allow: ");
	put_url(out, &whole);
	buf_put_str(out, scheme_is_passed(f->scheme) ? "`" : "/**`");
}

static bool
is_report(const struct program *p, uint32_t rule)
{
	return (image_word(&p->image, TABLE_RULES, rule, RULE_FLAG_BITS) &
		   RULE_REPORT) != 0;
}

/* What the nearest rule would have wanted. */
static void
put_nearest(struct buf *out, const struct program *p, const struct facts *f,
    const struct verdict *v)
{
	struct slice key = { 0 };

	buf_put_str(out, "; nearest: ");
	explain_put_rule(out, p, v->nearest);
	if (v->reason == REASON_HTTP_METHOD_DENIED) {
		buf_put_str(out, " allows ");
		put_methods(out,
		    image_word(&p->image, TABLE_RULES, v->nearest,
			RULE_METHODS));
	} else if (v->reason == REASON_HTTP_QUERY_DENIED) {
		(void)querycond_match(&p->image, v->nearest, f->query, &key);
		buf_put_str(out, " and its condition on the query key `");
		explain_put_shown(out, key);
		buf_put_str(out, "`");
	} else {
		buf_put_str(out, " allows ");
		buf_put(out, program_rule(p, v->nearest).text);
	}
	if (v->reason == REASON_DST_PORT && is_report(p, v->nearest)) {
		buf_put_str(out,
		    " on the port that it names, else 443 (of http 80), and no "
		    "other");
		put_missing_rule(out, f);
	}
}

/* A rule that would have allowed it, had it not expired. */
static void
put_expired(struct buf *out, const struct program *p, const struct facts *f)
{
	char text[CLOCK_TEXT_SIZE];
	struct host_matches found;
	const char *why;
	struct walk w;

	if (!p->expires)
		return;
	hostset_match(&p->image, f->host.n == 0 ? f->sni : f->host, &found);
	walk_init(&w, &p->image, &found, NULL);
	for (uint32_t r = walk_next(&w); r != IMAGE_NONE; r = walk_next(&w)) {
		uint32_t rule =
		    image_word(&p->image, TABLE_ROUTES, r, ROUTE_RULE);
		if (!walk_has_expired(&p->image, rule, f->now_s))
			continue;
		why = policy_stumble(p, f, rule);
		if (why == NULL || strcmp(why, "time") != 0)
			continue;
		clock_text(program_expires(p, rule) * 1000000, text);
		buf_put_str(out, "; ");
		explain_put_rule(out, p, rule);
		buf_putf(out, " allowed it until %.19sZ", text);
		return;
	}
}

static void
put_no_rule(struct buf *out, const struct program *p, const struct facts *f,
    const struct verdict *v)
{
	buf_put_str(out, "no rule allows ");
	if (f->kind == FACTS_REQUEST) {
		explain_put_shown(out, f->method);
		buf_put_str(out, " on ");
	}
	put_url(out, f);
	if (v->reason == REASON_HTTP_QUERY_DENIED)
		buf_put_str(out, " with this query");
	put_expired(out, p, f);
	if (v->nearest != VERDICT_NONE)
		put_nearest(out, p, f, v);
	/* Requests are allowed there, and the line for upgrades is another. */
	if (v->nearest == VERDICT_NONE ||
	    (v->reason == REASON_HTTP_UPGRADE && f->upgrade))
		put_missing_rule(out, f);
}

static bool
is_no_rule(enum reason reason)
{
	static const enum reason list[] = { REASON_DST_PORT,
		REASON_TLS_SNI_DENIED, REASON_HTTP_HOST_DENIED,
		REASON_HTTP_UPGRADE, REASON_HTTP_PATH_DENIED,
		REASON_HTTP_METHOD_DENIED, REASON_HTTP_QUERY_DENIED,
		REASON_HTTP_BODY_DENIED, REASON_DNS_DENIED };

	for (size_t i = 0; i < COUNT_OF(list); i++)
		if (list[i] == reason)
			return true;
	return false;
}

/* What to do about refusals that no other rule would lift. */
static const char *
advice(enum reason reason, const struct facts *f)
{
	static const struct {
		enum reason reason;
		const char *text;
	} rows[] = {
		{ REASON_CRED_CLIENT_AUTH,
		    "; send the placeholder or nothing, or let the rule say "
		    "`foreign_credentials: strip` or `pass`" },
		{ REASON_CRED_MISPLACED,
		    "; the placeholder belongs alone in the header or "
		    "parameter of its credential, to a host whose rule has that credential" },
		{ REASON_HTTP_HEADER,
		    "; a Range is refused where a token is attached, unless "
		    "the credential says `ranges: true`" },
		{ REASON_HTTP_HOST_MISMATCH,
		    "; make a connection of its own for that name" },
	};

	if (reason == REASON_CRED_CLIENT_AUTH && f->foreign == 0)
		return "; it is the signature of a URL, on a host where a "
		       "token is attached: the rule would have to say "
		       "`signed_url: pass`";
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].reason == reason)
			return rows[i].text;
	return "";
}

void
policy_explain(const struct program *p, const struct facts *f,
    const struct verdict *v, struct buf *out)
{
	if (v->reason == REASON_DENY_RULE && v->rule != VERDICT_NONE) {
		explain_put_rule(out, p, v->rule);
		buf_put_str(out, " denies ");
		put_url(out, f);
		return;
	}
	if (v->report && v->rule != VERDICT_NONE) {
		explain_put_rule(out, p, v->rule);
		buf_put_str(out, " lets it through, not enforced: ");
	}
	if (f->fault == REASON_ALLOW && explain_git(p, f, v, out))
		return;
	if (f->fault == REASON_ALLOW && is_no_rule(v->reason)) {
		put_no_rule(out, p, f, v);
		return;
	}
	if (v->allow && v->rule != VERDICT_NONE) {
		explain_put_rule(out, p, v->rule);
		buf_put_str(out,
		    v->reason == REASON_ALLOW_PASS ?
			" passes it unread behind its ClientHello" :
			v->reason == REASON_ALLOW_TCP ? " passes it unread" :
							" allows it");
		return;
	}
	buf_put_str(out, reason_meaning(v->reason));
	if (f->fault == REASON_ALLOW)
		buf_put_str(out, advice(v->reason, f));
	if (v->rule != VERDICT_NONE) {
		buf_put_str(out, "; ");
		explain_put_rule(out, p, v->rule);
	}
}
