/* SPDX-License-Identifier: Apache-2.0 */
/* The owner's configuration as written: reader to compiler. */
#ifndef LOAD_OWNER_TEXT_H
#define LOAD_OWNER_TEXT_H

#include "load/load.h"
#include "load/read.h"
#include "policy/owner.h"

struct load_credential {
	struct load_at at;
	struct slice name, slot, prefix, user;
	enum credential_kind kind;
	bool secret_is_user; /* of Basic */
	uint32_t flags;	     /* enum credential_flag */
	enum secret_source from;
	struct slice source;
	struct load_at source_at;
	uint32_t for_ms; /* 0: for ever */
	struct slice args[OWNER_ARGS_MAX], pass[OWNER_PASS_MAX];
	uint32_t n_args, n_pass;
	struct load_pattern *only;
	uint32_t n_only;
	struct {
		struct slice env, like;
	} places[OWNER_PLACES_MAX];
	uint32_t n_places;
};

struct load_resolver {
	struct ip ip;
	uint16_t port;
};

struct load_upstream {
	struct load_host *names;
	uint32_t n_names;
	struct load_resolver resolvers[OWNER_RESOLVERS_MAX];
	uint32_t n_resolvers;
	struct load_at addresses_at;
	struct ip addresses[OWNER_ADDRESSES_MAX];
	uint32_t n_addresses;
	bool only_roots;
	struct slice proxy; /* its host */
	uint16_t proxy_port;
};

struct load_root {
	struct slice der;
	uint32_t item;	   /* upstream item, or IMAGE_NONE */
	struct slice file; /* its path; empty: one of the system's */
};

struct load_path {
	struct slice path;
	bool write;
};

struct load_ca {
	struct load_at at; /* of the value of `ca`; line 0: none */
	struct slice certs[OWNER_CA_KINDS][OWNER_CA_MAX];
	uint32_t n_certs[OWNER_CA_KINDS];
	struct slice key;			  /* its path */
	struct load_at named[OWNER_CA_KINDS + 1]; /* the last: the key */
};

/* Of a gateway. */
struct load_sandbox {
	struct load_at at;
	struct slice name;
	struct slice body;  /* priv/control.h */
	struct slice token; /* path of the file that has it, or empty */
};

struct load_group {
	struct load_at at;
	struct slice name;
	uint32_t right; /* enum control_right */
};

struct load_owner_text {
	struct load_credential *credentials;
	uint32_t n_credentials;
	struct load_prefix *private;
	uint32_t n_private;
	struct load_upstream *upstreams;
	uint32_t n_upstreams;
	struct load_root *roots;
	uint32_t n_roots;
	struct load_path *files;
	uint32_t n_files;
	struct slice *environment;
	uint32_t n_environment;
	struct load_at refused_at;  /* of the key `refused`; line 0: none */
	bool nxdomain;		    /* it says so */
	struct load_at required_at; /* of the key `required`; line 0: none */
	bool gaps;		    /* it is false */
	struct load_ca ca;
	struct load_sandbox *sandboxes;
	uint32_t n_sandboxes;
	struct load_group *groups;
	uint32_t n_groups;
};

/* What the readers below have in hand. */
struct read_owner {
	struct read r;
	const struct load_owner_in *in;
	const struct load_file *file;
	struct load_owner_text *out;
	unsigned n_bundles; /* files of certificates that were opened */
};

/* One file into `o->out`, which begins as zero bytes. */
void read_owner_file(struct read_owner *o, const struct doc_node *root);

/* The parts that have a file of their own. */
void read_credentials(struct read_owner *o, const struct doc_node *node);
void read_upstream(struct read_owner *o, const struct doc_node *node);
void read_ca(struct read_owner *o, const struct doc_node *node);
void read_sandboxes(struct read_owner *o, const struct doc_node *node);
void read_control(struct read_owner *o, const struct doc_node *node);

/* Kind and slot of the credential that `node` is, and its `secret:`, into
 * `c`; read_slot wants the kind. */
bool read_kind(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c);
bool read_slot(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c);
bool read_secret(struct read_owner *o, const struct doc_node *node,
    struct load_credential *c);

/* Absolute, from where it stands; `~/` is the owner's home. */
bool read_owner_path(struct read_owner *o, const struct doc_node *node,
    struct slice *path);

/*
 * The text of a file of certificates that `node` names, into `pem`, which is
 * initialised here; and its path.
 */
bool read_bundle(struct read_owner *o, const struct doc_node *node,
    struct slice *path, struct buf *pem);

/* No `.`, `..`, `//` in it: what is written is what is meant. */
bool read_is_plain_path(struct slice path);

/* A name that an environment variable can have. */
bool read_variable(struct read_owner *o, const struct doc_node *node,
    struct slice *name);

/* Room for one more in a list of the arena. */
#define READ_MORE(r, list, n) arena_grow((r)->arena, list, n, sizeof(*(list)))

#endif
