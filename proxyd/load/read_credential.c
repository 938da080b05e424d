/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ascii.h"
#include "load/owner_text.h"
#include "load/pattern.h"

static const struct read_key credential_keys[] = {
	{ "kind", READ_HERE },
	{ "secret", READ_HERE },
	{ "only", READ_HERE },
	{ "place", READ_HERE },
	{ "header", READ_HERE },
	{ "prefix", READ_HERE },
	{ "response_filter", READ_HERE },
	{ "ranges", READ_HERE },
	{ "echo", READ_HERE },
	{ "slot", READ_HERE },
	{ "user", READ_HERE },
	{ "parameter", READ_HERE },
	{ "parts", READ_LATER },
};

static const struct read_key place_keys[] = {
	{ "env", READ_HERE },
	{ "like", READ_HERE },
};

static bool
add_only(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	c->only = READ_MORE(&o->r, c->only, c->n_only);
	struct load_pattern *p = &c->only[c->n_only];
	if (!pattern_read(&o->r, node, false, p))
		return false;
	if (scheme_is_upgrade(p->scheme))
		return read_refuse(&o->r, node,
		    "`%s://`: expected `https://`, which stands for the "
		    "`wss://` of the same place, too",
		    scheme_name(p->scheme));
	if (p->scheme != SCHEME_HTTPS && p->scheme != SCHEME_GIT)
		return read_refuse(&o->r, node,
		    "a token never goes over plain HTTP: expected `https://` "
		    "or `git+https://`");
	if (p->host.kind == HOST_DOUBLE && p->host.behind.n == 0)
		load_warn(o->r.report, read_at(&o->r, node),
		    "`**` is every name: there is no ceiling");
	c->n_only++;
	return true;
}

static bool
read_only(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	const struct doc_node *only = read_find(node, "only");
	bool good = true;

	if (only == NULL)
		return read_refuse(&o->r, node,
		    "`only` is missing: the URL patterns that it may go to");
	if (only->kind != DOC_LIST)
		return add_only(o, only, c);
	if (only->n == 0)
		return read_refuse(&o->r, only,
		    "an empty list: expected at least one URL pattern");
	for (const struct doc_node *i = only->first; i != NULL; i = i->next)
		good = add_only(o, i, c) && good;
	return good;
}

static bool
add_place(struct read_owner *o, const struct doc_node *node, struct slice like,
    struct load_credential *c)
{
	struct slice name;

	if (!read_variable(o, node, &name))
		return false;
	if (c->n_places == OWNER_PLACES_MAX)
		return read_refuse(&o->r, node, "more than %d variables",
		    OWNER_PLACES_MAX);
	c->places[c->n_places].env = name;
	c->places[c->n_places++].like = like;
	return true;
}

static bool
read_like(struct read_owner *o, const struct doc_node *node, struct slice *like)
{
	if (!read_scalar(&o->r, node, "a shape such as `ghp_`", like))
		return false;
	for (size_t i = 0; i < like->n; i++)
		if ((!ascii_is_alnum(like->p[i]) &&
			memchr("-_.", like->p[i], 3) == NULL) ||
		    like->n > 32)
			return read_refuse(&o->r, node,
			    "a shape has letters, digits, `-_.`, at most 32 "
			    "bytes");
	return true;
}

static bool
read_place(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	struct slice like = { 0 };
	bool good = true;

	if (!read_keys(&o->r, node, place_keys, COUNT_OF(place_keys), NULL))
		return false;
	const struct doc_node *env = read_find(node, "env");
	const struct doc_node *shape = read_find(node, "like");
	if (env == NULL)
		return read_refuse(&o->r, node,
		    "`env` is missing: the variables that get the placeholder");
	if (shape != NULL && !read_like(o, shape, &like))
		return false;
	if (env->kind != DOC_LIST)
		return add_place(o, env, like, c);
	for (const struct doc_node *i = env->first; i != NULL; i = i->next)
		good = add_place(o, i, like, c) && good;
	return good;
}

static bool
read_places(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	const struct doc_node *place = read_find(node, "place");
	bool good = true;

	if (place == NULL)
		return true;
	if (!read_list(&o->r, place,
		"a list such as `[{env: [GH_TOKEN], like: ghp_}]`"))
		return false;
	for (const struct doc_node *i = place->first; i != NULL; i = i->next)
		good = read_place(o, i, c) && good;
	return good;
}

static bool
read_flags(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	const struct doc_node *filter = read_find(node, "response_filter");
	const struct doc_node *ranges = read_find(node, "ranges");
	const struct doc_node *echo = read_find(node, "echo");
	bool on = true, pieces = false;
	struct slice text;

	if (filter != NULL && !read_bool(&o->r, filter, &on))
		return false;
	if (ranges != NULL && !read_bool(&o->r, ranges, &pieces))
		return false;
	if (echo != NULL &&
	    (!read_scalar(&o->r, echo, "`mask`", &text) ||
		(!slice_eq_str(text, "mask") &&
		    !read_refuse(&o->r, echo, "expected `mask`"))))
		return false;
	c->flags = (on ? CREDENTIAL_RESPONSE_FILTER : 0U) |
	    (pieces ? CREDENTIAL_RANGES : 0U) |
	    (echo != NULL ? CREDENTIAL_ECHO_MASK : 0U);
	if (!on)
		load_advise(o->r.report, read_at(&o->r, filter),
		    "`response_filter: false`: an answer that shows the token "
		    "shows it to the command");
	if (pieces)
		load_advise(o->r.report, read_at(&o->r, ranges),
		    "`ranges: true`: a token that is echoed can be read in "
		    "pieces");
	if (echo != NULL)
		load_advise(o->r.report, read_at(&o->r, echo),
		    "`echo: mask`: an origin that echoes the token is never "
		    "closed");
	return true;
}

static bool
is_new(struct read_owner *o, const struct doc_node *key, struct slice name)
{
	const struct load_owner_text *t = o->out;

	for (uint32_t i = 0; i < t->n_credentials; i++)
		if (slice_eq(t->credentials[i].name, name))
			return read_refuse(&o->r, key,
			    "a second credential `%.*s`, the first is at "
			    "%.*s:%u",
			    SLICE_ARG(name),
			    SLICE_ARG(t->credentials[i].at.file),
			    t->credentials[i].at.line);
	return true;
}

static bool
has_place(const struct load_credential *c, struct slice variable)
{
	for (uint32_t i = 0; i < c->n_places; i++)
		if (slice_eq(c->places[i].env, variable))
			return true;
	return false;
}

/* One variable has one placeholder. */
static bool
is_free_place(struct read_owner *o, const struct load_credential *c,
    struct slice variable)
{
	const struct load_owner_text *t = o->out;

	for (uint32_t i = 0; i < t->n_credentials; i++) {
		if (!has_place(&t->credentials[i], variable))
			continue;
		load_error(o->r.report, c->at,
		    "`place` names the variable `%.*s`, which credential "
		    "`%.*s` has already",
		    SLICE_ARG(variable), SLICE_ARG(t->credentials[i].name));
		return false;
	}
	return true;
}

static void
read_credential(struct read_owner *o, const struct doc_node *key)
{
	static bool (*const parts[])(struct read_owner *,
	    const struct doc_node *, struct load_credential *) = { read_secret,
		read_only, read_places, read_flags };
	struct load_credential c = { .at = read_at(&o->r, key) };
	struct load_owner_text *t = o->out;
	bool good = true;

	if (!read_name(&o->r, key, "the name of a credential", &c.name) ||
	    !is_new(o, key, c.name) ||
	    !read_keys(&o->r, key->value, credential_keys,
		COUNT_OF(credential_keys), NULL))
		return;
	/* Without a kind there is nothing to be said of its slot. */
	if (read_kind(o, key->value, &c))
		good = read_slot(o, key->value, &c);
	else
		good = false;
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		good = parts[i](o, key->value, &c) && good;
	for (uint32_t i = 0; good && i < c.n_places; i++)
		good = is_free_place(o, &c, c.places[i].env);
	if (!good)
		return;
	t->credentials = READ_MORE(&o->r, t->credentials, t->n_credentials);
	t->credentials[t->n_credentials++] = c;
}

void
read_credentials(struct read_owner *o, const struct doc_node *node)
{
	if (node->kind != DOC_MAPPING) {
		read_refuse(&o->r, node,
		    "expected a mapping from names to credentials");
		return;
	}
	for (const struct doc_node *k = node->first; k != NULL; k = k->next)
		read_credential(o, k);
}
