/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sandboxes:` and `control:` of a gateway.  A sandbox here says what a call to
 * the control socket would, by the same keys, and is handed on in that form; but
 * for what is a secret, or would be another thing tomorrow (`pid`).
 */
#include "base/ascii.h"
#include "base/limits.h"
#include "load/owner_text.h"
#include "priv/parts.h"

static const struct read_key sandbox_keys[] = {
	{ "policy", READ_HERE },
	{ "set", READ_HERE },
	{ "tenant", READ_HERE },
	{ "labels", READ_HERE },
	{ "capture", READ_HERE },
	{ "netns", READ_HERE },
	{ "interface", READ_HERE },
	{ "addresses", READ_HERE },
	{ "mac", READ_HERE },
	{ "listen", READ_HERE },
	{ "token_file", READ_HERE },
};

static const struct read_key control_keys[] = {
	{ "view", READ_HERE },
	{ "attach", READ_HERE },
	{ "policy", READ_HERE },
};

/* A mapping of words; false: what was wrong has been said. */
static bool
read_pairs(struct read_owner *o, const struct doc_node *node,
    struct control_pair *pairs, size_t max, size_t *n)
{
	if (node->kind != DOC_MAPPING)
		return read_refuse(&o->r, node, "expected KEY: VALUE");
	for (const struct doc_node *k = node->first; k != NULL; k = k->next) {
		if (*n == max)
			return read_refuse(&o->r, k, "more than %zu", max);
		pairs[*n].key = k->text;
		if (!read_scalar(&o->r, k->value, "a word", &pairs[*n].value))
			return false;
		(*n)++;
	}
	return true;
}

static bool
read_addresses(struct read_owner *o, const struct doc_node *node,
    struct control_attach *a)
{
	struct slice text;

	if (!read_list(&o->r, node, "a list of addresses"))
		return false;
	for (const struct doc_node *i = node->first; i != NULL; i = i->next) {
		if (a->n_addresses == CONTROL_ADDRESSES_MAX)
			return read_refuse(&o->r, i, "more than %d",
			    CONTROL_ADDRESSES_MAX);
		if (!read_scalar(&o->r, i, "an address", &text))
			return false;
		if (!parts_address(text, &a->addresses[a->n_addresses]))
			return read_refuse(&o->r, i,
			    "expected ADDRESS or ADDRESS/BITS, found `%.*s`",
			    SLICE_ARG(text));
		a->n_addresses++;
	}
	return true;
}

static bool
read_mode(struct read_owner *o, const struct doc_node *node,
    struct control_attach *a)
{
	struct slice text;

	if (!read_scalar(&o->r, node, "a kind of capture", &text))
		return false;
	a->mode = capture_mode_find(text);
	if (a->mode != CAPTURE_MODES)
		return true;
	return read_refuse(&o->r, node,
	    "expected `netns`, `gate`, `interface`, `shared` or `proxy`, found "
	    "`%.*s`",
	    SLICE_ARG(text));
}

static bool
read_mac(struct read_owner *o, const struct doc_node *node,
    struct control_attach *a)
{
	struct slice text;

	if (!read_scalar(&o->r, node, "an address of Ethernet", &text))
		return false;
	a->has_mac = parts_mac(text, a->mac);
	if (a->has_mac)
		return true;
	return read_refuse(&o->r, node,
	    "expected six pairs of hex digits, `02:00:00:00:00:01`, found "
	    "`%.*s`",
	    SLICE_ARG(text));
}

static bool
read_texts(struct read_owner *o, const struct doc_node *node,
    struct control_attach *a)
{
	const struct {
		const char *key;
		struct slice *text;
	} rows[] = {
		{ "policy", &a->policy },
		{ "tenant", &a->tenant },
		{ "netns", &a->netns },
		{ "interface", &a->interface },
		{ "listen", &a->listen },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct doc_node *value = read_find(node, rows[i].key);
		if (value == NULL)
			continue;
		if (!read_scalar(&o->r, value, "a word", rows[i].text))
			return false;
		/* An empty one would be as none, and is not meant so. */
		if (rows[i].text->n == 0)
			return read_refuse(&o->r, value, "it is empty");
	}
	return true;
}

static bool
read_parts(struct read_owner *o, const struct doc_node *node,
    struct control_attach *a)
{
	const struct doc_node *set = read_find(node, "set");
	const struct doc_node *labels = read_find(node, "labels");
	const struct doc_node *mode = read_find(node, "capture");
	const struct doc_node *addresses = read_find(node, "addresses");
	const struct doc_node *mac = read_find(node, "mac");

	return read_texts(o, node, a) &&
	    (set == NULL ||
		read_pairs(o, set, a->sets, CONTROL_SETS_MAX, &a->n_sets)) &&
	    (labels == NULL ||
		read_pairs(o, labels, a->labels, CONTROL_LABELS_MAX,
		    &a->n_labels)) &&
	    (mode == NULL || read_mode(o, mode, a)) &&
	    (addresses == NULL || read_addresses(o, addresses, a)) &&
	    (mac == NULL || read_mac(o, mac, a));
}

/* What makes no sense is told where it stands, or of the whole. */
static bool
check(struct read_owner *o, const struct doc_node *key,
    const struct control_attach *a)
{
	struct control_fault f = control_attach_wrong(a);

	if (a->policy.n == 0)
		return read_refuse(&o->r, key,
		    "`policy` is missing: FILE or FILE:NAME below the policies "
		    "of the configuration");
	if (f.what == NULL)
		return true;
	const struct doc_node *value = read_find(key->value, f.field);
	return value != NULL ?
	    read_refuse(&o->r, value, "%s", f.what) :
	    read_refuse(&o->r, key, "`%s`: %s", f.field, f.what);
}

static struct slice
encode(struct read_owner *o, const struct control_attach *a)
{
	static uint8_t room[262144]; /* 100 parameters are 109 KiB */
	struct wr w = wr_of(room, sizeof(room));

	control_attach_write(&w, a);
	struct slice bytes = wr_slice(&w);
	uint8_t *kept = arena_alloc(o->r.arena, bytes.n + 1);
	memcpy(kept, room, bytes.n);
	return slice_of(kept, bytes.n);
}

static bool
is_second(struct read_owner *o, const struct doc_node *key)
{
	const struct load_owner_text *t = o->out;

	for (uint32_t i = 0; i < t->n_sandboxes; i++)
		if (slice_eq(t->sandboxes[i].name, key->text)) {
			load_error(o->r.report, read_at(&o->r, key),
			    "a second `%.*s`, the first is at %.*s:%u",
			    SLICE_ARG(key->text),
			    SLICE_ARG(t->sandboxes[i].at.file),
			    t->sandboxes[i].at.line);
			return true;
		}
	return false;
}

static void
read_sandbox(struct read_owner *o, const struct doc_node *key)
{
	static struct control_attach a; /* large; one at a time */
	struct load_owner_text *t = o->out;
	struct load_sandbox sandbox = { .at = read_at(&o->r, key) };
	bool unknown = false;

	memset(&a, 0, sizeof(a));
	a.mode = CAPTURE_MODES;
	if (is_second(o, key) ||
	    !read_keys(&o->r, key->value, sandbox_keys, COUNT_OF(sandbox_keys),
		&unknown))
		return;
	a.name = sandbox.name = key->text;
	const struct doc_node *token = read_find(key->value, "token_file");
	if (unknown || !read_parts(o, key->value, &a) || !check(o, key, &a))
		return;
	if (token != NULL && a.listen.n == 0) {
		read_refuse(&o->r, token,
		    "this kind of capture has no use for it");
		return;
	}
	if (token != NULL && !read_owner_path(o, token, &sandbox.token))
		return;
	if (t->n_sandboxes == LIMIT_CONFIG_SANDBOXES) {
		read_refuse(&o->r, key, "more than %d sandboxes",
		    LIMIT_CONFIG_SANDBOXES);
		return;
	}
	sandbox.body = encode(o, &a);
	t->sandboxes = READ_MORE(&o->r, t->sandboxes, t->n_sandboxes);
	t->sandboxes[t->n_sandboxes++] = sandbox;
}

void
read_sandboxes(struct read_owner *o, const struct doc_node *node)
{
	if (node->kind != DOC_MAPPING) {
		read_refuse(&o->r, node,
		    "expected NAME: {policy, capture, ...}");
		return;
	}
	for (const struct doc_node *k = node->first; k != NULL; k = k->next)
		read_sandbox(o, k);
}

/* groupadd(8) would take it, and a number is one too. */
static bool
is_group(struct slice name)
{
	for (size_t i = 0; i < name.n; i++) {
		uint8_t c = name.p[i];
		bool inside = c == '-' || c == '.';
		if (!ascii_is_alnum(c) && c != '_' && (i == 0 || !inside))
			return false;
	}
	return name.n != 0 && name.n <= 32;
}

static void
read_group(struct read_owner *o, const struct doc_node *node, uint32_t right)
{
	struct load_owner_text *t = o->out;
	struct load_group group = { .right = right,
		.at = read_at(&o->r, node) };

	if (!read_scalar(&o->r, node, "the name of a group", &group.name))
		return;
	if (!is_group(group.name)) {
		read_refuse(&o->r, node, "`%.*s` is no name of a group",
		    SLICE_ARG(group.name));
		return;
	}
	t->groups = READ_MORE(&o->r, t->groups, t->n_groups);
	t->groups[t->n_groups++] = group;
}

void
read_control(struct read_owner *o, const struct doc_node *node)
{
	static const uint32_t rights[] = { CONTROL_MAY_VIEW, CONTROL_MAY_ATTACH,
		CONTROL_MAY_POLICY };

	if (!read_keys(&o->r, node, control_keys, COUNT_OF(control_keys), NULL))
		return;
	for (size_t i = 0; i < COUNT_OF(control_keys); i++) {
		const struct doc_node *value =
		    read_find(node, control_keys[i].name);
		if (value == NULL)
			continue;
		if (value->kind != DOC_LIST) {
			read_group(o, value, rights[i]);
			continue;
		}
		for (const struct doc_node *g = value->first; g != NULL;
		     g = g->next)
			read_group(o, g, rights[i]);
	}
}
