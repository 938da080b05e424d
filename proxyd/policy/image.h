/* SPDX-License-Identifier: Apache-2.0 */
/* lint: table */
/*
 * The form of the flat images: what load/ writes and this room reads.
 *
 * An image is a head of 32-bit words, tables of fixed-size records of words,
 * and a blob of strings.  All words are in network order, so an image has one
 * digest on every machine.  A string is two words, offset and length, from the
 * start of the image.  The head has, for each table, the offset of its first
 * record and the number of records.
 *
 * The enums below name the words of each record; an _S word is the first of a
 * string's two.  Inside policy/ and load/ only.
 * Pure.  Enums, a row a word (lint: table).
 */
#ifndef POLICY_IMAGE_H
#define POLICY_IMAGE_H

#include "base/slice.h"
#include "policy/gitflag.h"

#define IMAGE_VERSION 7
#define IMAGE_NONE UINT32_MAX	 /* no such record */
#define IMAGE_SIZE_MAX 268435456 /* bytes; 200,000 rules need about 60 MiB */
#define IMAGE_TABLES_MAX 20
#define IMAGE_KEY_SIZE 16 /* bytes: the key of the synthetic addresses */

/* The head, for both kinds of image. */
enum image_head {
	HEAD_MAGIC, /* "dPRG" or "dOWN" */
	HEAD_VERSION,
	HEAD_SIZE,		    /* of the whole image, in bytes */
	HEAD_KEY,		    /* four words */
	HEAD_NAME_S = HEAD_KEY + 4, /* the policy's name */
	HEAD_FLAG_BITS = HEAD_NAME_S + 2,
	HEAD_TABLES, /* offset and count of each */
	HEAD_WORDS = HEAD_TABLES + 2 * IMAGE_TABLES_MAX
};

#define IMAGE_PROGRAM 0x64505247
#define IMAGE_OWNER 0x644f574e

/* Of a program. */
enum program_flag {
	PROGRAM_CODE_ONLY = 1, /* `refusals: code` */
	PROGRAM_NXDOMAIN = 2,  /* the owner's `dns: {refused: nxdomain}` */
	PROGRAM_GIT = 4,       /* it has rules of git+https */
	PROGRAM_FLAGS = 7
};

enum program_table {
	TABLE_NODES,
	TABLE_HOSTS,
	TABLE_LISTS, /* of routes: one word a record; each list in order */
	TABLE_LITERALS,
	TABLE_ADDRESSES,
	TABLE_ROUTES,
	TABLE_RULES,
	TABLE_QUERIES,
	TABLE_GLOBS,
	TABLE_PREFIXES,
	TABLE_CREDENTIALS,
	TABLE_LIMITS,  /* of rules that have some */
	TABLE_GIT,     /* of rules of git+https that allow */
	TABLE_TEXTS,   /* patterns of theirs */
	TABLE_INDEXES, /* of hosts with many routes */
	TABLE_SHAPES,
	TABLE_SLOTS, /* one word a record: a place in TABLE_LISTS */
	PROGRAM_TABLES
};

/* A label of the host tree, read from the right; record 0 is the root. */
enum node_word {
	NODE_LABEL_S,
	NODE_HASH = NODE_LABEL_S + 2, /* hostset_hash() of the label */
	NODE_CHILDREN,		      /* first; sorted by hash, then label */
	NODE_N_CHILDREN,
	NODE_EXACT,  /* host of the name itself, or IMAGE_NONE */
	NODE_STAR,   /* of `*.` before it */
	NODE_DOUBLE, /* of `**.` before it */
	NODE_WORDS
};

enum host_kind {
	HOST_EXACT,
	HOST_STAR,
	HOST_DOUBLE,
	HOST_LITERAL,
	HOST_KINDS
};

/* A host pattern. */
enum host_word {
	HOST_KIND,
	HOST_TEXT_S,
	HOST_ADDRESS = HOST_TEXT_S + 2, /* synthetic IPv4; literals: 0 */
	HOST_LIST, /* first record of its routes in TABLE_LISTS */
	HOST_N_LIST,
	HOST_HAS_CREDENTIAL, /* 1: some rule for it carries one */
	HOST_INDEX,	     /* record of TABLE_INDEXES, or IMAGE_NONE */
	HOST_WORDS
};

/* The index of a host's routes: policy/heads.h, policy/shape.h. */
enum index_word {
	INDEX_HEADS, /* first, and how many, in TABLE_LISTS */
	INDEX_N_HEADS,
	INDEX_SHAPES,
	INDEX_N_SHAPES,
	INDEX_WORDS
};

/*
 * Which part of a path is looked at.  Slot `i` is where the list of those
 * routes begins whose part has the hash `i`, the next where it ends.
 */
enum shape_word {
	SHAPE_KIND,  /* enum shape_kind */
	SHAPE_FRONT, /* bits: segments, from the left */
	SHAPE_BACK,  /* bits: segments, from the right */
	SHAPE_PART,  /* one of which a part counts: policy/shape.h */
	SHAPE_PART_N,
	SHAPE_SLOTS, /* first, and how many: one more than there are lists */
	SHAPE_N_SLOTS,
	SHAPE_WORDS
};

enum literal_word {
	LITERAL_FAMILY, /* 4 or 6; sorted by it and by the bytes */
	LITERAL_BYTES,	/* four words */
	LITERAL_HOST = LITERAL_BYTES + 4,
	LITERAL_WORDS
};

enum address_word {
	ADDRESS_V4, /* sorted */
	ADDRESS_HOST,
	ADDRESS_WORDS
};

/* One URL pattern of one rule. */
enum route_word {
	ROUTE_RULE,
	ROUTE_HOST,
	ROUTE_SCHEME,
	ROUTE_PORT,
	ROUTE_PATH_S, /* compiled: policy/pathglob.h */
	ROUTE_TEXT_S = ROUTE_PATH_S + 2,
	ROUTE_WORDS = ROUTE_TEXT_S + 2
};

enum rule_flag {
	RULE_DENY = 1,
	RULE_ENCODED_SLASH = 2,
	RULE_HIDDEN = 4,	/* an earlier one matches whatever it does */
	RULE_QUERY = 8,		/* it has `query:` */
	RULE_QUERY_OTHERS = 16, /* `others: allow` */
	RULE_ANY_METHOD = 32,	/* a deny rule without `methods:` */
	RULE_SIGNED_URL = 64,	/* `signed_url: pass` */
	RULE_REPORT = 128,	/* recorded, not enforced: stands last */
	RULE_EXPIRES = 256,	/* RULE_UNTIL says when */
	RULE_FLAGS = 511
};

enum foreign_mode {
	FOREIGN_REFUSE,
	FOREIGN_STRIP,
	FOREIGN_PASS,
	FOREIGN_MODES
};

enum rule_word {
	RULE_NAME_S,
	RULE_FILE_S = RULE_NAME_S + 2,
	RULE_LINE = RULE_FILE_S + 2,
	RULE_FLAG_BITS,
	RULE_FOREIGN_MODE,
	RULE_METHODS, /* bits of policy/method.h */
	RULE_ROUTES,  /* first, and how many: at least one */
	RULE_N_ROUTES,
	RULE_QUERIES,
	RULE_N_QUERIES,
	RULE_PREFIXES,
	RULE_N_PREFIXES,
	RULE_UNTIL, /* seconds since 1970, two words, the upper first */
	RULE_LIMITS = RULE_UNTIL + 2, /* record, or IMAGE_NONE */
	RULE_GIT,		      /* record, or IMAGE_NONE */
	RULE_N_CREDENTIALS,
	RULE_CREDENTIALS, /* VERDICT_CREDENTIALS_MAX words */
	RULE_WORDS = RULE_CREDENTIALS + 4
};

/* 0: not limited, or as usual.  Sizes are two words, the upper one first. */
enum limits_word {
	LIMITS_BODY,
	LIMITS_UPLOAD = LIMITS_BODY + 2,
	LIMITS_REQUESTS = LIMITS_UPLOAD + 2,
	LIMITS_CONNECTIONS,
	LIMITS_NAMES,
	LIMITS_IDLE_MS,
	LIMITS_WORDS
};

/* What kind of host it is: spellings of a repository, a user's name. */
enum git_forge {
	FORGE_NONE,
	FORGE_GITHUB,
	FORGE_GITLAB,
	FORGE_FORGEJO,
	FORGE_BITBUCKET,
	FORGES
};

/* The lists of a git rule, in TABLE_TEXTS. */
enum git_list {
	GIT_REFS,    /* full names: compiled with a slash before */
	GIT_KEEP,    /* paths in the tree, likewise */
	GIT_OPTIONS, /* push options, likewise */
	GIT_AUTHORS, /* addresses, likewise */
	GIT_COMMITTERS,
	GIT_LISTS
};

enum git_word {
	GIT_FLAG_BITS,
	GIT_FORGE,
	GIT_MAX_COMMANDS,
	GIT_MAX_PACK,			 /* two words; 0: any */
	GIT_MAX_FILE = GIT_MAX_PACK + 2, /* likewise */
	GIT_LIST = GIT_MAX_FILE + 2,	 /* first and count, of each */
	GIT_WORDS = GIT_LIST + 2 * GIT_LISTS
};

enum text_word {
	TEXT_GLOB_S, /* compiled: policy/pathglob.h */
	TEXT_WRITTEN_S = TEXT_GLOB_S + 2,
	TEXT_WORDS = TEXT_WRITTEN_S + 2
};

enum query_kind {
	QUERY_GLOBS,
	QUERY_ANY,
	QUERY_ABSENT,
	QUERY_KINDS
};

enum query_word {
	QUERY_KEY_S, /* decoded */
	QUERY_KIND = QUERY_KEY_S + 2,
	QUERY_GLOB, /* first, and how many */
	QUERY_N_GLOBS,
	QUERY_WORDS
};

enum glob_word {
	GLOB_TEXT_S, /* compiled: policy/querycond.h */
	GLOB_WORDS = GLOB_TEXT_S + 2
};

enum prefix_word {
	PREFIX_BITS,
	PREFIX_FAMILY,
	PREFIX_BYTES, /* four words */
	PREFIX_WORDS = PREFIX_BYTES + 4
};

enum credential_flag {
	CREDENTIAL_RESPONSE_FILTER = 1,
	CREDENTIAL_RANGES = 2,
	CREDENTIAL_ECHO_MASK = 4,
	CREDENTIAL_SECRET_IS_USER = 8,
	CREDENTIAL_FLAGS = 15
};

enum credential_word {
	CREDENTIAL_NAME_S,
	CREDENTIAL_SLOT_S = CREDENTIAL_NAME_S + 2,
	CREDENTIAL_PREFIX_S = CREDENTIAL_SLOT_S + 2,
	CREDENTIAL_USER_S = CREDENTIAL_PREFIX_S + 2,
	CREDENTIAL_KIND = CREDENTIAL_USER_S + 2,
	CREDENTIAL_FLAG_BITS,
	CREDENTIAL_WORDS /* in the owner's image a record goes on */
};

static inline uint32_t
image_read(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3];
}

/* An image whose offsets were checked, and its tables. */
struct image {
	struct slice bytes; /* borrowed from whoever mapped it */
	bool timed;	    /* of a program: some rule expires */
	struct image_table {
		const uint8_t *first;
		uint32_t n;	/* records */
		uint32_t words; /* of a record */
	} tables[IMAGE_TABLES_MAX];
};

static inline uint32_t
image_flags(const struct image *m)
{
	return image_read(m->bytes.p + (size_t)HEAD_FLAG_BITS * 4);
}

/* Record `i` of `table`, for whoever reads several of its words. */
static inline const uint8_t *
image_record(const struct image *m, unsigned table, uint32_t i)
{
	const struct image_table *t = &m->tables[table];

	return t->first + (size_t)i * t->words * 4;
}

/* Word `word` of a record. */
static inline uint32_t
image_at(const uint8_t *record, unsigned word)
{
	return image_read(record + (size_t)word * 4);
}

/* Word `word` of record `i` of `table`. */
static inline uint32_t
image_word(const struct image *m, unsigned table, uint32_t i, unsigned word)
{
	return image_at(image_record(m, table, i), word);
}

/* Word `word` and the next as one number, the upper one first. */
static inline uint64_t
image_size(const struct image *m, unsigned table, uint32_t i, unsigned word)
{
	return (uint64_t)image_word(m, table, i, word) << 32 |
	    image_word(m, table, i, word + 1);
}

/* The string whose first word is `word`. */
static inline struct slice
image_text(const struct image *m, const uint8_t *record, unsigned word)
{
	return slice_of(m->bytes.p + image_at(record, word),
	    image_at(record, word + 1));
}

static inline struct slice
image_string(const struct image *m, unsigned table, uint32_t i, unsigned word)
{
	return image_text(m, image_record(m, table, i), word);
}

static inline uint32_t
image_count(const struct image *m, unsigned table)
{
	return m->tables[table].n;
}

/*
 * What a room says of its image: words of a record of each table, and the
 * strings, references and ranges in it, for image_check().
 */
enum image_check_kind {
	CHECK_STRING, /* word and the next: a string inside the image */
	CHECK_INDEX,  /* word < records of table `what` */
	CHECK_INDEX_OR_NONE,
	CHECK_RANGE, /* word and the next: first and count in table `what` */
	CHECK_BELOW, /* word < what */
};

struct image_check {
	uint8_t table, word;
	enum image_check_kind kind;
	uint32_t what;
};

struct image_form {
	uint32_t magic;
	unsigned n_tables;
	const uint32_t *words; /* of a record, a row a table */
	const struct image_check *checks;
	size_t n_checks;
	uint32_t flags; /* bits that its head may have */
};

/*
 * Check the head, every table and every row of `form` against hostile bytes,
 * and set `m`.  False if anything does not fit.
 */
bool image_open(struct slice bytes, const struct image_form *form,
    struct image *m);

/* The address in words `word`.. of a record: family word, four of bytes. */
struct ip;
bool image_ip(const struct image *m, unsigned table, uint32_t i, unsigned word,
    struct ip *ip);

#endif
