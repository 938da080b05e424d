/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/ascii.h"
#include "base/limits.h"
#include "base/nearest.h"
#include "control/content.h"
#include "priv/parts.h"

static void *
take_memory(size_t n)
{
	return malloc(n);
}

static void
wipe_memory(void *p)
{
	if (p != NULL)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

void
content_setup(size_t seed)
{
	json_set_alloc_funcs(take_memory, wipe_memory);
	json_object_seed(seed);
}

/* Where a member lies: "$.secrets.github", "$.labels["a b"]". */
static void
put_where(struct problem *why, const char *outer, const char *key)
{
	bool plain = key[0] != '\0';

	for (const char *p = key; *p != '\0'; p++)
		plain = plain && (ascii_is_alnum((uint8_t)*p) || *p == '_');
	snprintf(why->where, sizeof(why->where),
	    plain ? "%s.%.64s" : "%s[\"%.64s\"]", outer, key);
}

static bool
wrong(struct problem *why, const char *expected, const json_t *found)
{
	static const char *const kinds[] = {
		[JSON_OBJECT] = "an object",
		[JSON_ARRAY] = "a list",
		[JSON_STRING] = "a string",
		[JSON_INTEGER] = "a whole number",
		[JSON_REAL] = "a fraction",
		[JSON_TRUE] = "true",
		[JSON_FALSE] = "false",
		[JSON_NULL] = "null",
	};

	why->code = CONTROL_REQUEST_WRONG;
	if (found == NULL)
		snprintf(why->detail, sizeof(why->detail), "%s", expected);
	else
		snprintf(why->detail, sizeof(why->detail),
		    "expected %s, found %s", expected,
		    kinds[json_typeof(found)]);
	return false;
}

/* What one key of a body is read by. */
struct place {
	struct control_request *out;
	struct problem *why; /* its `where` is that of the value */
	size_t at;	     /* of a slice in the request */
};

static struct slice
text_of(const json_t *v)
{
	return slice_of(json_string_value(v), json_string_length(v));
}

static bool
read_text(const struct place *p, const json_t *v)
{
	struct slice s;

	if (!json_is_string(v))
		return wrong(p->why, "a string", v);
	s = text_of(v);
	if (s.n == 0)
		return wrong(p->why, "expected a string that is not empty",
		    NULL);
	memcpy((uint8_t *)p->out + p->at, &s, sizeof(s));
	return true;
}

static bool
read_u32(const struct place *p, const json_t *v)
{
	uint32_t number;

	if (!json_is_integer(v))
		return wrong(p->why, "a whole number", v);
	if (json_integer_value(v) < 1 || json_integer_value(v) > INT32_MAX)
		return wrong(p->why, "expected 1 to 2147483647", NULL);
	number = (uint32_t)json_integer_value(v);
	memcpy((uint8_t *)p->out + p->at, &number, sizeof(number));
	return true;
}

/* Object of strings; `n` of them go to `pairs`. */
static bool
read_pairs(const struct place *p, const json_t *v, struct control_pair *pairs,
    size_t max)
{
	char outer[sizeof(p->why->where)];
	json_t *object = (json_t *)(uintptr_t)v; /* jansson asks for it so */
	const char *key;
	json_t *value;
	size_t n = 0;

	if (!json_is_object(v))
		return wrong(p->why, "an object of strings", v);
	if (json_object_size(v) > max) {
		snprintf(p->why->detail, sizeof(p->why->detail),
		    "expected at most %zu", max);
		p->why->code = CONTROL_REQUEST_WRONG;
		return false;
	}
	memcpy(outer, p->why->where, sizeof(outer));
	json_object_foreach(object, key, value)
	{
		put_where(p->why, outer, key);
		if (!json_is_string(value))
			return wrong(p->why, "a string", value);
		pairs[n++] =
		    (struct control_pair){ slice_of_str(key), text_of(value) };
	}
	memcpy(p->why->where, outer, sizeof(outer));
	return true;
}

static bool
read_sets(const struct place *p, const json_t *v)
{
	p->out->attach.n_sets = json_object_size(v);
	return read_pairs(p, v, p->out->attach.sets, CONTROL_SETS_MAX);
}

static bool
read_labels(const struct place *p, const json_t *v)
{
	p->out->attach.n_labels = json_object_size(v);
	return read_pairs(p, v, p->out->attach.labels, CONTROL_LABELS_MAX);
}

static bool
read_secrets(const struct place *p, const json_t *v)
{
	p->out->attach.n_secrets = json_object_size(v);
	return read_pairs(p, v, p->out->attach.secrets, CONTROL_SECRETS_MAX);
}

static bool
read_mode(const struct place *p, const json_t *v)
{
	if (!json_is_string(v))
		return wrong(p->why, "a string", v);
	p->out->attach.mode = capture_mode_find(text_of(v));
	if (p->out->attach.mode != CAPTURE_MODES)
		return true;
	return wrong(p->why, "expected netns, gate, interface, shared or proxy",
	    NULL);
}

static bool
read_addresses(const struct place *p, const json_t *v)
{
	struct control_attach *a = &p->out->attach;
	size_t n = json_array_size(v), used = strlen(p->why->where);

	if (!json_is_array(v))
		return wrong(p->why, "a list of addresses", v);
	if (n > CONTROL_ADDRESSES_MAX)
		return wrong(p->why, "expected at most 16", NULL);
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(v, i);
		snprintf(p->why->where + used, sizeof(p->why->where) - used,
		    "[%zu]", i);
		if (!json_is_string(one))
			return wrong(p->why, "a string", one);
		if (!parts_address(text_of(one), &a->addresses[i]))
			return wrong(p->why, "expected ADDRESS or ADDRESS/BITS",
			    NULL);
	}
	p->why->where[used] = '\0';
	a->n_addresses = n;
	return true;
}

static bool
read_mac(const struct place *p, const json_t *v)
{
	struct control_attach *a = &p->out->attach;

	if (!json_is_string(v))
		return wrong(p->why, "a string", v);
	a->has_mac = parts_mac(text_of(v), a->mac);
	return a->has_mac ||
	    wrong(p->why, "expected six pairs of hex digits: 02:00:00:00:00:01",
		NULL);
}

struct key {
	const char *name;
	bool (*read)(const struct place *p, const json_t *v);
	size_t at; /* of read_text(), read_u32() */
};

#define ATTACH(member) offsetof(struct control_request, attach.member)

static const struct key attach_keys[] = {
	{ "policy", read_text, ATTACH(policy) },
	{ "policy_text", read_text, ATTACH(policy_text) },
	{ "tenant", read_text, ATTACH(tenant) },
	{ "set", read_sets, 0 },
	{ "labels", read_labels, 0 },
	{ "secrets", read_secrets, 0 },
	{ "capture", read_mode, 0 },
	{ "netns", read_text, ATTACH(netns) },
	{ "pid", read_u32, ATTACH(pid) },
	{ "interface", read_text, ATTACH(interface) },
	{ "addresses", read_addresses, 0 },
	{ "mac", read_mac, 0 },
	{ "listen", read_text, ATTACH(listen) },
	{ "token", read_text, ATTACH(token) },
};

static const struct key allow_keys[] = {
	{ "url", read_text, offsetof(struct control_request, url) },
	{ "seconds", read_u32, offsetof(struct control_request, seconds) },
};

static const struct key *
keys_of(enum control_verb verb, size_t *n)
{
	*n = verb == CONTROL_ATTACH ? COUNT_OF(attach_keys) :
	    verb == CONTROL_ALLOW   ? COUNT_OF(allow_keys) :
				      0;
	return verb == CONTROL_ATTACH ? attach_keys : allow_keys;
}

const char *
content_key(enum control_verb verb, size_t i)
{
	size_t n;
	const struct key *keys = keys_of(verb, &n);

	return i < n ? keys[i].name : NULL;
}

static bool
unknown(struct problem *why, const char *name, const struct key *keys, size_t n)
{
	struct nearest near = nearest_to(slice_of_str(name));

	for (size_t i = 0; i < n; i++)
		nearest_look(&near, slice_of_str(keys[i].name));
	why->code = CONTROL_REQUEST_WRONG;
	snprintf(why->detail, sizeof(why->detail), "no such key" NEAREST_FMT,
	    NEAREST_ARG(near));
	return false;
}

static bool
read_keys(json_t *root, struct control_request *out, struct problem *why)
{
	const char *name;
	json_t *value;
	size_t n;
	const struct key *keys = keys_of(out->verb, &n);

	json_object_foreach(root, name, value)
	{
		size_t i = 0;
		put_where(why, "$", name);
		while (i < n && strcmp(keys[i].name, name) != 0)
			i++;
		if (i == n)
			return unknown(why, name, keys, n);
		struct place p = { out, why, keys[i].at };
		if (!keys[i].read(&p, value))
			return false;
	}
	return true;
}

static bool
check_attach(const struct control_attach *a, struct problem *why)
{
	struct control_fault f = control_attach_wrong(a);

	if (f.what == NULL)
		return true;
	snprintf(why->where, sizeof(why->where), "$.%s", f.field);
	return wrong(why, f.what, NULL);
}

static bool
check_allow(const struct control_request *req, struct problem *why)
{
	snprintf(why->where, sizeof(why->where), "$.url");
	if (req->url.n == 0)
		return wrong(why, "expected the URL that is to be allowed",
		    NULL);
	if (req->url.n > LIMIT_PATH_SIZE)
		return wrong(why, "the URL is too long", NULL);
	snprintf(why->where, sizeof(why->where), "$.seconds");
	if (req->seconds == 0 || req->seconds > CONTROL_ALLOW_S_MAX)
		return wrong(why, "expected 1 to 2592000 (30 days)", NULL);
	return true;
}

static bool
read_root(json_t *root, struct control_request *out, struct problem *why)
{
	if (!json_is_object(root)) {
		snprintf(why->where, sizeof(why->where), "$");
		return wrong(why, "an object", root);
	}
	if (!read_keys(root, out, why))
		return false;
	return out->verb == CONTROL_ATTACH ? check_attach(&out->attach, why) :
					     check_allow(out, why);
}

/*
 * What jansson says, without what it quotes: that may be a secret, and answers
 * are written into logs.
 */
static bool
malformed(const json_error_t *error, struct problem *why)
{
	const char *near = strstr(error->text, " near ");
	int n =
	    near == NULL ? (int)strlen(error->text) : (int)(near - error->text);

	*why = (struct problem){ .code = CONTROL_REQUEST_MALFORMED };
	snprintf(why->detail, sizeof(why->detail), "line %d, column %d: %.*s",
	    error->line, error->column, n, error->text);
	return false;
}

/* jansson goes 2,048 deep, by recursion.  No secret leaves the text. */
static bool
is_too_deep(struct slice text)
{
	bool in_string = false;
	size_t depth = 0;

	for (size_t i = 0; i < text.n; i++) {
		uint8_t c = text.p[i];
		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string && (c == '{' || c == '['))
			depth++;
		else if (!in_string && (c == '}' || c == ']') && depth > 0)
			depth--;
		if (depth > LIMIT_CONTROL_DEPTH)
			return true;
	}
	return false;
}

bool
content_read(struct content *c, struct slice body, enum control_verb verb,
    struct slice name, struct control_request *out, struct problem *why)
{
	json_error_t error;

	*why = (struct problem){ 0 };
	memset(out, 0, sizeof(*out));
	out->verb = verb;
	out->name = out->attach.name = name;
	out->attach.mode = CAPTURE_MODES;
	c->root = NULL;
	if (is_too_deep(body)) {
		(void)wrong(why, "it is nested too deeply", NULL);
		why->code = CONTROL_REQUEST_MALFORMED;
		return false;
	}
	c->root = json_loadb((const char *)body.p, body.n,
	    JSON_REJECT_DUPLICATES, &error);
	if (c->root == NULL)
		return malformed(&error, why);
	if (read_root(c->root, out, why)) {
		why->where[0] = '\0';
		return true;
	}
	content_release(c);
	return false;
}

void
content_release(struct content *c)
{
	json_decref(c->root);
	c->root = NULL;
}
