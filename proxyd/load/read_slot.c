/* SPDX-License-Identifier: Apache-2.0 */
/* What a credential is attached as: its kind, and the slot that it fills. */
#include "base/ascii.h"
#include "load/owner_text.h"

#define NAME_MAX_BYTES 64 /* of a header or a parameter */
#define USER_MAX 128

static const char *const kinds[CREDENTIAL_KINDS] = {
	[CREDENTIAL_TOKEN] = "token",
	[CREDENTIAL_HEADER] = "header",
	[CREDENTIAL_BASIC] = "basic",
	[CREDENTIAL_QUERY] = "query",
};

#define KINDS "`token`, `header`, `basic` or `query`"

static const char *const later_kinds[] = { "client-certificate", "oauth2",
	"github-app", "aws-sigv4" };

/* Keys that one kind has and the others have not. */
static const struct {
	const char *key;
	enum credential_kind kind;
} own_keys[] = {
	{ "header", CREDENTIAL_HEADER },
	{ "prefix", CREDENTIAL_HEADER },
	{ "slot", CREDENTIAL_BASIC },
	{ "user", CREDENTIAL_BASIC },
	{ "parameter", CREDENTIAL_QUERY },
};

/* Ours to write, or nobody's: framing, hops, cookies, the target. */
static const char *const no_slots[] = { "accept-encoding", "connection",
	"content-encoding", "content-length", "content-type", "cookie", "date",
	"expect", "forwarded", "host", "if-range", "keep-alive", "location",
	"proxy-authenticate", "proxy-authorization", "proxy-connection",
	"range", "set-cookie", "te", "trailer", "transfer-encoding", "upgrade",
	"via" };

bool
read_kind(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	const struct doc_node *kind = read_find(node, "kind");
	struct slice text;

	if (kind == NULL)
		return read_refuse(&o->r, node, "`kind` is missing: " KINDS);
	if (!read_scalar(&o->r, kind, KINDS, &text))
		return false;
	for (unsigned i = 0; i < CREDENTIAL_KINDS; i++) {
		c->kind = (enum credential_kind)i;
		if (slice_eq_str(text, kinds[i]))
			return true;
	}
	for (size_t i = 0; i < COUNT_OF(later_kinds); i++)
		if (slice_eq_str(text, later_kinds[i]))
			return read_refuse(&o->r, kind,
			    "kind `%s` is not in this version: expected " KINDS,
			    later_kinds[i]);
	struct nearest near = nearest_to(text);
	for (unsigned i = 0; i < CREDENTIAL_KINDS; i++)
		nearest_look(&near, slice_of_str(kinds[i]));
	return read_refuse(&o->r, kind, "unknown kind `%.*s`" NEAREST_FMT "%s",
	    SLICE_ARG(text), NEAREST_ARG(near),
	    near.best.n != 0 ? "" : "; expected " KINDS);
}

static bool
is_field_name(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alnum(s.p[i]) &&
		    memchr("!#$%&'*+-.^_`|~", s.p[i], 15) == NULL)
			return false;
	return s.n != 0 && s.n <= NAME_MAX_BYTES;
}

static bool
read_header(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	const struct doc_node *header = read_find(node, "header");

	if (header == NULL)
		return read_refuse(&o->r, node,
		    "`header` is missing: the field that carries it, such as "
		    "`X-Api-Key`");
	if (!read_scalar(&o->r, header, "the name of a header", &c->slot))
		return false;
	if (!is_field_name(c->slot))
		return read_refuse(&o->r, header,
		    "`%.*s` is no name of a header", SLICE_ARG(c->slot));
	for (size_t i = 0; i < COUNT_OF(no_slots); i++)
		if (ascii_eq_fold(c->slot, slice_of_str(no_slots[i])))
			return read_refuse(&o->r, header,
			    "`%.*s` cannot carry a credential",
			    SLICE_ARG(c->slot));
	return true;
}

static bool
read_prefix_text(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	const struct doc_node *prefix = read_find(node, "prefix");

	if (prefix == NULL)
		return true;
	if (!read_scalar(&o->r, prefix, "the text before the secret",
		&c->prefix))
		return false;
	for (size_t i = 0; i < c->prefix.n; i++)
		if (c->prefix.p[i] >= 0x7f || c->prefix.n > 64)
			return read_refuse(&o->r, prefix,
			    "a prefix is ASCII, at most 64 bytes");
	if (c->prefix.n != 0 && c->prefix.p[0] == ' ')
		return read_refuse(&o->r, prefix,
		    "a value does not begin with a blank");
	return true;
}

/* Which half of Basic the secret is. */
static bool
read_half(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	const struct doc_node *slot = read_find(node, "slot");
	struct slice text;

	if (slot == NULL)
		return true;
	if (!read_scalar(&o->r, slot, "`password` or `user`", &text))
		return false;
	c->secret_is_user = slice_eq_str(text, "user");
	if (!c->secret_is_user && !slice_eq_str(text, "password"))
		return read_refuse(&o->r, slot,
		    "expected `password` or `user`: which half the secret is");
	return true;
}

static bool
read_basic(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	const struct doc_node *user = read_find(node, "user");

	c->slot = SLICE("Authorization");
	c->prefix = SLICE("Basic ");
	if (!read_half(o, node, c))
		return false;
	if (c->secret_is_user && user != NULL)
		return read_refuse(&o->r, user,
		    "with `slot: user` the secret is the user, and the "
		    "password is empty");
	if (c->secret_is_user)
		return true;
	if (user == NULL)
		return read_refuse(&o->r, node,
		    "`user` is missing: who the secret is the password of "
		    "(`\"\"` for nobody)");
	if (!read_scalar(&o->r, user, "the name of a user", &c->user))
		return false;
	if (c->user.n > USER_MAX || memchr(c->user.p, ':', c->user.n) != NULL)
		return read_refuse(&o->r, user,
		    "a user's name has no colon, and at most %d bytes",
		    USER_MAX);
	return true;
}

static bool
read_parameter(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	const struct doc_node *parameter = read_find(node, "parameter");
	bool good = true;

	if (parameter == NULL)
		return read_refuse(&o->r, node,
		    "`parameter` is missing: the key of the query that carries "
		    "it, such as `key`");
	if (!read_scalar(&o->r, parameter, "the name of a parameter", &c->slot))
		return false;
	for (size_t i = 0; i < c->slot.n; i++)
		good = good &&
		    (ascii_is_alnum(c->slot.p[i]) ||
			memchr("-._~", c->slot.p[i], 4) != NULL);
	if (!good || c->slot.n == 0 || c->slot.n > NAME_MAX_BYTES)
		return read_refuse(&o->r, parameter,
		    "`%.*s`: the name of a parameter has letters, digits, "
		    "`-._~`, at most %d bytes",
		    SLICE_ARG(c->slot), NAME_MAX_BYTES);
	return true;
}

/* What another kind has means that this one was not meant. */
static bool
has_no_other_keys(struct read_owner *o, const struct doc_node *node,
    const struct load_credential *c)
{
	bool good = true;

	for (size_t i = 0; i < COUNT_OF(own_keys); i++) {
		const struct doc_node *key =
		    read_find_key(node, own_keys[i].key);
		if (key == NULL || own_keys[i].kind == c->kind)
			continue;
		good = read_refuse(&o->r, key,
		    "`%s` is of `kind: %s`, this is `kind: %s`",
		    own_keys[i].key, kinds[own_keys[i].kind], kinds[c->kind]);
	}
	return good;
}

bool
read_slot(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c)
{
	if (!has_no_other_keys(o, node, c))
		return false;
	switch (c->kind) {
	case CREDENTIAL_HEADER:
		return read_header(o, node, c) && read_prefix_text(o, node, c);
	case CREDENTIAL_BASIC:
		return read_basic(o, node, c);
	case CREDENTIAL_QUERY:
		return read_parameter(o, node, c);
	case CREDENTIAL_TOKEN:
	case CREDENTIAL_KINDS:
		break;
	}
	c->slot = SLICE("Authorization");
	c->prefix = SLICE("Bearer ");
	return true;
}
