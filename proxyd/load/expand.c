/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/nearest.h"
#include "load/parameter.h"

#define OPEN SLICE("${")

static bool
has_parameter(struct slice text)
{
	return text.n >= 2 && memmem(text.p, text.n, OPEN.p, OPEN.n) != NULL;
}

/* `${NAME}` and nothing else. */
static bool
take_name(struct slice text, struct slice *name)
{
	if (!slice_has_prefix(text, OPEN) || text.p[text.n - 1] != '}')
		return false;
	*name = slice_first(slice_from(text, OPEN.n), text.n - OPEN.n - 1);
	return memchr(name->p, '}', name->n) == NULL && !has_parameter(*name);
}

static struct load_parameter *
find(const struct read *r, const struct doc_node *node, struct slice name)
{
	struct nearest near = nearest_to(name);

	for (uint32_t i = 0; i < r->parameters->n; i++) {
		struct load_parameter *p = &r->parameters->list[i];
		if (slice_eq(p->name, name))
			return p;
		nearest_look(&near, p->name);
	}
	read_refuse(r, node,
	    "`${%.*s}` is no parameter" NEAREST_FMT "; parameters are declared "
	    "under `parameters:`, variables of the environment are none",
	    SLICE_ARG(name), NEAREST_ARG(near));
	return NULL;
}

/*
 * One whole element.
 *
 * fits	 set of types that may stand there
 * what	 the place in words, for the complaint
 */
static bool
expand(const struct read *r, const struct doc_node *node, struct slice element,
    unsigned fits, const char *what, struct slice *out)
{
	struct slice name;

	*out = element;
	if (!has_parameter(element))
		return true;
	if (r->parameters == NULL)
		return read_refuse(r, node,
		    "parameters (`${…}`) stand in the rules of a policy only");
	if (!take_name(element, &name))
		return read_refuse(r, node,
		    "`%.*s`: a parameter is %s and not a part of one",
		    SLICE_ARG(element), what);
	struct load_parameter *p = find(r, node, name);
	if (p == NULL)
		return false;
	p->used = true;
	if ((fits & PARAMETER_BIT(p->type)) == 0)
		return read_refuse(r, node,
		    "`${%.*s}` does not fit here: this is %s", SLICE_ARG(name),
		    what);
	*out = p->value;
	return p->has_value;
}

/* Segment by segment, into `out`. */
static bool
expand_path(const struct read *r, const struct doc_node *node,
    struct slice path, struct buf *out)
{
	const unsigned fits = PARAMETER_BIT(PARAMETER_SEGMENT) |
	    PARAMETER_BIT(PARAMETER_REPOSITORY) | PARAMETER_BIT(PARAMETER_REF) |
	    PARAMETER_BIT(PARAMETER_NAME);
	struct slice part;
	size_t from = 0;

	for (size_t i = 0; i <= path.n; i++) {
		if (i < path.n && path.p[i] != '/')
			continue;
		part = slice_first(slice_from(path, from), i - from);
		if (!expand(r, node, part, fits, "whole segments of a path",
			&part))
			return false;
		buf_put(out, part);
		if (i < path.n)
			buf_put_byte(out, '/');
		from = i + 1;
	}
	return true;
}

/* Up to one of `ends`, off the front. */
static struct slice
take(struct slice *rest, const char *ends)
{
	size_t n = 0;

	while (n < rest->n &&
	    (rest->p[n] == '\0' || strchr(ends, rest->p[n]) == NULL))
		n++;
	struct slice part = slice_first(*rest, n);
	*rest = slice_from(*rest, n);
	return part;
}

static bool
expand_url(const struct read *r, const struct doc_node *node, struct slice rest,
    struct buf *out)
{
	struct slice host = take(&rest, ":/?#");

	if (!expand(r, node, host, PARAMETER_BIT(PARAMETER_HOST),
		"a whole host (of type `host`)", &host))
		return false;
	buf_put(out, host);
	buf_put(out, take(&rest, "/?#"));
	return expand_path(r, node, rest, out);
}

bool
parameter_pattern(const struct read *r, const struct doc_node *node,
    struct slice *text)
{
	const uint8_t *scheme =
	    text->n < 3 ? NULL : memmem(text->p, text->n, "://", 3);
	struct buf out;

	if (!has_parameter(*text) || scheme == NULL)
		return true; /* without a scheme it is refused soon */
	size_t n = (size_t)(scheme - text->p) + 3;
	/* A path of more than its limit is refused soon as well. */
	buf_init(&out, text->n + 2 * LIMIT_PATH_SIZE);
	buf_put(&out, slice_first(*text, n));
	bool good = expand_url(r, node, slice_from(*text, n), &out);
	if (good && out.failed)
		good = read_refuse(r, node, "the pattern is too long");
	*text = arena_copy(r->arena, buf_slice(&out));
	buf_release(&out);
	return good;
}

bool
parameter_path(const struct read *r, const struct doc_node *node,
    struct slice *text)
{
	struct buf out;

	if (!has_parameter(*text))
		return true;
	buf_init(&out, text->n + 2 * LIMIT_PATH_SIZE);
	bool good = expand_path(r, node, *text, &out);
	if (good && out.failed)
		good = read_refuse(r, node, "the pattern is too long");
	*text = arena_copy(r->arena, buf_slice(&out));
	buf_release(&out);
	return good;
}

bool
parameter_whole(const struct read *r, const struct doc_node *node,
    struct slice *text)
{
	return expand(r, node, *text, ~0U, "a whole value", text);
}
