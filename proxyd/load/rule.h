/* SPDX-License-Identifier: Apache-2.0 */
/* A policy as written: what the reader makes and the compiler takes. */
#ifndef LOAD_RULE_H
#define LOAD_RULE_H

#include "base/ip.h"
#include "load/report.h"
#include "policy/facts.h"
#include "policy/image.h"
#include "policy/verdict.h"

/* A host pattern: `a.test`, `*.a.test`, `**.a.test`, `**`, `10.0.0.1`. */
struct load_host {
	enum host_kind kind;
	struct slice text;   /* canonical, with its wildcard; no brackets */
	struct slice behind; /* what stands behind the wildcard; else `text` */
	struct ip ip;	     /* of a literal */
};

/* A URL pattern. */
struct load_pattern {
	struct load_at at;
	struct slice text; /* as written, values in place of parameters */
	enum scheme scheme;
	struct load_host host;
	uint16_t port;
	struct slice path; /* compiled: policy/pathglob.h */
};

struct load_query {
	struct slice key;
	enum query_kind kind;
	struct slice *globs; /* compiled: policy/querycond.h */
	uint32_t n_globs;
};

struct load_prefix {
	struct load_at at;
	struct ip first; /* no bit behind `bits` is set */
	unsigned bits;
};

/* `limits:`; 0 where nothing is said. */
struct load_limits {
	uint64_t body, upload_per_hour; /* bytes */
	uint32_t requests_per_minute, connections, names, idle_ms;
};

/* A pattern of a list of a git rule: policy/image.h. */
struct load_text {
	struct slice written, glob;
};

struct load_texts {
	struct load_text *list;
	uint32_t n;
};

/* What a rule of git+https allows. */
struct load_git {
	uint32_t flags; /* of enum git_flag */
	enum git_forge forge;
	uint32_t max_commands;
	uint64_t max_pack, max_file; /* bytes; 0: any */
	struct load_texts lists[GIT_LISTS];
};

/* `report:`: is it enforced, or recorded and let through? */
enum load_reporting {
	LOAD_ENFORCED,
	LOAD_REPORT_READS, /* `true`: GET and HEAD */
	LOAD_REPORT_ALL,   /* `all`: every method */
};

struct load_rule {
	struct load_at at;
	struct slice name;
	bool deny;
	bool any_method; /* deny, without `methods:` */
	bool has_query, query_others;
	bool encoded_slash;
	bool public_suffix; /* a wildcard may be over one */
	bool signed_url;    /* `pass` */
	bool hidden;	    /* set by the compiler */
	uint32_t methods;
	enum foreign_mode foreign;
	enum load_reporting report;
	struct load_limits limits;
	struct load_git *git; /* NULL: not of git+https, or `deny` */
	uint64_t expires_s;   /* since 1970; 0: it does not */
	struct load_pattern *patterns;
	uint32_t n_patterns;
	struct load_query *queries;
	uint32_t n_queries;
	struct load_prefix *prefixes;
	uint32_t n_prefixes;
	uint32_t credentials[VERDICT_CREDENTIALS_MAX];
	uint32_t n_credentials;
};

struct load_policy_text {
	struct load_at at;
	struct slice name;
	struct load_rule *rules;
	uint32_t n_rules;
	bool code_only; /* `refusals: code` */
};

#endif
