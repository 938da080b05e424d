/* SPDX-License-Identifier: Apache-2.0 */
/* lint: table */
/*
 * The tables and records of an owner's image; the form is that of
 * policy/image.h.  Inside policy/ and load/ only.
 * Pure.  Enums, a row a word (lint: table).
 */
#ifndef POLICY_OWNER_IMAGE_H
#define POLICY_OWNER_IMAGE_H

#include "policy/image.h"

/* In the head. */
enum owner_flag {
	OWNER_NXDOMAIN = 1, /* `dns: {refused: nxdomain}` */
	OWNER_GAPS = 2,	    /* `audit: {required: false}` */
	OWNER_FLAGS = 3
};

enum owner_table {
	OWNED_CREDENTIALS,
	OWNED_PLACES,
	OWNED_ONLY,
	OWNED_PRIVATE,
	OWNED_UPSTREAMS,
	OWNED_NAMES,
	OWNED_RESOLVERS,
	OWNED_FIXED,
	OWNED_ROOTS,
	OWNED_FILES,
	OWNED_ENVIRONMENT,
	OWNED_WORDS, /* of secrets' commands, and what they may pass */
	OWNED_AUTHORITIES,
	OWNED_SANDBOXES, /* of a gateway, as are the groups */
	OWNED_GROUPS,
	OWNER_TABLES
};

/* A credential's record, behind the words that the program has of it, too. */
enum owned_credential_word {
	CREDENTIAL_FROM = CREDENTIAL_WORDS,
	CREDENTIAL_SOURCE_S,
	CREDENTIAL_PLACES = CREDENTIAL_SOURCE_S + 2,
	CREDENTIAL_N_PLACES,
	CREDENTIAL_ONLY,
	CREDENTIAL_N_ONLY,
	CREDENTIAL_FOR_MS,
	CREDENTIAL_ARGS, /* first in OWNED_WORDS, and how many */
	CREDENTIAL_N_ARGS,
	CREDENTIAL_PASS,
	CREDENTIAL_N_PASS,
	CREDENTIAL_FILE_S, /* where its source is written, for messages */
	CREDENTIAL_LINE = CREDENTIAL_FILE_S + 2,
	CREDENTIAL_COLUMN,
	OWNED_CREDENTIAL_WORDS
};

enum place_word {
	PLACE_ENV_S,
	PLACE_LIKE_S = PLACE_ENV_S + 2,
	PLACE_WORDS = PLACE_LIKE_S + 2
};

/* A URL pattern of `only:`. */
enum only_word {
	ONLY_HOST_KIND,
	ONLY_HOST_S, /* what stands behind the wildcard; literals: their text */
	ONLY_SCHEME = ONLY_HOST_S + 2,
	ONLY_PORT,
	ONLY_PATH_S,
	ONLY_TEXT_S = ONLY_PATH_S + 2,
	ONLY_FILE_S = ONLY_TEXT_S + 2,
	ONLY_LINE = ONLY_FILE_S + 2,
	ONLY_WORDS
};

enum upstream_word {
	UPSTREAM_NAMES,
	UPSTREAM_N_NAMES,
	UPSTREAM_RESOLVERS,
	UPSTREAM_N_RESOLVERS,
	UPSTREAM_FIXED,
	UPSTREAM_N_FIXED,
	UPSTREAM_ONLY_ROOTS,
	UPSTREAM_PROXY_S, /* its host, or empty */
	UPSTREAM_PROXY_PORT = UPSTREAM_PROXY_S + 2,
	UPSTREAM_WORDS
};

enum name_word {
	NAME_KIND,   /* enum host_kind */
	NAME_TEXT_S, /* what stands behind the wildcard */
	NAME_WORDS = NAME_TEXT_S + 2
};

enum resolver_word {
	RESOLVER_FAMILY,
	RESOLVER_BYTES,
	RESOLVER_PORT = RESOLVER_BYTES + 4, /* fixed addresses: 0 */
	RESOLVER_WORDS
};

enum root_word {
	ROOT_DER_S,
	ROOT_ITEM = ROOT_DER_S + 2, /* upstream item, or IMAGE_NONE */
	ROOT_FILE_S, /* its path, or "" if it is one of the system's */
	ROOT_WORDS = ROOT_FILE_S + 2
};

enum file_word {
	FILE_PATH_S,
	FILE_WRITE = FILE_PATH_S + 2,
	FILE_WORDS
};

enum variable_word {
	VARIABLE_NAME_S,
	VARIABLE_WORDS = VARIABLE_NAME_S + 2
};

/* Of the CA that the owner gives; none: a run makes its own. */
enum authority_word {
	AUTHORITY_KIND,	   /* enum owner_ca; OWNER_CA_KINDS: its key */
	AUTHORITY_BYTES_S, /* a certificate, DER; of the key: its path */
	AUTHORITY_FILE_S = AUTHORITY_BYTES_S + 2, /* where it is named */
	AUTHORITY_LINE = AUTHORITY_FILE_S + 2,
	AUTHORITY_COLUMN,
	AUTHORITY_WORDS
};

enum sandbox_word {
	SANDBOX_BODY_S,			      /* priv/control.h has the form */
	SANDBOX_TOKEN_S = SANDBOX_BODY_S + 2, /* path, or empty */
	SANDBOX_FILE_S = SANDBOX_TOKEN_S + 2,
	SANDBOX_LINE = SANDBOX_FILE_S + 2,
	SANDBOX_COLUMN,
	SANDBOX_WORDS
};

enum group_word {
	GROUP_RIGHT, /* enum control_right of priv/control.h */
	GROUP_NAME_S,
	GROUP_FILE_S = GROUP_NAME_S + 2,
	GROUP_LINE = GROUP_FILE_S + 2,
	GROUP_COLUMN,
	GROUP_WORDS
};

enum argument_word {
	ARGUMENT_TEXT_S,
	ARGUMENT_WORDS = ARGUMENT_TEXT_S + 2
};

#endif
