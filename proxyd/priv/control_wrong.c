/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ascii.h"
#include "base/utf8.h"
#include "priv/control.h"

#define KEY_MAX 64	    /* bytes of a parameter's, label's, credential's */
#define VALUE_MAX 1024	    /* bytes of a parameter's value */
#define LABEL_MAX 256	    /* bytes of a label's value */
#define SECRET_BYTES 16384  /* as SECRET_MAX */
#define TOKEN_MAX 256	    /* bytes */
#define POLICY_NAME_MAX 255 /* bytes of "FILE:NAME" */
#define PATH_BYTES 4095	    /* PATH_MAX without its NUL */
#define LINK_NAME_MAX 15    /* IFNAMSIZ without its NUL */
#define UNIX_PATH_BYTES 107 /* sun_path without its NUL */

#define GOOD ((struct control_fault){ 0 })
#define WRONG(field, what) ((struct control_fault){ field, what })

static bool
is_key(struct slice key)
{
	for (size_t i = 0; i < key.n; i++)
		if (!ascii_is_alnum(key.p[i]) && key.p[i] != '-' &&
		    key.p[i] != '_' && key.p[i] != '.')
			return false;
	return key.n != 0 && key.n <= KEY_MAX;
}

/* One line that a terminal and a record can be shown. */
static bool
is_tame(struct slice text, size_t max)
{
	uint32_t v;
	size_t n;

	if (text.n > max)
		return false;
	for (; text.n != 0; text = slice_from(text, n))
		if (!utf8_first(text, &v, &n) || !utf8_is_tame(v))
			return false;
	return true;
}

static bool
is_path(struct slice path, size_t max)
{
	return path.n > 1 && path.p[0] == '/' && is_tame(path, max);
}

static bool
is_link_name(struct slice name)
{
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] <= ' ' || name.p[i] >= 0x7f || name.p[i] == '/' ||
		    name.p[i] == ':' || name.p[i] == '%')
			return false;
	return name.n != 0 && name.n <= LINK_NAME_MAX &&
	    !slice_eq_str(name, ".") && !slice_eq_str(name, "..");
}

/* A file below DIR/policies without its `.yaml`: no way out of that folder. */
static bool
is_policy_file(struct slice file)
{
	bool first = true; /* of a part */

	for (size_t i = 0; i < file.n; i++) {
		uint8_t c = file.p[i];
		if (first ? !ascii_is_alnum(c) && c != '_' :
			    !ascii_is_alnum(c) && c != '_' && c != '-' &&
			    c != '.' && c != '/')
			return false;
		first = c == '/';
	}
	return file.n != 0 && !first;
}

static bool
is_policy(struct slice policy)
{
	const uint8_t *colon =
	    policy.n == 0 ? NULL : memchr(policy.p, ':', policy.n);

	if (policy.n > POLICY_NAME_MAX)
		return false;
	if (colon == NULL)
		return is_policy_file(policy);
	size_t at = (size_t)(colon - policy.p);
	return is_policy_file(slice_first(policy, at)) &&
	    is_key(slice_from(policy, at + 1));
}

static bool
has_key_twice(const struct control_pair *pairs, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t j = 0; j < i; j++)
			if (slice_eq(pairs[i].key, pairs[j].key))
				return true;
	return false;
}

static struct control_fault
keys_wrong(const char *field, const struct control_pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_key(pairs[i].key))
			return WRONG(field,
			    "expected a key of at most 64 letters, digits, "
			    "`-`, `_` and `.`");
	if (has_key_twice(pairs, n))
		return WRONG(field, "a key stands there twice");
	return GOOD;
}

static struct control_fault
labels_wrong(const struct control_attach *a)
{
	size_t size = 0;

	for (size_t i = 0; i < a->n_labels; i++) {
		size += a->labels[i].key.n + a->labels[i].value.n;
		if (!is_tame(a->labels[i].value, LABEL_MAX))
			return WRONG("labels",
			    "expected values of one printable line, at most "
			    "256 bytes");
	}
	if (size > CONTROL_LABELS_SIZE)
		return WRONG("labels",
		    "they are longer than 512 bytes together");
	return keys_wrong("labels", a->labels, a->n_labels);
}

static struct control_fault
pairs_wrong(const struct control_attach *a)
{
	for (size_t i = 0; i < a->n_sets; i++)
		if (!is_tame(a->sets[i].value, VALUE_MAX))
			return WRONG("set",
			    "expected values of one printable line, at most "
			    "1024 bytes");
	for (size_t i = 0; i < a->n_secrets; i++)
		if (a->secrets[i].value.n == 0 ||
		    a->secrets[i].value.n > SECRET_BYTES)
			return WRONG("secrets",
			    "expected values of 1 to 16384 bytes");
	struct control_fault f = keys_wrong("set", a->sets, a->n_sets);
	if (f.what == NULL)
		f = keys_wrong("secrets", a->secrets, a->n_secrets);
	return f.what == NULL ? labels_wrong(a) : f;
}

static struct control_fault
who_wrong(const struct control_attach *a)
{
	if (!control_is_name(a->name))
		return WRONG("name", "expected 1 to 40 of a-z, 0-9 and `-`");
	if (a->tenant.n != 0 && !control_is_name(a->tenant))
		return WRONG("tenant", "expected 1 to 40 of a-z, 0-9 and `-`");
	if (a->policy.n == 0 && a->policy_text.n == 0)
		return WRONG("policy",
		    "expected the name of a policy, or its text in "
		    "`policy_text`");
	if (a->policy.n != 0 && a->policy_text.n != 0)
		return WRONG("policy", "either its name or its text, not both");
	if (a->policy.n != 0 && !is_policy(a->policy))
		return WRONG("policy",
		    "expected FILE or FILE:NAME below the policies of the "
		    "configuration, without `.yaml`");
	return GOOD;
}

static bool
is_port(struct slice text)
{
	uint32_t v = 0;

	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_is_digit(text.p[i]))
			return false;
		v = v * 10 + (uint32_t)(text.p[i] - '0');
	}
	return text.n != 0 && text.n <= 5 && text.p[0] != '0' &&
	    v <= UINT16_MAX;
}

/* "127.0.0.1:3128", "[::1]:3128", "unix:/run/x.sock" */
static bool
is_listen(struct slice s)
{
	static const struct slice prefix = { (const uint8_t *)"unix:", 5 };
	struct ip ip;
	size_t at = s.n;

	if (slice_has_prefix(s, prefix))
		return is_path(slice_from(s, prefix.n), UNIX_PATH_BYTES);
	while (at != 0 && s.p[at - 1] != ':')
		at--;
	if (at < 2 || !is_port(slice_from(s, at)))
		return false;
	struct slice host = slice_first(s, at - 1);
	if (host.p[0] != '[')
		return ip_parse(host, &ip) && ip.family == 4;
	return host.p[host.n - 1] == ']' &&
	    ip_parse(slice_of(host.p + 1, host.n - 2), &ip) && ip.family == 6;
}

/* What a mode needs, may have, and has no use for. */
enum use {
	USE_NO,
	USE_MAY,
	USE_MUST,
};

/* clang-format off */
static const struct {
	enum use space, interface, addresses, mac, listen;
} uses[CAPTURE_MODES] = {
	[CAPTURE_NETNS] = { USE_MUST, USE_NO, USE_NO, USE_NO, USE_NO },
	[CAPTURE_GATE] = { USE_MUST, USE_MUST, USE_MAY, USE_MAY, USE_NO },
	[CAPTURE_INTERFACE] = { USE_NO, USE_MUST, USE_MUST, USE_MAY, USE_NO },
	[CAPTURE_SHARED] = { USE_MUST, USE_NO, USE_NO, USE_NO, USE_NO },
	[CAPTURE_PROXY] = { USE_NO, USE_NO, USE_NO, USE_NO, USE_MUST },
};
/* clang-format on */

static struct control_fault
use_wrong(enum use use, bool has, const char *field)
{
	if (use == USE_MUST && !has)
		return WRONG(field, "this kind of capture needs it");
	if (use == USE_NO && has)
		return WRONG(field, "this kind of capture has no use for it");
	return GOOD;
}

static struct control_fault
uses_wrong(const struct control_attach *a)
{
	const struct {
		enum use use;
		bool has;
		const char *field;
	} rows[] = {
		{ uses[a->mode].space, a->netns.n != 0 || a->pid != 0,
		    "netns" },
		{ uses[a->mode].interface, a->interface.n != 0, "interface" },
		{ uses[a->mode].addresses, a->n_addresses != 0, "addresses" },
		{ uses[a->mode].mac, a->has_mac, "mac" },
		{ uses[a->mode].listen, a->listen.n != 0, "listen" },
		{ a->listen.n != 0 ? USE_MAY : USE_NO, a->token.n != 0,
		    "token" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct control_fault f =
		    use_wrong(rows[i].use, rows[i].has, rows[i].field);
		if (f.what != NULL)
			return f;
	}
	return GOOD;
}

static struct control_fault
addresses_wrong(const struct control_attach *a)
{
	for (size_t i = 0; i < a->n_addresses; i++) {
		const struct control_address *at = &a->addresses[i];
		if (at->prefix > (at->ip.family == 4 ? 32 : 128))
			return WRONG("addresses",
			    "the prefix is longer than the address");
		for (size_t j = 0; j < i; j++)
			if (ip_eq(&at->ip, &a->addresses[j].ip))
				return WRONG("addresses",
				    "an address stands there twice");
	}
	return GOOD;
}

static struct control_fault
capture_wrong(const struct control_attach *a)
{
	if (a->mode >= CAPTURE_MODES)
		return WRONG("capture",
		    "expected netns, gate, interface, shared or proxy");
	if (a->netns.n != 0 && a->pid != 0)
		return WRONG("netns", "either a path or a pid, not both");
	if (a->pid > INT32_MAX)
		return WRONG("pid", "no process has this number");
	if (a->netns.n != 0 && !is_path(a->netns, PATH_BYTES))
		return WRONG("netns", "expected an absolute path");
	if (a->interface.n != 0 && !is_link_name(a->interface))
		return WRONG("interface", "expected the name of an interface");
	if (a->has_mac && (a->mac[0] & 1) != 0)
		return WRONG("mac", "it is a group's, not an interface's");
	if (a->listen.n != 0 && !is_listen(a->listen))
		return WRONG("listen",
		    "expected ADDRESS:PORT, [ADDRESS]:PORT or unix:/PATH");
	if (a->token.n != 0 && !is_tame(a->token, TOKEN_MAX))
		return WRONG("token",
		    "expected one printable line, at most 256 bytes");
	struct control_fault f = addresses_wrong(a);
	return f.what == NULL ? uses_wrong(a) : f;
}

struct control_fault
control_attach_wrong(const struct control_attach *a)
{
	struct control_fault f = who_wrong(a);

	if (f.what == NULL)
		f = pairs_wrong(a);
	return f.what == NULL ? capture_wrong(a) : f;
}
