/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the tree of a file to values: closed lists of keys, each with its type.
 * Every complaint says what was expected.
 */
#ifndef LOAD_READ_H
#define LOAD_READ_H

#include "base/nearest.h"
#include "load/doc.h"
#include "load/rule.h"

struct load_parameters;

/* What a reader has in hand: one file. */
struct read {
	struct arena *arena;
	struct load_report *report;
	struct slice file;
	/* What `${NAME}` stands for; NULL: parameters are an error here. */
	struct load_parameters *parameters;
};

struct load_at read_at(const struct read *r, const struct doc_node *node);

/* Complain about a node; false, so that callers can return it. */
bool read_refuse(const struct read *r, const struct doc_node *node,
    const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Where a key of the language stands, if not here. */
enum read_place {
	READ_HERE,
	READ_LATER,	 /* a key of the language, not of this version */
	READ_OWNER,	 /* in the owner's configuration */
	READ_CREDENTIAL, /* of a credential there */
	READ_POLICY,	 /* in a policy file */
};

struct read_key {
	const char *name;
	enum read_place place;
};

/*
 * Check the keys of a mapping against the table: errors for those that are
 * elsewhere, later or nowhere, with the nearest key.  False if `node` is no
 * mapping.  `unknown`, if not NULL, is set: what is missing may be misspelt.
 */
bool read_keys(const struct read *r, const struct doc_node *node,
    const struct read_key *keys, size_t n, bool *unknown);

/* A key, or NULL; and its value. */
const struct doc_node *read_find_key(const struct doc_node *mapping,
    const char *name);
const struct doc_node *read_find(const struct doc_node *mapping,
    const char *name);

/* `what` is expected, in words, for the complaint. */
bool read_scalar(const struct read *r, const struct doc_node *node,
    const char *what, struct slice *text);
bool read_list(const struct read *r, const struct doc_node *node,
    const char *what);
bool read_bool(const struct read *r, const struct doc_node *node, bool *value);

/* A time with its unit, `10s`, `15m`, `1h`: 1 s to `most` ms. */
bool read_duration(const struct read *r, const struct doc_node *node,
    uint32_t most, uint32_t *ms);

/* `version: 1`, which every file has. */
bool read_version(const struct read *r, const struct doc_node *root);

#define READ_NAME_MAX 40 /* bytes of a name */

/* A name: [a-z0-9-], 1 to READ_NAME_MAX, no hyphen at either end. */
bool read_name(const struct read *r, const struct doc_node *node,
    const char *of, struct slice *name);

/* `10.0.0.0/8` or one address. */
bool read_prefix(const struct read *r, const struct doc_node *node,
    struct load_prefix *prefix);

/* One address. */
bool read_ip(const struct read *r, const struct doc_node *node, struct ip *ip);

/* The nearest of the table's names that stand here. */
struct nearest read_nearest(struct slice text, const struct read_key *keys,
    size_t n);

#endif
