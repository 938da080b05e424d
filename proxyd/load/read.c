/* SPDX-License-Identifier: Apache-2.0 */
#include "load/read.h"
#include "base/ascii.h"

struct load_at
read_at(const struct read *r, const struct doc_node *node)
{
	return (struct load_at){ r->file, node->line, node->column };
}

bool
read_refuse(const struct read *r, const struct doc_node *node, const char *fmt,
    ...)
{
	struct buf text;
	va_list ap;

	buf_init(&text, 4096);
	va_start(ap, fmt);
	buf_vputf(&text, fmt, ap);
	va_end(ap);
	load_error(r->report, read_at(r, node), "%s", buf_text(&text));
	buf_release(&text);
	return false;
}

struct nearest
read_nearest(struct slice text, const struct read_key *keys, size_t n)
{
	struct nearest near = nearest_to(text);

	for (size_t i = 0; i < n; i++)
		if (keys[i].place == READ_HERE)
			nearest_look(&near, slice_of_str(keys[i].name));
	return near;
}

/* All keys of the table that stand here, for the complaint. */
static void
put_keys(struct buf *out, const struct read_key *keys, size_t n)
{
	const char *before = "";

	for (size_t i = 0; i < n; i++) {
		if (keys[i].place != READ_HERE)
			continue;
		buf_putf(out, "%s`%s`", before, keys[i].name);
		before = ", ";
	}
}

static void
refuse_unknown(const struct read *r, const struct doc_node *key,
    const struct read_key *keys, size_t n)
{
	struct nearest near = read_nearest(key->text, keys, n);
	struct buf list;

	if (near.best.n != 0) {
		read_refuse(r, key, "unknown key `%.*s`" NEAREST_FMT,
		    SLICE_ARG(key->text), NEAREST_ARG(near));
		return;
	}
	buf_init(&list, 1024);
	put_keys(&list, keys, n);
	read_refuse(r, key, "unknown key `%.*s`; expected one of %s",
	    SLICE_ARG(key->text), buf_text(&list));
	buf_release(&list);
}

static void
check_key(const struct read *r, const struct doc_node *key,
    const struct read_key *keys, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!slice_eq_str(key->text, keys[i].name))
			continue;
		switch (keys[i].place) {
		case READ_HERE:
			return;
		case READ_LATER:
			read_refuse(r, key, "`%s` is not in this version",
			    keys[i].name);
			return;
		case READ_OWNER:
			read_refuse(r, key,
			    "`%s` belongs in the owner's configuration "
			    "(`~/.config/duenna/*.yaml` or `--config FILE`)",
			    keys[i].name);
			return;
		case READ_CREDENTIAL:
			read_refuse(r, key,
			    "`%s` is a key of a credential, in the owner's "
			    "configuration (`~/.config/duenna/*.yaml` or "
			    "`--config FILE`)",
			    keys[i].name);
			return;
		case READ_POLICY:
			read_refuse(r, key,
			    "`%s` belongs in a policy file (`--policy FILE`)",
			    keys[i].name);
			return;
		}
	}
	refuse_unknown(r, key, keys, n);
}

static const char *
kind_name(const struct doc_node *node)
{
	switch (node->kind) {
	case DOC_SCALAR:
		return node->text.n == 0 && !node->quoted ? "nothing" :
							    "a single value";
	case DOC_LIST:
		return "a list";
	case DOC_MAPPING:
		return "a mapping";
	}
	return "";
}

bool
read_keys(const struct read *r, const struct doc_node *node,
    const struct read_key *keys, size_t n, bool *unknown)
{
	uint32_t before = r->report->n_errors;

	if (node->kind != DOC_MAPPING) {
		struct buf list;
		buf_init(&list, 1024);
		put_keys(&list, keys, n);
		read_refuse(r, node, "expected a mapping with %s, found %s",
		    buf_text(&list), kind_name(node));
		buf_release(&list);
		return false;
	}
	for (const struct doc_node *k = node->first; k != NULL; k = k->next)
		check_key(r, k, keys, n);
	if (unknown != NULL)
		*unknown = r->report->n_errors != before;
	return true;
}

const struct doc_node *
read_find_key(const struct doc_node *mapping, const char *name)
{
	for (const struct doc_node *k = mapping->first; k != NULL; k = k->next)
		if (slice_eq_str(k->text, name))
			return k;
	return NULL;
}

const struct doc_node *
read_find(const struct doc_node *mapping, const char *name)
{
	const struct doc_node *key = read_find_key(mapping, name);

	return key == NULL ? NULL : key->value;
}

bool
read_scalar(const struct read *r, const struct doc_node *node, const char *what,
    struct slice *text)
{
	if (node->kind != DOC_SCALAR || (node->text.n == 0 && !node->quoted))
		return read_refuse(r, node, "expected %s, found %s", what,
		    kind_name(node));
	*text = node->text;
	return true;
}

bool
read_list(const struct read *r, const struct doc_node *node, const char *what)
{
	if (node->kind != DOC_LIST)
		return read_refuse(r, node, "expected %s, found %s", what,
		    kind_name(node));
	return true;
}

bool
read_bool(const struct read *r, const struct doc_node *node, bool *value)
{
	struct slice text;

	if (!read_scalar(r, node, "`true` or `false`", &text))
		return false;
	*value = slice_eq_str(text, "true");
	if (node->quoted || (!*value && !slice_eq_str(text, "false")))
		return read_refuse(r, node,
		    "expected `true` or `false`, found `%.*s`%s",
		    SLICE_ARG(text), node->quoted ? " in quotes" : "");
	return true;
}

bool
read_duration(const struct read *r, const struct doc_node *node, uint32_t most,
    uint32_t *ms)
{
	struct slice text;
	uint64_t v = 0;

	if (!read_scalar(r, node, "a time such as `5m`", &text))
		return false;
	size_t digits = text.n == 0 ? 0 : text.n - 1;
	for (size_t i = 0; i < digits; i++) {
		if (!ascii_is_digit(text.p[i]) || i == 8)
			digits = 0;
		v = v * 10 + (uint64_t)(text.p[i] - '0');
	}
	uint8_t unit = text.n == 0 ? 0 : text.p[text.n - 1];
	v *= unit == 's' ? 1000 :
	    unit == 'm'	 ? 60000 :
	    unit == 'h'	 ? 3600000 :
			   0;
	if (digits == 0 || v == 0 || text.p[0] == '0')
		return read_refuse(r, node,
		    "`%.*s` is no time: expected such as `10s`, `15m`, `1h`",
		    SLICE_ARG(text));
	if (v > most)
		return read_refuse(r, node,
		    "`%.*s` is too long: at most %u hours", SLICE_ARG(text),
		    most / 3600000U);
	*ms = (uint32_t)v;
	return true;
}

bool
read_version(const struct read *r, const struct doc_node *root)
{
	const struct doc_node *version = read_find(root, "version");
	struct slice text;

	if (version == NULL)
		return read_refuse(r, root, "`version: 1` is missing");
	if (!read_scalar(r, version, "`1`", &text))
		return false;
	if (version->quoted || !slice_eq_str(text, "1"))
		return read_refuse(r, version,
		    "unknown version `%.*s`%s; expected `1`", SLICE_ARG(text),
		    version->quoted ? " in quotes" : "");
	return true;
}

bool
read_name(const struct read *r, const struct doc_node *node, const char *of,
    struct slice *name)
{
	bool good = true;

	if (!read_scalar(r, node, of, name))
		return false;
	for (size_t i = 0; i < name->n; i++) {
		uint8_t c = name->p[i];
		good = good &&
		    (ascii_is_lower(c) || ascii_is_digit(c) || c == '-');
	}
	if (!good || name->n == 0 || name->n > READ_NAME_MAX ||
	    name->p[0] == '-' || name->p[name->n - 1] == '-')
		return read_refuse(r, node,
		    "`%.*s` is no name: expected %s of a-z, 0-9 and inner "
		    "hyphens, 1 to 40 bytes",
		    SLICE_ARG(*name), of);
	return true;
}

bool
read_ip(const struct read *r, const struct doc_node *node, struct ip *ip)
{
	struct slice text;

	if (!read_scalar(r, node, "an address", &text))
		return false;
	if (!ip_parse(text, ip))
		return read_refuse(r, node,
		    "`%.*s` is no address: expected such as 10.0.0.1 or fd00::1",
		    SLICE_ARG(text));
	return true;
}

/* Digits only, no leading zero but 0 itself; -1 for anything else. */
static int
small_number(struct slice text)
{
	int v = 0;

	if (text.n == 0 || text.n > 3 || (text.n > 1 && text.p[0] == '0'))
		return -1;
	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_is_digit(text.p[i]))
			return -1;
		v = v * 10 + (text.p[i] - '0');
	}
	return v;
}

/* Clear the bits behind the prefix; true if none was set. */
static bool
clear_host_bits(struct ip *ip, unsigned bits)
{
	bool clean = true;

	for (unsigned i = 0; i < 16; i++) {
		unsigned keep = bits > i * 8 ? bits - i * 8 : 0;
		uint8_t mask = keep >= 8 ? 0xff : (uint8_t)(0xff00U >> keep);
		if ((ip->bytes[i] & (uint8_t)~mask) != 0)
			clean = false;
		ip->bytes[i] &= mask;
	}
	return clean;
}

bool
read_prefix(const struct read *r, const struct doc_node *node,
    struct load_prefix *prefix)
{
	struct slice text;

	if (!read_scalar(r, node, "an address or a prefix", &text))
		return false;
	const uint8_t *slash = memchr(text.p, '/', text.n);
	size_t n = slash == NULL ? text.n : (size_t)(slash - text.p);
	*prefix = (struct load_prefix){ .at = read_at(r, node) };
	if (!ip_parse(slice_first(text, n), &prefix->first))
		return read_refuse(r, node,
		    "`%.*s` is no address or prefix: expected such as "
		    "10.0.0.1 or 10.0.0.0/8",
		    SLICE_ARG(text));
	int most = prefix->first.family == 4 ? 32 : 128;
	int bits = slash == NULL ? most : small_number(slice_from(text, n + 1));
	if (bits < 0 || bits > most)
		return read_refuse(r, node,
		    "`%.*s`: the length of a prefix is a number up to %d",
		    SLICE_ARG(text), most);
	prefix->bits = (unsigned)bits;
	if (!clear_host_bits(&prefix->first, prefix->bits)) {
		char canonical[IP_TEXT_SIZE];
		ip_text(&prefix->first, canonical);
		return read_refuse(r, node,
		    "`%.*s` has bits set behind its length: write `%s/%d`",
		    SLICE_ARG(text), canonical, bits);
	}
	return true;
}
