/* SPDX-License-Identifier: Apache-2.0 */
#include <idn2.h>
#include <libpsl.h>

#include "base/ascii.h"
#include "base/limits.h"
#include "load/parameter.h"
#include "load/pattern.h"
#include "policy/address.h"
#include "policy/hostset.h"
#include "policy/pathglob.h"
#include "wire/gitpath.h"
#include "wire/host.h"
#include "wire/urlpath.h"

#define WILDCARD_STAR SLICE("*.")
#define WILDCARD_DOUBLE SLICE("**.")
#define PATH_NEVER                                                       \
	"path of the pattern: %s; a request with such a path is always " \
	"refused, so this matches none"

static bool
has_high_byte(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] >= 0x80)
			return true;
	return false;
}

/* A name in Unicode is refused, since two of them may look the same. */
static bool
refuse_unicode(const struct read *r, const struct doc_node *node,
    struct slice text)
{
	struct slice copy = arena_copy(r->arena, text);
	uint8_t *name = arena_alloc(r->arena, copy.n + 1);
	uint8_t *ascii = NULL;

	memcpy(name, copy.p, copy.n);
	if (idn2_lookup_u8(name, &ascii,
		IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL) != IDN2_OK)
		return read_refuse(r, node,
		    "`%.*s`: a host name is ASCII; write its A-label (xn--…)",
		    SLICE_ARG(text));
	read_refuse(r, node, "`%.*s`: a host name is ASCII; write `%s`",
	    SLICE_ARG(text), (const char *)ascii);
	idn2_free(ascii);
	return false;
}

bool
pattern_over_suffix(const struct load_host *host)
{
	const psl_ctx_t *psl = psl_builtin();
	char name[HOST_MAX + 1];

	if ((host->kind != HOST_STAR && host->kind != HOST_DOUBLE) ||
	    host->behind.n == 0 || host->behind.n > HOST_MAX || psl == NULL)
		return false;
	memcpy(name, host->behind.p, host->behind.n);
	name[host->behind.n] = '\0';
	return psl_is_public_suffix(psl, name) != 0;
}

/* One more label under a suffix where anybody may have a name is too much. */
static bool
check_suffix(const struct read *r, const struct doc_node *node,
    const struct load_host *host)
{
	if (psl_builtin() == NULL)
		return read_refuse(r, node,
		    "the list of public suffixes is missing in libpsl");
	if (!pattern_over_suffix(host))
		return true;
	return read_refuse(r, node,
	    "`%.*s` covers names of everybody under the public suffix "
	    "`%.*s`; name the hosts, or write `public_suffix: true` into the "
	    "rule if that is meant",
	    SLICE_ARG(host->text), SLICE_ARG(host->behind));
}

struct slice
pattern_lowered(struct arena *a, struct slice text)
{
	uint8_t *p = arena_alloc(a, text.n == 0 ? 1 : text.n);

	for (size_t i = 0; i < text.n; i++)
		p[i] = ascii_lower(text.p[i]);
	return slice_of(p, text.n);
}

/* Split the wildcard off; what is left must have none. */
static bool
read_wildcard(const struct read *r, const struct doc_node *node,
    struct load_host *host)
{
	struct slice text = host->text;

	host->kind = HOST_EXACT;
	host->behind = text;
	if (slice_eq(text, SLICE("*")))
		return read_refuse(r, node,
		    "`*` is one label, and no name has only one; `**` is "
		    "every name");
	if (slice_eq(text, SLICE("**"))) {
		host->kind = HOST_DOUBLE;
		host->behind = slice_first(text, 0);
		return true;
	}
	if (slice_has_prefix(text, WILDCARD_STAR)) {
		host->kind = HOST_STAR;
		host->behind = slice_from(text, 2);
	} else if (slice_has_prefix(text, WILDCARD_DOUBLE)) {
		host->kind = HOST_DOUBLE;
		host->behind = slice_from(text, 3);
	}
	if (memchr(host->behind.p, '*', host->behind.n) != NULL)
		return read_refuse(r, node,
		    "`%.*s`: a star stands for whole labels, at the left "
		    "only: `*.example.com` is one more label, "
		    "`**.example.com` one or more",
		    SLICE_ARG(text));
	return true;
}

static bool
read_host(const struct read *r, const struct doc_node *node, struct slice text,
    struct load_host *host)
{
	struct parse_fail fail = { .detail = "" };
	struct host name;

	*host = (struct load_host){ .text = pattern_lowered(r->arena, text) };
	if (text.n == 0)
		return read_refuse(r, node,
		    "the host is missing: expected a pattern such as "
		    "`https://api.example.com/v1/**`");
	if (has_high_byte(text))
		return refuse_unicode(r, node, text);
	if (!read_wildcard(r, node, host))
		return false;
	if (host->kind != HOST_EXACT && host->behind.n == 0)
		return true;
	enum parse done = host->kind == HOST_EXACT ?
	    host_from_policy(host->behind, &name, &fail) :
	    host_from_suffix(host->behind, &name, &fail);
	if (done != PARSE_DONE)
		return read_refuse(r, node,
		    "`%.*s` is no host: %s; expected a name such as "
		    "`api.example.com`, or an address such as `192.0.2.1` or "
		    "`[2001:db8::1]`",
		    SLICE_ARG(text), fail.detail);
	if (name.is_ip) {
		host->kind = HOST_LITERAL;
		host->text = arena_copy(r->arena, host_slice(&name));
		host->behind = host->text;
		host->ip = name.ip;
	}
	return true;
}

bool
pattern_read_host(const struct read *r, const struct doc_node *node,
    struct load_host *host)
{
	struct slice text;

	return read_scalar(r, node, "a host pattern such as `**.example.com`",
		   &text) &&
	    read_host(r, node, text, host);
}

#define SCHEMES                                                               \
	"`https://`, `http://`, `wss://`, `ws://`, `git+https://`, `tls://` " \
	"or `tcp://`"

/* Where "://" stands, or text.n. */
static size_t
find_authority(struct slice text)
{
	for (size_t i = 0; i + 3 <= text.n; i++)
		if (memcmp(text.p + i, "://", 3) == 0)
			return i;
	return text.n;
}

static bool
unknown_scheme(const struct read *r, const struct doc_node *node,
    struct slice name)
{
	struct nearest near = nearest_to(name);

	for (int s = 0; s < SCHEME_COUNT; s++)
		nearest_look(&near, slice_of_str(scheme_name((enum scheme)s)));
	return read_refuse(r, node, "unknown scheme `%.*s`" NEAREST_FMT "%s",
	    SLICE_ARG(name), NEAREST_ARG(near),
	    near.best.n != 0 ? "" : ": expected " SCHEMES);
}

static bool
read_scheme(const struct read *r, const struct doc_node *node,
    struct slice *text, struct load_pattern *p)
{
	size_t n = find_authority(*text);
	struct slice name = slice_first(*text, n);

	if (n == text->n)
		return read_refuse(r, node,
		    "`%.*s` has no scheme: write `https://%.*s`",
		    SLICE_ARG(*text), SLICE_ARG(*text));
	*text = slice_from(*text, n + 3);
	p->scheme = scheme_find(name);
	if (p->scheme == SCHEME_COUNT)
		return unknown_scheme(r, node, name);
	p->port = scheme_port(p->scheme);
	return true;
}

/* Digits only, no leading zero, 1 to 65535. */
static bool
read_port(const struct read *r, const struct doc_node *node, struct slice text,
    uint16_t *port)
{
	uint32_t v = 0;
	bool good = text.n != 0 && text.n <= 5 && text.p[0] != '0';

	for (size_t i = 0; good && i < text.n; i++) {
		good = ascii_is_digit(text.p[i]);
		v = v * 10 + (uint32_t)(text.p[i] - '0');
	}
	if (!good || v > 65535)
		return read_refuse(r, node,
		    "`%.*s` is no port: expected a number from 1 to 65535",
		    SLICE_ARG(text));
	*port = (uint16_t)v;
	return true;
}

/* Split `host:port`; a colon inside brackets is of the address. */
static bool
read_authority(const struct read *r, const struct doc_node *node,
    struct slice text, struct load_pattern *p)
{
	size_t n = text.n;

	if (text.n != 0 && memchr(text.p, '@', text.n) != NULL)
		return read_refuse(r, node,
		    "user names and passwords have no place in a pattern");
	for (size_t i = text.n; i-- > 0 && text.p[i] != ']';)
		if (text.p[i] == ':')
			n = i;
	if (!read_host(r, node, slice_first(text, n), &p->host))
		return false;
	if (n != text.n)
		return read_port(r, node, slice_from(text, n + 1), &p->port);
	return p->port != 0 ||
	    read_refuse(r, node,
		"the port is missing: `tcp://` has no usual one; write such as "
		"`tcp://%.*s:5432`",
		SLICE_ARG(text));
}

/*
 * The path of a repository, which is then compared without its `.git`: none
 * with what servers decode, cut off, or take as it is.
 */
static bool
check_repository(const struct read *r, const struct doc_node *node,
    struct slice *text)
{
	if (text->n < 2)
		return read_refuse(r, node,
		    "the repository is missing: write such as "
		    "`git+https://github.com/OWNER/NAME`");
	if (text->p[text->n - 1] == '/')
		return read_refuse(r, node,
		    "a repository ends in no slash: take it out");
	if (memchr(text->p, '%', text->n) != NULL ||
	    memchr(text->p, ';', text->n) != NULL)
		return read_refuse(r, node,
		    "the path of a repository has no `%%` and no `;`");
	*text = gitpath_bare(*text);
	return true;
}

static bool
read_path(const struct read *r, const struct doc_node *node, struct slice text,
    struct load_pattern *p)
{
	struct parse_fail fail = { .detail = "" };
	struct urlpath path;
	const char *why = "";
	size_t n;

	if (text.n != 0 && scheme_is_passed(p->scheme))
		return read_refuse(r, node,
		    "`%s://` is passed unread: it has no path and no query",
		    scheme_name(p->scheme));
	if (p->scheme == SCHEME_GIT && !check_repository(r, node, &text))
		return false;
	if (text.n == 0)
		text = SLICE("/**");
	if (memchr(text.p, '?', text.n) != NULL)
		return read_refuse(r, node,
		    "conditions on the query stand under `query:`, not in the "
		    "pattern");
	if (memchr(text.p, '#', text.n) != NULL)
		return read_refuse(r, node, "a fragment (`#`) is never sent");
	if (has_high_byte(text))
		return read_refuse(r, node,
		    "a path is ASCII: write other characters as escapes of "
		    "UTF-8, such as `%%C3%%84`");
	uint8_t *canonical = arena_alloc(r->arena, text.n);
	if (urlpath_canon(text, LIMIT_PATH_SIZE, canonical, &path, &fail) !=
	    PARSE_DONE)
		return read_refuse(r, node, PATH_NEVER, fail.detail);
	if (!slice_eq(path.text, text))
		return read_refuse(r, node,
		    "path of the pattern is not canonical: write `%.*s`",
		    SLICE_ARG(path.text));
	if (path.has_encoded_dots)
		return read_refuse(r, node, PATH_NEVER,
		    "dot segment beside `%2F`");
	uint8_t *compiled = arena_alloc(r->arena, text.n);
	if (!pathglob_compile(text, compiled, &n, &why))
		return read_refuse(r, node, "path of the pattern: %s", why);
	p->path = slice_of(compiled, n);
	return true;
}

static void
advise_port(const struct read *r, const struct doc_node *node,
    const struct load_pattern *p)
{
	static const uint16_t other[] = { 21, 22, 23, 25, 53, 80, 110, 143, 389,
		3306, 5432, 6379 };

	enum scheme below = scheme_below(p->scheme);

	if (below == SCHEME_HTTP && p->port == 443)
		load_warn(r->report, read_at(r, node),
		    "`%s` on port 443: TLS is usual there, and is refused",
		    scheme_name(p->scheme));
	for (size_t i = 0; below == SCHEME_HTTPS && i < COUNT_OF(other); i++)
		if (p->port == other[i])
			load_warn(r->report, read_at(r, node),
			    "`%s` on port %u, where another protocol is "
			    "usual",
			    scheme_name(p->scheme), p->port);
}

static bool
check_host(const struct read *r, const struct doc_node *node, bool wide,
    const struct load_pattern *p)
{
	const struct load_host *host = &p->host;

	if (host->kind == HOST_LITERAL && address_is_metadata(&host->ip))
		return read_refuse(r, node,
		    "`%.*s` is a metadata address: never dialled",
		    SLICE_ARG(host->text));
	if (host->kind == HOST_EXACT || host->kind == HOST_LITERAL)
		return true;
	if (scheme_is_passed(p->scheme))
		return read_refuse(r, node,
		    "`%s://` is passed unread: it names one exact host, never "
		    "a wildcard",
		    scheme_name(p->scheme));
	return wide || check_suffix(r, node, host);
}

bool
pattern_read(const struct read *r, const struct doc_node *node, bool wide,
    struct load_pattern *p)
{
	struct slice text;

	*p = (struct load_pattern){ .at = read_at(r, node) };
	if (!read_scalar(r, node,
		"a URL pattern such as `https://api.example.com/v1/**`", &text))
		return false;
	if (!parameter_pattern(r, node, &text))
		return false;
	p->text = text;
	if (!read_scheme(r, node, &text, p))
		return false;
	size_t n = 0;
	while (n < text.n && memchr("/?#", text.p[n], 3) == NULL)
		n++;
	if (!read_authority(r, node, slice_first(text, n), p) ||
	    !read_path(r, node, slice_from(text, n), p) ||
	    !check_host(r, node, wide, p))
		return false;
	advise_port(r, node, p);
	return true;
}

bool
pattern_host_covers(const struct load_host *a, const struct load_host *b)
{
	if (b->kind == HOST_EXACT || b->kind == HOST_LITERAL)
		return hostset_one(a->kind, a->behind, b->text);
	if (a->kind == HOST_STAR)
		return b->kind == HOST_STAR && slice_eq(a->behind, b->behind);
	if (a->kind != HOST_DOUBLE)
		return false;
	if (a->behind.n == 0 || slice_eq(a->behind, b->behind))
		return a->behind.n != 0 || hostset_may_cover(b->behind);
	/* "**.a.test" holds "*.b.a.test", but no xn-- label in between. */
	return hostset_one(HOST_DOUBLE, a->behind, b->behind);
}

bool
pattern_covers(const struct load_pattern *a, const struct load_pattern *b)
{
	return a->scheme == b->scheme && a->port == b->port &&
	    pattern_host_covers(&a->host, &b->host) &&
	    pathglob_covers(a->path, b->path);
}
