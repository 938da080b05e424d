/* SPDX-License-Identifier: Apache-2.0 */
/* What suggest.c collects and suggest_yaml.c writes; for suggest*.c alone. */
#ifndef AUDIT_SUGGEST_INSIDE_H
#define AUDIT_SUGGEST_INSIDE_H

#include "audit/suggest.h"

/* Requests to one URL, but for the values of its query. */
struct wish {
	struct slice host, scheme, shape, path; /* in `key` */
	struct slice folder; /* of the path, up to and with its last slash */
	uint16_t port;
	uint32_t methods;  /* bits of policy/method.h */
	bool any_query;	   /* what it had cannot be said in a rule */
	bool new_host;	   /* the name had no rule */
	bool foreign;	   /* with a credential of the client's own */
	bool placeholder;  /* with one of ours */
	bool escaped;	   /* %2F in the path */
	uint64_t n;	   /* refusals */
	enum reason first; /* why the first one was */
	size_t n_key;
	uint8_t key[]; /* the texts behind their lengths */
};

/* Refusals that a rule would not have changed, or not one of ours. */
struct other {
	enum reason reason;
	uint64_t n;
	const char *why;
	size_t n_key;
	uint8_t key[]; /* what it was, printable */
};

/*
 * The shape of a query: its keys in their order, such as "a&b=1"; where the log
 * has a value, that.  False: it has no shape that a rule could say.
 */
#define SHAPE_KEYS_MAX 16
#define SHAPE_SIZE_MAX 2048
MUST_USE bool suggest_shape(struct slice query, uint8_t out[SHAPE_SIZE_MAX],
    size_t *n);

/* The scheme of a wish that is a fetch; its path is then the repository. */
#define SUGGEST_GIT "git+https"

/* The repository of a fetch that a rule could allow, as the client spelled it,
 * since a server that is no forge may know no other; empty: it is none. */
struct slice suggest_repository(const struct event *e);

/* Why no rule is suggested for what is of git's form; NULL: nothing against. */
const char *suggest_why_no_git(const struct event *e, enum reason reason);

struct slice suggest_folder(struct slice path);

/* Append rules for `n` wishes, ordered by host, scheme, port, shape, path. */
size_t suggest_put_rules(struct wish *const *wishes, size_t n, struct buf *out);

#endif
