/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `include:` of a policy: the rules of another one, in its place in the list.
 *
 * What is included is as little trusted as a file of its own: it is read by the
 * same readers, sees no parameter that is not set for it, and carries no
 * credential that is not mapped.
 */
#include "base/limits.h"
#include "load/parameter.h"
#include "load/preset.h"
#include "load/read_policy.h"
#include "policy/image.h"

static const struct read_key include_keys[] = {
	{ "include", READ_HERE },
	{ "name", READ_HERE },
	{ "set", READ_HERE },
	{ "credentials", READ_HERE },
};

/* What is between the last slash and the suffix. */
static struct slice
stem_of(struct slice path)
{
	struct slice yaml = SLICE(".yaml"), stem = path;

	for (size_t i = 0; i < path.n; i++)
		if (path.p[i] == '/')
			stem = slice_from(path, i + 1);
	if (stem.n > yaml.n &&
	    slice_eq(slice_from(stem, stem.n - yaml.n), yaml))
		stem.n -= yaml.n;
	return stem;
}

static bool
is_name(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (memchr("abcdefghijklmnopqrstuvwxyz0123456789-", s.p[i],
			37) == NULL)
			return false;
	return s.n != 0 && s.n <= READ_NAME_MAX;
}

/* "OUTER/NAME/" is what the names of its rules begin with. */
static bool
read_prefix_name(struct read_policy *p, const struct doc_node *node,
    struct slice path, struct read_scope *s)
{
	const struct doc_node *given = read_find(node, "name");
	struct slice outer = p->scope->prefix, name = stem_of(path);

	if (given != NULL && !read_name(&p->r, given, "a name", &name))
		return false;
	if (!is_name(name))
		return read_refuse(&p->r, read_find(node, "include"),
		    "`%.*s` makes no name for its rules: write `name: …` "
		    "beside `include:`",
		    SLICE_ARG(name));
	uint8_t *text = arena_alloc(p->r.arena, outer.n + name.n + 1);
	if (outer.n != 0)
		memcpy(text, outer.p, outer.n);
	memcpy(text + outer.n, name.p, name.n);
	text[outer.n + name.n] = '/';
	s->prefix = slice_of(text, outer.n + name.n + 1);
	return true;
}

/* The name for messages: relative to what the including file is relative to. */
static struct slice
name_of(struct read_policy *p, struct slice path)
{
	struct slice from = p->scope->name, dot = SLICE("./");
	size_t n = from.n;

	if (slice_has_prefix(path, dot))
		path = slice_from(path, dot.n);
	while (n > 0 && from.p[n - 1] != '/')
		n--;
	uint8_t *name = arena_alloc(p->r.arena, n + path.n);
	memcpy(name, from.p, n);
	memcpy(name + n, path.p, path.n);
	return slice_of(name, n + path.n);
}

/* "a.yaml includes b.yaml includes a.yaml" */
static void
put_chain(struct buf *out, const struct read_scope *s)
{
	if (s->outer != NULL) {
		put_chain(out, s->outer);
		buf_put_str(out, " includes ");
	}
	buf_put(out, s->name);
}

static bool
check_cycle(struct read_policy *p, const struct doc_node *node,
    const struct read_scope *s)
{
	struct buf chain;

	for (const struct read_scope *o = s->outer; o != NULL; o = o->outer) {
		bool same = s->preset ?
		    o->preset && slice_eq(o->name, s->name) :
		    !o->preset && o->number == s->number;
		if (!same)
			continue;
		buf_init(&chain, 8192);
		put_chain(&chain, s);
		read_refuse(&p->r, node, "a circle: %s", buf_text(&chain));
		buf_release(&chain);
		return false;
	}
	return true;
}

static bool
open_preset(struct read_policy *p, const struct doc_node *node,
    struct read_scope *s, struct slice *bytes)
{
	struct buf list;

	s->preset = true;
	if (preset_find(slice_from(s->name, LOAD_PRESET.n), bytes))
		return true;
	buf_init(&list, 4096);
	preset_put_unknown(slice_from(s->name, LOAD_PRESET.n), &list);
	read_refuse(&p->r, node, "%s", buf_text(&list));
	buf_release(&list);
	return false;
}

static bool
open_file(struct read_policy *p, const struct doc_node *node, struct slice path,
    struct read_scope *s, struct slice *bytes)
{
	struct load_included included = { .number = 0 };

	if (p->scope->preset)
		return read_refuse(&p->r, node,
		    "a preset includes presets only");
	s->name = name_of(p, path);
	s->trusted = p->scope->trusted;
	const char *why = p->in->include == NULL ?
	    "nothing can be included here" :
	    p->in->include(p->in->ctx, p->scope->number, path, &included);
	if (why != NULL)
		return read_refuse(&p->r, node, "`%.*s`: %s",
		    SLICE_ARG(s->name), why);
	s->number = included.number;
	*bytes = included.bytes;
	return true;
}

static bool
open_included(struct read_policy *p, const struct doc_node *node,
    struct slice path, struct read_scope *s, struct slice *bytes)
{
	if (s->depth > LIMIT_POLICY_INCLUDE_DEPTH)
		return read_refuse(&p->r, node,
		    "includes inside of each other deeper than %d",
		    LIMIT_POLICY_INCLUDE_DEPTH);
	if (++p->n_includes > LIMIT_POLICY_INCLUDES)
		return read_refuse(&p->r, node, "more than %d includes",
		    LIMIT_POLICY_INCLUDES);
	s->name = path;
	if (!(slice_has_prefix(path, LOAD_PRESET) ?
		    open_preset(p, node, s, bytes) :
		    open_file(p, node, path, s, bytes)))
		return false;
	if (!check_cycle(p, node, s))
		return false;
	p->n_bytes += bytes->n;
	if (p->n_bytes > LIMIT_POLICY_SIZE)
		return read_refuse(&p->r, node,
		    "more than %d bytes in all files of this policy",
		    LIMIT_POLICY_SIZE);
	return true;
}

/* `credentials: {THEIRS: OURS}`; `ours` is looked up where this stands. */
static bool
read_mapped(struct read_policy *p, const struct doc_node *node,
    struct read_scope *s)
{
	bool good = true;

	if (node == NULL)
		return true;
	if (node->kind != DOC_MAPPING)
		return read_refuse(&p->r, node,
		    "expected a mapping from the names of credentials in there "
		    "to your own, such as `{token: github}`");
	s->mapped = arena_alloc(p->r.arena, (node->n + 1) * sizeof(*s->mapped));
	for (const struct doc_node *k = node->first; k != NULL; k = k->next) {
		struct read_mapped *m = &s->mapped[s->n_mapped];
		m->at = read_at(&p->r, k);
		if (!read_name(&p->r, k, "the name of a credential",
			&m->name)) {
			good = false;
			continue;
		}
		/* It is mapped all the same: one complaint is enough. */
		s->n_mapped++;
		if (read_credential_name(p, k->value, &m->credential))
			continue;
		m->credential = IMAGE_NONE;
		good = false;
	}
	return good;
}

/* `set: {PARAMETER: VALUE}`: a value may be one of ours as a whole. */
static bool
read_set(struct read_policy *p, const struct doc_node *node,
    struct load_parameters *theirs)
{
	bool good = true;

	if (node == NULL)
		return true;
	if (node->kind != DOC_MAPPING)
		return read_refuse(&p->r, node,
		    "expected a mapping from parameters to values, such as "
		    "`{repo: acme/widgets}`");
	for (const struct doc_node *k = node->first; k != NULL; k = k->next) {
		struct load_set set = { .key = k->text };
		good = read_scalar(&p->r, k->value, "a value", &set.value) &&
		    parameter_whole(&p->r, k->value, &set.value) &&
		    parameters_set(&p->r, theirs, &set,
			read_at(&p->r, k->value)) &&
		    good;
	}
	return good;
}

static void
warn_unused(struct read_policy *p, const struct read_scope *s)
{
	for (uint32_t i = 0; i < s->n_mapped; i++)
		if (!s->mapped[i].used)
			load_warn(p->r.report, s->mapped[i].at,
			    "no rule in `%.*s` names a credential `%.*s`",
			    SLICE_ARG(s->name), SLICE_ARG(s->mapped[i].name));
}

/* The policy's mapping, with the reader in the included file from here on. */
static bool
read_inside(struct read_policy *p, const struct doc_node *node,
    const struct doc_node *body, struct read_scope *s,
    struct load_policy_text *policy)
{
	struct read outer = p->r;
	struct load_parameters theirs;
	const struct doc_node *rules;
	char advice[80];

	p->r.file = s->name;
	if (!read_policy_rules(p, body, &rules) ||
	    !parameters_read(&p->r, p->in, read_find(body, "parameters"),
		policy->name, &theirs)) {
		p->r = outer;
		return false;
	}
	p->r = outer;
	bool good = read_set(p, read_find(node, "set"), &theirs);
	p->r.file = s->name;
	p->r.parameters = &theirs;
	snprintf(advice, sizeof(advice),
	    "`set:` beside the `include:` on line %u", s->at.line);
	good = parameters_are_set(&p->r, &theirs, good ? advice : NULL) && good;
	read_included_keys(&p->r, body);
	p->scope = s;
	good = read_rules(p, rules, policy) && good;
	if (good)
		parameters_warn_unused(&p->r, &theirs);
	p->scope = s->outer;
	p->r = outer;
	return good;
}

bool
read_include(struct read_policy *p, const struct doc_node *node,
    struct load_policy_text *policy)
{
	struct read_scope *s = arena_alloc(p->r.arena, sizeof(*s));
	const struct doc_node *path = read_find(node, "include"), *body;
	struct slice text, bytes, name = { 0 };

	*s = (struct read_scope){ .outer = p->scope,
		.at = read_at(&p->r, node),
		.depth = p->scope->depth + 1 };
	if (!read_keys(&p->r, node, include_keys, COUNT_OF(include_keys),
		NULL) ||
	    !read_scalar(&p->r, path,
		"`preset/NAME`, or the path of a file below this one's folder",
		&text))
		return false;
	/* FILE:NAME */
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == ':')
			name = slice_from(text, i + 1);
	text = slice_first(text, text.n - (name.p == NULL ? 0 : name.n + 1));
	bool good = read_mapped(p, read_find(node, "credentials"), s);
	if (!read_prefix_name(p, node, text, s) ||
	    !open_included(p, path, text, s, &bytes))
		return false;
	body = read_policy_choose(p, bytes, s->name, name);
	if (body == NULL)
		return false;
	good = read_inside(p, node, body, s, policy) && good;
	if (good)
		warn_unused(p, s);
	return good;
}
