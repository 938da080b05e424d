/* SPDX-License-Identifier: Apache-2.0 */
/* A policy file to its policies, as written. */
#ifndef LOAD_READ_POLICY_H
#define LOAD_READ_POLICY_H

#include "load/load.h"
#include "load/parameter.h"
#include "load/read.h"

/* A credential of an included policy, and what it is here. */
struct read_mapped {
	struct load_at at;
	struct slice name;
	uint32_t credential; /* of the owner; IMAGE_NONE: none */
	bool used;
};

/* The file that is read, and those that include it. */
struct read_scope {
	struct read_scope *outer; /* NULL: the one that was asked for */
	struct load_at at;	  /* of the include */
	struct slice name;	  /* for messages */
	struct slice prefix;	  /* of its rules' names; empty or "npm/" */
	uint32_t number;	  /* of the file, as load_included has it */
	bool preset;		  /* no file: one of ours */
	bool trusted;		  /* it lies below the owner's directory */
	unsigned depth;
	struct read_mapped *mapped;
	uint32_t n_mapped;
};

struct read_policy {
	struct read r;
	const struct load_policy_in *in;
	bool *taken;		     /* of in->sets, by a policy */
	struct load_parameters last; /* of the last policy that may be meant */
	struct read_scope *scope;
	bool wanted;	/* the policy that is read may be meant */
	bool unchecked; /* it has been said that the owner's names are not */
	uint32_t n_includes;
	uint64_t n_bytes; /* of all files */
};

/* False if there was a complaint. */
bool read_policy_file(struct read_policy *p, const struct doc_node *root,
    struct load_policy_text **policies, uint32_t *n);

/* The keys of a policy, and its rules; false if there was a complaint. */
bool read_policy_rules(struct read_policy *p, const struct doc_node *body,
    const struct doc_node **rules);

/*
 * The one policy of an included file, or that of a name: its mapping.  NULL if
 * there was a complaint.
 */
const struct doc_node *read_policy_choose(struct read_policy *p,
    struct slice bytes, struct slice file, struct slice name);

/* The items of a list of rules, behind those that `policy` has. */
bool read_rules(struct read_policy *p, const struct doc_node *node,
    struct load_policy_text *policy);

/* What is added to the policy that was asked for, behind all of its own. */
bool read_added(struct read_policy *p, struct load_policy_text *policy);

/* An item that is an include. */
bool read_include(struct read_policy *p, const struct doc_node *node,
    struct load_policy_text *policy);

/* One rule; `index` from 1, for its name if it has none. */
bool read_rule(struct read_policy *p, const struct doc_node *node,
    uint32_t index, struct load_rule *rule);

/* The conditions under `query:`. */
bool read_query(const struct read *r, const struct doc_node *node,
    struct load_rule *rule);

/*
 * The owner's credential that a name means in this file; IMAGE_NONE, with a
 * warning, if the file is included and the name is not mapped.
 */
bool read_credential_name(struct read_policy *p, const struct doc_node *node,
    uint32_t *credential);

/* `expires:` of a rule, with a warning if that is past or near. */
bool read_rule_expires(struct read_policy *p, const struct doc_node *node,
    struct load_rule *rule);

/* `limits:` of a rule whose patterns are read. */
bool read_rule_limits(const struct read *r, const struct doc_node *node,
    struct load_rule *rule);

/* Such as `10MiB`, up to 1024GiB; such as `60`, from 1 to `most`. */
bool read_size(const struct read *r, const struct doc_node *node,
    uint64_t *size);
bool read_count(const struct read *r, const struct doc_node *node,
    uint32_t most, uint32_t *count);

/* What all rules of a policy may have together. */
bool read_policy_limits(const struct read *r,
    const struct load_policy_text *policy);

/* `report:` of a rule whose patterns and methods are read. */
bool read_rule_report(const struct read *r, const struct doc_node *node,
    struct load_rule *rule);

/*
 * `report:` of a whole policy, or the option: a last rule for every name.  Then
 * all rules that are not enforced go behind those that are.
 */
bool read_policy_report(struct read_policy *p, const struct doc_node *body,
    struct load_policy_text *policy);

/* What counts for nothing in a policy that is included: a warning each. */
void read_included_keys(const struct read *r, const struct doc_node *body);

/* `credential:`; checked against the owner's configuration. */
bool read_rule_credentials(struct read_policy *p, const struct doc_node *node,
    struct load_rule *rule);

/* `addresses:`, and the literal hosts, against the owner's `private:`. */
bool read_rule_addresses(struct read_policy *p, const struct doc_node *node,
    struct load_rule *rule);

#endif
