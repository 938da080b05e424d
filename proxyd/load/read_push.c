/* SPDX-License-Identifier: Apache-2.0 */
/* `push:` of a rule: which refs, which kinds of change, which packs. */
#include "base/ascii.h"
#include "base/limits.h"
#include "load/parameter.h"
#include "load/read_git.h"
#include "policy/gitref.h"
#include "policy/pathglob.h"

static const struct read_key push_keys[] = {
	{ "branches", READ_HERE },
	{ "tags", READ_HERE },
	{ "refs", READ_HERE },
	{ "create", READ_HERE },
	{ "update", READ_HERE },
	{ "delete", READ_HERE },
	{ "force", READ_HERE },
	{ "keep", READ_HERE },
	{ "options", READ_HERE },
	{ "max_pack", READ_HERE },
	{ "max_file", READ_HERE },
	{ "max_commands", READ_HERE },
	{ "author", READ_HERE },
	{ "committer", READ_HERE },
	{ "signed", READ_HERE },
};

static bool
is_branch(struct slice text)
{
	return gitref_is_short(text, true);
}

static bool
is_full(struct slice text)
{
	return gitref_is_good(text);
}

/* Printable, without what a pattern or an escape would read. */
static bool
is_plain(struct slice text, const char *never)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] < ' ' || text.p[i] > '~' ||
		    strchr(never, text.p[i]) != NULL)
			return false;
	return text.n != 0 && text.n <= LIMIT_PUSH_OPTION_SIZE;
}

/* A path in a tree: no empty part, none that means here or above. */
static bool
is_path(struct slice text)
{
	size_t from = 0;

	if (!is_plain(text, "%\\"))
		return false;
	for (size_t i = 0; i <= text.n; i++) {
		if (i < text.n && text.p[i] != '/')
			continue;
		struct slice part =
		    slice_first(slice_from(text, from), i - from);
		if (part.n == 0 || slice_eq(part, SLICE(".")) ||
		    slice_eq(part, SLICE("..")))
			return false;
		from = i + 1;
	}
	return true;
}

static bool
is_option(struct slice text)
{
	return is_plain(text, "%");
}

static bool
is_address(struct slice text)
{
	return is_plain(text, "% <>/") && memchr(text.p, '@', text.n) != NULL;
}

/* The lists of patterns, and what each of theirs is. */
static const struct list_form {
	const char *key;
	enum git_list list;
	const char *before; /* of the full name */
	bool (*fits)(struct slice text);
	const char *what;
} forms[] = {
	{ "branches", GIT_REFS, "refs/heads/", is_branch,
	    "a branch such as `agent/**`, of letters, digits and `-._/+@=`" },
	{ "tags", GIT_REFS, "refs/tags/", is_branch,
	    "a tag such as `v*`, of letters, digits and `-._/+@=`" },
	{ "refs", GIT_REFS, "", is_full,
	    "a full name such as `refs/notes/commits`, without stars" },
	{ "keep", GIT_KEEP, "", is_path,
	    "a path from the top of the tree, such as `.github/**`" },
	{ "options", GIT_OPTIONS, "", is_option,
	    "a push option such as `ci.skip`" },
	{ "author", GIT_AUTHORS, "", is_address,
	    "an e-mail address such as `*@example.com`" },
	{ "committer", GIT_COMMITTERS, "", is_address,
	    "an e-mail address such as `*@example.com`" },
};

/*
 * A pattern of paths, behind a slash.  In names of refs `**` is one further
 * part or more: `agent/` and `**` is not `agent`.
 */
static bool
compile(const struct read *r, const struct doc_node *node,
    const struct list_form *form, struct load_text *text)
{
	uint8_t *glob = arena_alloc(r->arena, 2 * text->written.n + 8);
	const char *why = "";
	struct buf path;
	size_t n = 0;

	buf_init(&path, 2 * text->written.n + 8);
	buf_put_byte(&path, '/');
	for (size_t i = 0; i < text->written.n; i++) {
		struct slice rest = slice_from(text->written, i);
		if (form->list == GIT_REFS && (path.p[path.n - 1] == '/') &&
		    (slice_eq(rest, SLICE("**")) ||
			slice_has_prefix(rest, SLICE("**/"))))
			buf_put_str(&path, "*/");
		buf_put_byte(&path, text->written.p[i]);
	}
	bool good =
	    !path.failed && pathglob_compile(buf_slice(&path), glob, &n, &why);
	buf_release(&path);
	text->glob = slice_of(glob, n);
	return good ||
	    read_refuse(r, node, "`%.*s`: %s", SLICE_ARG(text->written), why);
}

static bool
add_text(const struct read *r, const struct doc_node *node,
    const struct list_form *form, struct load_git *git)
{
	struct load_texts *list = &git->lists[form->list];
	struct load_text text;
	struct slice own;
	struct buf full;

	if (!read_scalar(r, node, form->what, &own) ||
	    !parameter_path(r, node, &own))
		return false;
	if (!form->fits(own))
		return read_refuse(r, node, "`%.*s` is not %s", SLICE_ARG(own),
		    form->what);
	buf_init(&full, 4096);
	buf_put_str(&full, form->before);
	buf_put(&full, own);
	text.written = arena_copy(r->arena, buf_slice(&full));
	buf_release(&full);
	if (!compile(r, node, form, &text))
		return false;
	list->list =
	    arena_grow(r->arena, list->list, list->n, sizeof(*list->list));
	list->list[list->n++] = text;
	return true;
}

static bool
read_texts(const struct read *r, const struct doc_node *push,
    const struct list_form *form, struct load_git *git)
{
	const struct doc_node *node = read_find(push, form->key);
	bool good = true;

	if (node == NULL)
		return true;
	if (!read_list(r, node, "a list"))
		return false;
	for (const struct doc_node *i = node->first; i != NULL; i = i->next)
		good = add_text(r, i, form, git) && good;
	return good;
}

static bool
read_flags(const struct read *r, const struct doc_node *push,
    struct load_git *git)
{
	static const struct {
		const char *key;
		enum git_flag flag;
	} rows[] = {
		{ "create", GIT_CREATE },
		{ "update", GIT_UPDATE },
		{ "delete", GIT_DELETE },
		{ "force", GIT_FORCE },
		{ "signed", GIT_SIGNED },
	};
	bool good = true;

	git->flags |= GIT_PUSH | GIT_CREATE | GIT_UPDATE;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct doc_node *node = read_find(push, rows[i].key);
		bool on = false;
		if (node == NULL)
			continue;
		good = read_bool(r, node, &on) && good;
		git->flags &= ~(uint32_t)rows[i].flag;
		git->flags |= on ? (uint32_t)rows[i].flag : 0;
	}
	return good;
}

static bool
read_sizes(const struct read *r, const struct doc_node *push,
    struct load_git *git)
{
	const struct doc_node *pack = read_find(push, "max_pack");
	const struct doc_node *file = read_find(push, "max_file");
	const struct doc_node *commands = read_find(push, "max_commands");
	bool good = pack == NULL || read_size(r, pack, &git->max_pack);

	good = (file == NULL || read_size(r, file, &git->max_file)) && good;
	return (commands == NULL ||
		   read_count(r, commands, LIMIT_PUSH_COMMANDS_MOST,
		       &git->max_commands)) &&
	    good;
}

bool
read_rule_push(const struct read *r, const struct doc_node *push,
    struct load_git *git)
{
	const uint32_t kinds = GIT_CREATE | GIT_UPDATE | GIT_DELETE;
	bool good = true;

	if (!read_keys(r, push, push_keys, COUNT_OF(push_keys), NULL))
		return false;
	for (size_t i = 0; i < COUNT_OF(forms); i++)
		good = read_texts(r, push, &forms[i], git) && good;
	good = read_flags(r, push, git) && good;
	good = read_sizes(r, push, git) && good;
	if (!good)
		return false;
	if (git->lists[GIT_REFS].n == 0)
		return read_refuse(r, push,
		    "`push` names no ref: expected such as "
		    "`branches: [\"agent/**\"]`");
	if ((git->flags & kinds) == 0)
		return read_refuse(r, push,
		    "`push` allows no kind of change: `create`, `update` and "
		    "`delete` are all `false`");
	return true;
}
