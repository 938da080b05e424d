/* SPDX-License-Identifier: Apache-2.0 */
/* Where a credential's secret comes from. */
#include "load/owner_text.h"

#define FOR_DEFAULT_MS 300000 /* of a command */
#define FOR_MAX_MS 86400000
#define WORD_MAX 4096 /* bytes of a word of a command */

static const struct read_key secret_keys[] = {
	{ "file", READ_HERE },
	{ "env", READ_HERE },
	{ "command", READ_HERE },
	{ "for", READ_HERE },
	{ "pass", READ_HERE },
};

#define SOURCES "`{file: PATH}`, `{env: NAME}` or `{command: [PATH, …]}`"

static bool
add_word(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	struct slice word;

	if (!read_scalar(&o->r, node, "a word of the command", &word))
		return false;
	if (c->n_args == OWNER_ARGS_MAX || word.n > WORD_MAX)
		return read_refuse(&o->r, node,
		    "a command has at most %d words of %d bytes",
		    OWNER_ARGS_MAX, WORD_MAX);
	c->args[c->n_args++] = word;
	return true;
}

/* A list: no shell takes it apart. */
static bool
read_command(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	bool good = true;

	if (!read_list(&o->r, node,
		"a list such as `[/usr/bin/gh, auth, token]`"))
		return false;
	if (node->n == 0)
		return read_refuse(&o->r, node,
		    "an empty list: expected the program's path first");
	for (const struct doc_node *i = node->first; i != NULL; i = i->next)
		good = add_word(o, i, c) && good;
	if (!good)
		return false;
	c->source = c->args[0];
	if (!read_is_plain_path(c->source) || c->source.p[0] != '/')
		return read_refuse(&o->r, node->first,
		    "`%.*s`: expected an absolute path; no PATH is searched",
		    SLICE_ARG(c->source));
	return true;
}

static bool
read_pass(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	bool good = true;

	if (c->from != SECRET_COMMAND)
		return read_refuse(&o->r, node,
		    "`pass` is of a `command`: the variables that it gets");
	if (!read_list(&o->r, node, "a list of names of variables"))
		return false;
	for (const struct doc_node *i = node->first; i != NULL; i = i->next) {
		struct slice name;
		if (!read_variable(o, i, &name)) {
			good = false;
			continue;
		}
		if (c->n_pass == OWNER_PASS_MAX)
			return read_refuse(&o->r, i, "more than %d variables",
			    OWNER_PASS_MAX);
		c->pass[c->n_pass++] = name;
	}
	return good;
}

static bool
read_for(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	if (c->from == SECRET_ENV)
		return read_refuse(&o->r, node,
		    "a variable does not change: `for` is of `command` and "
		    "`file`");
	return read_duration(&o->r, node, FOR_MAX_MS, &c->for_ms);
}

/* The one source; NULL, and a complaint, if it is not exactly one. */
static const struct doc_node *
find_source(struct read_owner *o, const struct doc_node *secret,
    struct load_credential *c)
{
	static const char *const names[SECRET_SOURCES] = {
		[SECRET_FILE] = "file",
		[SECRET_ENV] = "env",
		[SECRET_COMMAND] = "command",
	};
	const struct doc_node *found = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < SECRET_SOURCES; i++) {
		const struct doc_node *node = read_find(secret, names[i]);
		if (node == NULL)
			continue;
		found = node;
		c->from = (enum secret_source)i;
		n++;
	}
	if (n == 1)
		return found;
	read_refuse(&o->r, secret,
	    "exactly one source is expected: `file`, `env` or `command`");
	return NULL;
}

bool
read_secret(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	const struct doc_node *secret = read_find(node, "secret");

	if (secret == NULL)
		return read_refuse(&o->r, node,
		    "`secret` is missing: " SOURCES);
	/* The value is not shown: somebody may have written the token there. */
	if (secret->kind != DOC_MAPPING)
		return read_refuse(&o->r, secret,
		    "a secret is never written here: expected " SOURCES);
	if (!read_keys(&o->r, secret, secret_keys, COUNT_OF(secret_keys), NULL))
		return false;
	const struct doc_node *source = find_source(o, secret, c);
	if (source == NULL)
		return false;
	c->source_at = read_at(&o->r, source);
	bool good = c->from == SECRET_FILE ?
	    read_owner_path(o, source, &c->source) :
	    c->from == SECRET_ENV ? read_variable(o, source, &c->source) :
				    read_command(o, source, c);
	const struct doc_node *pass = read_find(secret, "pass");
	const struct doc_node *time = read_find(secret, "for");
	c->for_ms = c->from == SECRET_COMMAND ? FOR_DEFAULT_MS : 0;
	if (pass != NULL)
		good = read_pass(o, pass, c) && good;
	if (time != NULL)
		good = read_for(o, time, c) && good;
	return good;
}
