/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ascii.h"
#include "base/limits.h"
#include "load/owner_text.h"

static const struct read_key file_keys[] = {
	{ "version", READ_HERE },
	{ "credentials", READ_HERE },
	{ "private", READ_HERE },
	{ "upstream", READ_HERE },
	{ "files", READ_HERE },
	{ "environment", READ_HERE },
	{ "sandboxes", READ_HERE },
	{ "control", READ_HERE },
	{ "dns", READ_HERE },
	{ "audit", READ_HERE },
	{ "ca", READ_HERE },
	{ "policies", READ_POLICY },
};

static const struct read_key files_keys[] = {
	{ "read", READ_HERE },
	{ "write", READ_HERE },
};

static const struct read_key dns_keys[] = {
	{ "refused", READ_HERE },
};

static const struct read_key audit_keys[] = {
	{ "required", READ_HERE },
};

static struct slice
join(struct read_owner *o, struct slice dir, struct slice path)
{
	uint8_t *p = arena_alloc(o->r.arena, dir.n + 1 + path.n);

	if (dir.n != 0)
		memcpy(p, dir.p, dir.n);
	p[dir.n] = '/';
	if (path.n != 0)
		memcpy(p + dir.n + 1, path.p, path.n);
	return slice_of(p, dir.n + 1 + path.n);
}

bool
read_is_plain_path(struct slice path)
{
	size_t from = 0;

	for (size_t i = 0; i <= path.n; i++) {
		if (i < path.n && path.p[i] != '/')
			continue;
		struct slice part = { path.p + from, i - from };
		bool ends = i == 0 || i == path.n;
		if (slice_eq_str(part, ".") || slice_eq_str(part, "..") ||
		    (part.n == 0 && !ends))
			return false;
		from = i + 1;
	}
	return path.n != 0;
}

bool
read_owner_path(struct read_owner *o, const struct doc_node *node,
    struct slice *path)
{
	struct slice text, dir = o->file->dir;

	if (!read_scalar(&o->r, node, "a path", &text))
		return false;
	if (!read_is_plain_path(text))
		return read_refuse(&o->r, node,
		    "`%.*s`: a path without `.`, `..` and `//` is expected",
		    SLICE_ARG(text));
	if (text.p[0] == '/') {
		*path = text;
		return true;
	}
	if (slice_eq_str(text, "~") || slice_has_prefix(text, SLICE("~/"))) {
		dir = o->in->home;
		text = slice_from(text, 2);
	}
	if (dir.n == 0 || dir.p[0] != '/')
		return read_refuse(&o->r, node,
		    "`%.*s`: write an absolute path; what it is relative to "
		    "is not known",
		    SLICE_ARG(node->text));
	*path = text.n == 0 ?
	    dir :
	    join(o, slice_eq_str(dir, "/") ? slice_first(dir, 0) : dir, text);
	return true;
}

bool
read_bundle(struct read_owner *o, const struct doc_node *node,
    struct slice *path, struct buf *pem)
{
	buf_init(pem, LIMIT_POLICY_FILE_SIZE);
	if (!read_owner_path(o, node, path))
		return false;
	if (++o->n_bundles > LIMIT_CERTIFICATE_FILES)
		return read_refuse(&o->r, node,
		    "more than %d files of certificates",
		    LIMIT_CERTIFICATE_FILES);
	const char *why = o->in->open == NULL ?
	    "cannot be opened here" :
	    o->in->open(o->in->ctx, *path, pem);
	return why == NULL ||
	    read_refuse(&o->r, node, "`%.*s`: %s", SLICE_ARG(*path), why);
}

bool
read_variable(struct read_owner *o, const struct doc_node *node,
    struct slice *name)
{
	if (!read_scalar(&o->r, node, "the name of a variable", name))
		return false;
	bool good =
	    name->n != 0 && name->n <= 128 && !ascii_is_digit(name->p[0]);
	for (size_t i = 0; i < name->n; i++)
		good =
		    good && (ascii_is_alnum(name->p[i]) || name->p[i] == '_');
	if (!good)
		return read_refuse(&o->r, node,
		    "`%.*s` is no name of a variable", SLICE_ARG(*name));
	return true;
}

static void
read_private(struct read_owner *o, const struct doc_node *node)
{
	struct load_owner_text *t = o->out;

	if (!read_list(&o->r, node, "a list of prefixes"))
		return;
	for (const struct doc_node *i = node->first; i != NULL; i = i->next) {
		struct load_prefix prefix;
		if (!read_prefix(&o->r, i, &prefix))
			continue;
		if (prefix.bits == 0) {
			read_refuse(&o->r, i,
			    "every address: name the prefixes that are yours");
			continue;
		}
		load_advise(o->r.report, prefix.at,
		    "`private:` lets policies open `%.*s` by `addresses:`",
		    SLICE_ARG(i->text));
		t->private = READ_MORE(&o->r, t->private, t->n_private);
		t->private[t->n_private++] = prefix;
	}
}

static void
read_paths(struct read_owner *o, const struct doc_node *node, bool write)
{
	struct load_owner_text *t = o->out;

	if (!read_list(&o->r, node, "a list of paths"))
		return;
	for (const struct doc_node *i = node->first; i != NULL; i = i->next) {
		struct slice path;
		if (!read_owner_path(o, i, &path))
			continue;
		if (write)
			load_advise(o->r.report, read_at(&o->r, i),
			    "`files: {write}`: what the command leaves in "
			    "`%.*s` is there afterwards, outside",
			    SLICE_ARG(path));
		t->files = READ_MORE(&o->r, t->files, t->n_files);
		t->files[t->n_files++] = (struct load_path){ path, write };
	}
}

static void
read_files(struct read_owner *o, const struct doc_node *node)
{
	if (!read_keys(&o->r, node, files_keys, COUNT_OF(files_keys), NULL))
		return;
	const struct doc_node *read = read_find(node, "read");
	const struct doc_node *write = read_find(node, "write");
	if (read != NULL)
		read_paths(o, read, false);
	if (write != NULL)
		read_paths(o, write, true);
}

static void
read_environment(struct read_owner *o, const struct doc_node *node)
{
	struct load_owner_text *t = o->out;

	if (!read_list(&o->r, node, "a list of names of variables"))
		return;
	for (const struct doc_node *i = node->first; i != NULL; i = i->next) {
		struct slice name;
		if (!read_variable(o, i, &name))
			continue;
		t->environment =
		    READ_MORE(&o->r, t->environment, t->n_environment);
		t->environment[t->n_environment++] = name;
	}
}

/* One word for all files: two that differ would leave it to their order. */
static bool
is_second(struct read_owner *o, const struct doc_node *key, struct load_at *at)
{
	if (at->line != 0) {
		load_error(o->r.report, read_at(&o->r, key),
		    "a second `%.*s`, the first is at %.*s:%u",
		    SLICE_ARG(key->text), SLICE_ARG(at->file), at->line);
		return true;
	}
	*at = read_at(&o->r, key);
	return false;
}

static void
read_dns(struct read_owner *o, const struct doc_node *node)
{
	static const char expected[] = "`address` or `nxdomain`";
	struct load_owner_text *t = o->out;
	struct slice text;

	if (!read_keys(&o->r, node, dns_keys, COUNT_OF(dns_keys), NULL))
		return;
	const struct doc_node *key = read_find_key(node, "refused");
	if (key == NULL || !read_scalar(&o->r, key->value, expected, &text))
		return;
	if (is_second(o, key, &t->refused_at))
		return;
	t->nxdomain = slice_eq_str(text, "nxdomain");
	if (!t->nxdomain && !slice_eq_str(text, "address"))
		read_refuse(&o->r, key->value, "expected %s, found `%.*s`",
		    expected, SLICE_ARG(text));
}

static void
read_audit(struct read_owner *o, const struct doc_node *node)
{
	struct load_owner_text *t = o->out;
	bool required = true;

	if (!read_keys(&o->r, node, audit_keys, COUNT_OF(audit_keys), NULL))
		return;
	const struct doc_node *key = read_find_key(node, "required");
	if (key == NULL || !read_bool(&o->r, key->value, &required) ||
	    is_second(o, key, &t->required_at))
		return;
	t->gaps = !required;
	if (t->gaps)
		load_warn(o->r.report, t->required_at,
		    "`audit: {required: false}`: what cannot be written into "
		    "the audit log is allowed all the same, and only counted");
}

/* `version` and `policies` only: a policy file that lies beside the others. */
static bool
is_policy_file(const struct doc_node *root)
{
	if (root->kind != DOC_MAPPING || read_find(root, "policies") == NULL)
		return false;
	for (const struct doc_node *k = root->first; k != NULL; k = k->next)
		if (!slice_eq_str(k->text, "policies") &&
		    !slice_eq_str(k->text, "version"))
			return false;
	return true;
}

void
read_owner_file(struct read_owner *o, const struct doc_node *root)
{
	static void (*const readers[])(struct read_owner *,
	    const struct doc_node *) = { read_credentials, read_private,
		read_upstream, read_files, read_environment, read_dns,
		read_audit, read_ca, read_sandboxes, read_control };
	static const char *const keys[] = { "credentials", "private",
		"upstream", "files", "environment", "dns", "audit", "ca",
		"sandboxes", "control" };

	if (is_policy_file(root))
		return;
	if (!read_keys(&o->r, root, file_keys, COUNT_OF(file_keys), NULL))
		return;
	(void)read_version(&o->r, root); /* its complaint is counted */
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		const struct doc_node *value = read_find(root, keys[i]);
		if (value != NULL)
			readers[i](o, value);
	}
}
