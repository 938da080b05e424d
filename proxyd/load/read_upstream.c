/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ascii.h"
#include "load/owner_text.h"
#include "load/pattern.h"
#include "load/roots.h"
#include "wire/host.h"

#define DNS_PORT 53

static const struct read_key item_keys[] = {
	{ "names", READ_HERE },
	{ "resolvers", READ_HERE },
	{ "addresses", READ_HERE },
	{ "roots", READ_HERE },
	{ "only_roots", READ_HERE },
	{ "proxy", READ_HERE },
};

static bool
read_names(struct read_owner *o, const struct doc_node *node,
    struct load_upstream *u)
{
	const struct doc_node *names = read_find(node, "names");
	bool good = true;

	if (names == NULL)
		return read_refuse(&o->r, node,
		    "`names` is missing: the hosts that it is for");
	if (!read_list(&o->r, names,
		"a list of host patterns such as `[\"**.corp.test\"]`"))
		return false;
	if (names->n == 0)
		return read_refuse(&o->r, names,
		    "an empty list: expected at least one host pattern");
	for (const struct doc_node *i = names->first; i != NULL; i = i->next) {
		u->names = READ_MORE(&o->r, u->names, u->n_names);
		if (pattern_read_host(&o->r, i, &u->names[u->n_names]))
			u->n_names++;
		else
			good = false;
	}
	return good;
}

/* Digits without a zero in front, 1 to 65535. */
static bool
read_port(struct slice text, uint16_t *port)
{
	uint32_t v = 0;

	if (text.n == 0 || text.n > 5 || text.p[0] == '0')
		return false;
	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_is_digit(text.p[i]))
			return false;
		v = v * 10 + (uint32_t)(text.p[i] - '0');
	}
	*port = (uint16_t)v;
	return v <= 65535;
}

/* `10.0.0.53`, `10.0.0.53:5353`, `fd00::53`, `[fd00::53]:5353`. */
static bool
read_resolver(struct read_owner *o, const struct doc_node *node,
    struct load_resolver *resolver)
{
	struct slice text, port = { 0 };

	if (!read_scalar(&o->r, node, "an address", &text))
		return false;
	resolver->port = DNS_PORT;
	if (ip_parse(text, &resolver->ip))
		return true;
	const uint8_t *colon =
	    text.n == 0 ? NULL : memrchr(text.p, ':', text.n);
	size_t n = colon == NULL ? text.n : (size_t)(colon - text.p);
	port = slice_from(text, n + 1);
	text = slice_first(text, n);
	if (text.n > 2 && text.p[0] == '[' && text.p[text.n - 1] == ']')
		text = slice_from(slice_first(text, text.n - 1), 1);
	if (!read_port(port, &resolver->port) || !ip_parse(text, &resolver->ip))
		return read_refuse(&o->r, node,
		    "`%.*s` is no resolver: expected an address, with a port "
		    "if it is not 53, such as 10.0.0.53:5353",
		    SLICE_ARG(node->text));
	return true;
}

static bool
read_resolvers(struct read_owner *o, const struct doc_node *node,
    struct load_upstream *u)
{
	const struct doc_node *list = read_find(node, "resolvers");
	bool good = true;

	if (list == NULL)
		return true;
	if (!read_list(&o->r, list, "a list of addresses"))
		return false;
	if (list->n == 0 || list->n > OWNER_RESOLVERS_MAX)
		return read_refuse(&o->r, list, "expected 1 to %d resolvers",
		    OWNER_RESOLVERS_MAX);
	for (const struct doc_node *i = list->first; i != NULL; i = i->next)
		good = read_resolver(o, i, &u->resolvers[u->n_resolvers++]) &&
		    good;
	return good;
}

static bool
read_addresses(struct read_owner *o, const struct doc_node *node,
    struct load_upstream *u)
{
	const struct doc_node *list = read_find(node, "addresses");
	bool good = true;

	if (list == NULL)
		return true;
	if (!read_list(&o->r, list, "a list of addresses"))
		return false;
	if (list->n == 0 || list->n > OWNER_ADDRESSES_MAX)
		return read_refuse(&o->r, list, "expected 1 to %d addresses",
		    OWNER_ADDRESSES_MAX);
	u->addresses_at = read_at(&o->r, list);
	for (const struct doc_node *i = list->first; i != NULL; i = i->next)
		good =
		    read_ip(&o->r, i, &u->addresses[u->n_addresses++]) && good;
	return good;
}

static bool
add_roots(struct read_owner *o, const struct doc_node *node, struct slice pem,
    struct load_root root)
{
	struct load_owner_text *t = o->out;
	uint32_t before = t->n_roots;
	const char *bad;

	while (roots_take(o->r.arena, &pem, &root.der, &bad)) {
		if (bad != NULL)
			return read_refuse(&o->r, node, "`%.*s`: %s",
			    SLICE_ARG(node->text), bad);
		t->roots = READ_MORE(&o->r, t->roots, t->n_roots);
		t->roots[t->n_roots++] = root;
	}
	return t->n_roots != before ||
	    read_refuse(&o->r, node, "`%.*s` has no certificate (PEM)",
		SLICE_ARG(node->text));
}

static bool
read_root_file(struct read_owner *o, const struct doc_node *node, uint32_t item)
{
	struct slice path;
	struct buf pem;

	bool good = read_bundle(o, node, &path, &pem) &&
	    add_roots(o, node, buf_slice(&pem),
		(struct load_root){ .item = item, .file = path });
	buf_release(&pem);
	return good;
}

static bool
read_roots(struct read_owner *o, const struct doc_node *node,
    struct load_upstream *u)
{
	const struct doc_node *roots = read_find(node, "roots");
	const struct doc_node *only = read_find(node, "only_roots");
	bool good = true;

	if (only != NULL && !read_bool(&o->r, only, &u->only_roots))
		return false;
	if (u->only_roots && roots == NULL)
		return read_refuse(&o->r, only,
		    "`only_roots: true` without `roots` trusts nobody");
	if (roots == NULL)
		return true;
	if (!read_list(&o->r, roots, "a list of PEM files"))
		return false;
	for (const struct doc_node *i = roots->first; i != NULL; i = i->next)
		good = read_root_file(o, i, o->out->n_upstreams) && good;
	return good;
}

static bool
has_prefix(struct slice *text, const char *prefix)
{
	size_t n = strlen(prefix);

	if (!slice_has_prefix(*text, slice_of_str(prefix)))
		return false;
	*text = slice_from(*text, n);
	return true;
}

/* `http://HOST:PORT`, and nothing else of a URL. */
static bool
read_proxy_url(struct read_owner *o, const struct doc_node *node,
    struct load_upstream *u)
{
	struct slice text;
	struct host host;
	struct parse_fail fail;

	if (!read_scalar(&o->r, node, "a URL, `http://HOST:PORT`", &text))
		return false;
	if (text.n != 0 && memchr(text.p, '@', text.n) != NULL)
		return read_refuse(&o->r, node,
		    "a user name or password for a proxy is not in this "
		    "version, and no secret is written here: expected "
		    "`http://HOST:PORT`");
	if (!has_prefix(&text, "http://"))
		return read_refuse(&o->r, node,
		    "expected `http://HOST:PORT`; proxies of other schemes are "
		    "not in this version");
	if (text.n != 0 && text.p[text.n - 1] == '/')
		text.n--;
	const uint8_t *colon =
	    text.n == 0 ? NULL : memrchr(text.p, ':', text.n);
	size_t n = colon == NULL ? text.n : (size_t)(colon - text.p);
	if (!read_port(slice_from(text, n + 1), &u->proxy_port))
		return read_refuse(&o->r, node,
		    "`%.*s` has no port: expected `http://HOST:PORT`",
		    SLICE_ARG(node->text));
	if (host_from_policy(slice_first(text, n), &host, &fail) != PARSE_DONE)
		return read_refuse(&o->r, node,
		    "`%.*s` is no host (%s): expected a whole name or an "
		    "address, `http://proxy.corp.example:3128`",
		    (int)n, (const char *)text.p, fail.detail);
	u->proxy = arena_copy(o->r.arena, host_slice(&host));
	return true;
}

static bool
read_proxy(struct read_owner *o, const struct doc_node *node,
    struct load_upstream *u)
{
	static const char *const others[] = { "resolvers", "addresses" };
	const struct doc_node *proxy = read_find(node, "proxy");

	if (proxy == NULL)
		return true;
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		const struct doc_node *other = read_find(node, others[i]);
		if (other != NULL)
			return read_refuse(&o->r, other,
			    "`%s` beside `proxy`: the proxy resolves these "
			    "names",
			    others[i]);
	}
	if (!read_proxy_url(o, proxy, u))
		return false;
	load_advise(o->r.report, read_at(&o->r, proxy),
	    "`proxy` resolves these names itself: duenna cannot judge the "
	    "addresses that it connects to, private ones among them");
	return true;
}

static void
read_item(struct read_owner *o, const struct doc_node *node)
{
	static bool (*const parts[])(struct read_owner *,
	    const struct doc_node *, struct load_upstream *) = { read_names,
		read_resolvers, read_addresses, read_roots, read_proxy };
	struct load_upstream u = { 0 };
	struct load_owner_text *t = o->out;
	bool good = true;

	if (!read_keys(&o->r, node, item_keys, COUNT_OF(item_keys), NULL))
		return;
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		good = parts[i](o, node, &u) && good;
	if (!good)
		return; /* there is an error, so no image that could miss it */
	t->upstreams = READ_MORE(&o->r, t->upstreams, t->n_upstreams);
	t->upstreams[t->n_upstreams++] = u;
}

void
read_upstream(struct read_owner *o, const struct doc_node *node)
{
	if (!read_list(&o->r, node,
		"a list of items such as `- names: [\"**\"]`"))
		return;
	for (const struct doc_node *i = node->first; i != NULL; i = i->next)
		read_item(o, i);
}
