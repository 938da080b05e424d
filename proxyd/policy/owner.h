/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner's configuration, compiled: a flat image like the program's, from
 * another reader and other files, so that a policy that comes with a repository
 * can hold none of it.  It names where secrets come from; it holds none.
 *
 * The indexes of credentials here are those of the program that was compiled
 * against this image.
 */
#ifndef POLICY_OWNER_H
#define POLICY_OWNER_H

#include "policy/program.h"

struct owner; /* immutable */

/* As program_map and program_open. */
MUST_USE struct owner *owner_map(int fd, enum err *err);
MUST_USE struct owner *owner_open(struct slice image, enum err *err);
void owner_free(struct owner *o);

enum secret_source {
	SECRET_FILE,	/* source: absolute path */
	SECRET_ENV,	/* source: name of a variable of the caller */
	SECRET_COMMAND, /* source: absolute path of the program */
	SECRET_SOURCES
};

#define OWNER_PLACES_MAX 8 /* variables that one placeholder is put into */
#define OWNER_ARGS_MAX 32  /* words of a command, the program's the first */
#define OWNER_PASS_MAX 16  /* variables that a command gets */

/* Where something is written in the owner's files, for messages. */
struct owner_place {
	struct slice file; /* as a terminal may show it */
	uint32_t line, column;
};

struct owner_credential {
	struct program_credential public; /* what the program knows of it too */
	enum secret_source from;
	struct slice source;
	struct owner_place at; /* of the source */
	uint32_t
	    for_ms; /* how long it is used before it is got anew; 0: ever */
	uint32_t n_args, n_pass; /* of a command */
	uint32_t n_places;
	struct {
		struct slice env; /* variable of the command's environment */
		struct slice
		    like; /* shape: "ghp_", "sk-ant-", "jwt", or empty */
	} places[OWNER_PLACES_MAX];
};

uint32_t owner_n_credentials(const struct owner *o);
struct owner_credential owner_credential(const struct owner *o, uint32_t i);

/* Of a command: word `k` of it, and variable `k` that it is passed. */
struct slice owner_credential_arg(const struct owner *o, uint32_t i,
    uint32_t k);
struct slice owner_credential_pass(const struct owner *o, uint32_t i,
    uint32_t k);

/*
 * Is this inside the credential's own ceiling, `only:`?  The keeper asks for
 * each release, with the canonical host of the dial.  Schemes other than https
 * never are.  The path part of `only:` is compared with the rule's pattern at
 * load; here host and port count.
 */
bool owner_only_allows(const struct owner *o, uint32_t credential,
    struct slice host, uint16_t port);

/* How duenna reaches the outside: the first item whose names match decides. */
#define OWNER_RESOLVERS_MAX 4
#define OWNER_ADDRESSES_MAX 8

struct owner_upstream {
	bool found;	/* false: the host's own resolvers and roots */
	uint32_t index; /* of the item */
	uint32_t n_resolvers;
	struct ip resolvers[OWNER_RESOLVERS_MAX];
	uint16_t resolver_ports[OWNER_RESOLVERS_MAX]; /* 53 unless given */
	uint32_t n_addresses;
	struct ip addresses[OWNER_ADDRESSES_MAX]; /* fixed answer */
	bool only_roots;
	/* The company's own proxy: a canonical host, empty: none.  It resolves
	 * the names then; there are neither resolvers nor addresses. */
	struct slice proxy;
	uint16_t proxy_port;
};

struct owner_upstream owner_upstream(const struct owner *o, struct slice host);

/* Does any item name a proxy? */
bool owner_has_proxy(const struct owner *o);

/*
 * Root certificates, DER, as the steward read them.  Root `i` counts for hosts
 * whose upstream item is `item`, or, if item is VERDICT_NONE, for all hosts
 * but those of `only_roots` items.
 */
struct owner_root {
	struct slice der;
	uint32_t item;
	struct slice file; /* where it was read; of the system's: empty */
};

uint32_t owner_n_roots(const struct owner *o);
struct owner_root owner_root(const struct owner *o, uint32_t i);

/* `files: {read, write}` and `environment:`; paths are absolute. */
uint32_t owner_n_files(const struct owner *o);
struct slice owner_file(const struct owner *o, uint32_t i, bool *write);
uint32_t owner_n_environment(const struct owner *o);
struct slice owner_environment(const struct owner *o, uint32_t i);

/* `dns: {refused: nxdomain}`; the program has it too. */
bool owner_denies_names(const struct owner *o);

/*
 * `ca:`: certificates, DER, at most OWNER_CA_MAX of each kind: the signing one
 * first, the root last.  The path of its key is empty if none is given.
 */
#define OWNER_CA_MAX 8

enum owner_ca {
	OWNER_CA_NOW,
	OWNER_CA_NEXT, /* none, or what will sign one day */
	OWNER_CA_KINDS
};

uint32_t owner_ca(const struct owner *o, enum owner_ca which,
    struct slice certs[OWNER_CA_MAX]);
struct slice owner_ca_key(const struct owner *o);

/* Where they are named; of the key: OWNER_CA_KINDS. */
struct owner_place owner_ca_place(const struct owner *o, enum owner_ca which);

/*
 * `sandboxes:` of a gateway, in the form that control_attach_read() of
 * priv/control.h reads, and where they are named.
 */
struct owner_sandbox {
	struct slice body;
	struct slice token; /* path of the file with a proxy's, or empty */
	struct owner_place at;
};

uint32_t owner_n_sandboxes(const struct owner *o);
struct owner_sandbox owner_sandbox(const struct owner *o, uint32_t i);

/* `control:`: a right over the control socket, and a group that has it. */
struct owner_group {
	uint32_t right;	   /* one enum control_right of priv/control.h */
	struct slice name; /* or its number */
	struct owner_place at;
};

uint32_t owner_n_groups(const struct owner *o);
struct owner_group owner_group(const struct owner *o, uint32_t i);

/* `audit: {required: false}`: what cannot be written is counted, not refused. */
bool owner_allows_gaps(const struct owner *o);

#endif
