/* SPDX-License-Identifier: Apache-2.0 */
#include "load/parameter.h"
#include "base/ascii.h"
#include "base/limits.h"
#include "base/nearest.h"
#include "policy/program.h"
#include "wire/host.h"
#include "wire/urlpath.h"

#define VALUE_MAX 255 /* bytes; of a host 253 */

static const struct {
	const char *name, *expected;
} types[PARAMETER_TYPES] = {
	[PARAMETER_SEGMENT] = { "segment",
	    "one segment of a path, of letters, digits and "
	    "`-._~!$&'()+,;=:@`" },
	[PARAMETER_REPOSITORY] = { "repository",
	    "OWNER/NAME, each of letters, digits and `-._~`, without `.git`" },
	[PARAMETER_REF] = { "ref",
	    "a branch or tag as git takes it, such as `main` or `fix/42`, of "
	    "letters, digits and `-._!$&'()+,;=@`" },
	[PARAMETER_HOST] = { "host",
	    "one host name of at least two labels, such as "
	    "`api.example.com`, without wildcard, port or path" },
	[PARAMETER_NAME] = { "name", "a name" },
};

/* Would a path have it as one segment, meaning itself and nothing else? */
static bool
is_segment(struct slice s, const char *also)
{
	uint8_t path[VALUE_MAX + 1], out[VALUE_MAX + 1];
	struct parse_fail fail;
	struct urlpath canon;

	if (s.n == 0 || s.n > VALUE_MAX)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alnum(s.p[i]) &&
		    (s.p[i] == '\0' || strchr(also, s.p[i]) == NULL))
			return false;
	path[0] = '/';
	memcpy(path + 1, s.p, s.n);
	/* This finds the segments that mean "here" and "above". */
	return urlpath_canon(slice_of(path, s.n + 1), sizeof(path), out, &canon,
		   &fail) == PARSE_DONE;
}

static bool
ends_in(struct slice s, const char *end)
{
	size_t n = strlen(end);

	return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

static bool
is_repository(struct slice s)
{
	static const char also[] = "-._~";
	const uint8_t *slash = s.n == 0 ? NULL : memchr(s.p, '/', s.n);

	if (slash == NULL || s.n > VALUE_MAX || ends_in(s, ".git"))
		return false;
	size_t n = (size_t)(slash - s.p);
	return is_segment(slice_first(s, n), also) &&
	    is_segment(slice_from(s, n + 1), also);
}

/* git-check-ref-format(1), and nothing that a pattern would read. */
static bool
is_ref(struct slice s)
{
	struct slice rest = s;

	if (s.n == 0 || s.n > VALUE_MAX || s.p[0] == '-' || ends_in(s, ".") ||
	    slice_eq_str(s, "@") || memmem(s.p, s.n, "..", 2) != NULL)
		return false;
	for (;;) {
		const uint8_t *slash =
		    rest.n == 0 ? NULL : memchr(rest.p, '/', rest.n);
		size_t n = slash == NULL ? rest.n : (size_t)(slash - rest.p);
		struct slice part = slice_first(rest, n);
		if (!is_segment(part, "-._!$&'()+,;=@") || part.p[0] == '.' ||
		    ends_in(part, ".lock"))
			return false;
		if (slash == NULL)
			return true;
		rest = slice_from(rest, n + 1);
	}
}

static bool
host_value(struct slice text, struct arena *a, struct slice *value)
{
	struct parse_fail fail;
	struct host host;

	if (host_from_policy(text, &host, &fail) != PARSE_DONE || host.is_ip)
		return false;
	*value = arena_copy(a, host_slice(&host));
	return true;
}

bool
parameter_value(enum parameter_type type, struct slice text, struct arena *a,
    struct slice *value, const char **expected)
{
	*value = text;
	*expected = types[type].expected;
	switch (type) {
	case PARAMETER_SEGMENT:
		return is_segment(text, "-._~!$&'()+,;=:@");
	case PARAMETER_REPOSITORY:
		return is_repository(text);
	case PARAMETER_REF:
		return is_ref(text);
	case PARAMETER_HOST:
		return host_value(text, a, value);
	case PARAMETER_NAME:
		return is_segment(text, "-");
	case PARAMETER_TYPES:
		break;
	}
	return false;
}

static struct load_parameter *
find(const struct load_parameters *p, struct slice name)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (slice_eq(p->list[i].name, name))
			return &p->list[i];
	return NULL;
}

bool
parameters_has(const struct load_parameters *p, struct slice name)
{
	return find(p, name) != NULL;
}

static struct nearest
nearest_parameter(const struct load_parameters *p, struct slice name)
{
	struct nearest n = nearest_to(name);

	for (uint32_t i = 0; i < p->n; i++)
		nearest_look(&n, p->list[i].name);
	return n;
}

static bool
set_value(const struct read *r, struct load_parameter *p, struct slice text,
    struct load_at at)
{
	const char *expected = "";

	p->has_value =
	    parameter_value(p->type, text, r->arena, &p->value, &expected);
	if (p->has_value)
		return true;
	p->bad = true;
	load_error(r->report, at, "`%.*s` is no %s for `%.*s`: expected %s",
	    SLICE_ARG(text), types[p->type].name, SLICE_ARG(p->name), expected);
	return false;
}

static bool
read_type(const struct read *r, const struct doc_node *node,
    enum parameter_type *type)
{
	static const char expected[] =
	    "`segment`, `repository`, `ref` or `host`";
	struct slice text;

	if (!read_scalar(r, node, expected, &text))
		return false;
	struct nearest near = nearest_to(text);
	for (unsigned t = 0; t < PARAMETER_NAME; t++) {
		*type = (enum parameter_type)t;
		if (slice_eq_str(text, types[t].name))
			return true;
		nearest_look(&near, slice_of_str(types[t].name));
	}
	return read_refuse(r, node, "unknown type `%.*s`" NEAREST_FMT "%s%s",
	    SLICE_ARG(text), NEAREST_ARG(near),
	    near.best.n != 0 ? "" : "; expected ",
	    near.best.n != 0 ? "" : expected);
}

/* `TYPE`, or `{type: TYPE, default: VALUE}`. */
static bool
read_declaration(const struct read *r, const struct doc_node *key,
    struct load_parameter *p)
{
	static const struct read_key keys[] = { { "type", READ_HERE },
		{ "default", READ_HERE } };
	const struct doc_node *body = key->value;
	bool unknown = false;
	struct slice text;

	if (!read_name(r, key, "the name of a parameter", &p->name))
		return false;
	if (body->kind == DOC_SCALAR)
		return read_type(r, body, &p->type);
	if (!read_keys(r, body, keys, COUNT_OF(keys), &unknown))
		return false;
	const struct doc_node *type = read_find(body, "type");
	const struct doc_node *value = read_find(body, "default");
	if (type == NULL)
		return !unknown &&
		    read_refuse(r, body,
			"`type` is missing: `segment`, `repository`, `ref` or "
			"`host`");
	if (!read_type(r, type, &p->type))
		return false;
	return value == NULL ||
	    (read_scalar(r, value, "the value that is taken if none is set",
		 &text) &&
		set_value(r, p, text, read_at(r, value)));
}

static void
add_built_in(struct load_parameters *p, const char *name, struct slice value)
{
	p->list[p->n++] = (struct load_parameter){ .name = slice_of_str(name),
		.type = PARAMETER_NAME,
		.value = value,
		.has_value = true,
		.used = true };
}

bool
parameters_read(const struct read *r, const struct load_policy_in *in,
    const struct doc_node *node, struct slice policy,
    struct load_parameters *out)
{
	char name[PROGRAM_SANDBOX_SIZE];

	*out = (struct load_parameters){ .n = 0 };
	if (node != NULL && node->kind != DOC_MAPPING)
		return read_refuse(r, node,
		    "expected a mapping from names to types, such as `{repo: "
		    "repository}`");
	uint32_t n = node == NULL ? 0 : node->n;
	if (n > LIMIT_POLICY_PARAMETERS)
		return read_refuse(r, node, "more than %d parameters",
		    LIMIT_POLICY_PARAMETERS);
	out->list = arena_alloc(r->arena, (n + 2) * sizeof(*out->list));
	program_sandbox_name(policy, in->digits, name);
	add_built_in(out, "sandbox",
	    in->sandbox.n != 0 ? in->sandbox :
				 arena_copy(r->arena, slice_of_str(name)));
	add_built_in(out, "tenant",
	    in->tenant.n != 0 ? in->tenant : SLICE("default"));
	for (const struct doc_node *k = node == NULL ? NULL : node->first;
	     k != NULL; k = k->next) {
		struct load_parameter p = { .at = read_at(r, k),
			.name = k->text };
		if (find(out, k->text) != NULL) {
			read_refuse(r, k,
			    "`%.*s` is built in: choose another name",
			    SLICE_ARG(k->text));
			continue;
		}
		/* Its name is known all the same: one error is enough. */
		if (!read_declaration(r, k, &p))
			p.bad = true;
		out->list[out->n++] = p;
	}
	return true;
}

bool
parameters_set(const struct read *r, struct load_parameters *p,
    const struct load_set *set, struct load_at at)
{
	struct load_parameter *one = find(p, set->key);

	if (one != NULL && one->type == PARAMETER_NAME) {
		load_error(r->report, at, "`%.*s` is built in: not to be set",
		    SLICE_ARG(set->key));
		return false;
	}
	if (one == NULL) {
		struct nearest near = nearest_parameter(p, set->key);
		load_error(r->report, at,
		    "there is no parameter `%.*s` to be set" NEAREST_FMT,
		    SLICE_ARG(set->key), NEAREST_ARG(near));
		return false;
	}
	return set_value(r, one, set->value, at);
}

static void
say_unset(const struct read *r, const struct load_parameter *p,
    const char *where)
{
	char option[64];

	snprintf(option, sizeof(option), "`--set %.*s=VALUE`",
	    SLICE_ARG(p->name));
	load_error(r->report, p->at,
	    "parameter `%.*s` has no value: give %s, or write a `default:`",
	    SLICE_ARG(p->name), where[0] == '\0' ? option : where);
}

bool
parameters_are_set(const struct read *r, const struct load_parameters *p,
    const char *where)
{
	bool good = true;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct load_parameter *one = &p->list[i];
		if (one->has_value)
			continue;
		good = false;
		if (where != NULL && !one->bad)
			say_unset(r, one, where);
	}
	return good;
}

void
parameters_warn_unused(const struct read *r, const struct load_parameters *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (!p->list[i].used && !p->list[i].bad)
			load_warn(r->report, p->list[i].at,
			    "parameter `%.*s` is used by no rule",
			    SLICE_ARG(p->list[i].name));
}
