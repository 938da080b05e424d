/* SPDX-License-Identifier: Apache-2.0 */
/* A policy file to its policies, as written. */
#ifndef LOAD_READ_POLICY_H
#define LOAD_READ_POLICY_H

#include "load/load.h"
#include "load/parameter.h"
#include "load/read.h"

struct read_policy {
	struct read r;
	const struct load_policy_in *in;
	bool *taken;		     /* of in->sets, by a policy */
	struct load_parameters last; /* of the last policy that may be meant */
};

/* False if there was a complaint. */
bool read_policy_file(struct read_policy *p, const struct doc_node *root,
    struct load_policy_text **policies, uint32_t *n);

/* One rule; `index` from 1, for its name if it has none. */
bool read_rule(struct read_policy *p, const struct doc_node *node,
    uint32_t index, struct load_rule *rule);

/* The conditions under `query:`. */
bool read_query(const struct read *r, const struct doc_node *node,
    struct load_rule *rule);

/* `credential:`; checked against the owner's configuration. */
bool read_rule_credentials(struct read_policy *p, const struct doc_node *node,
    struct load_rule *rule);

/* `addresses:`, and the literal hosts, against the owner's `private:`. */
bool read_rule_addresses(struct read_policy *p, const struct doc_node *node,
    struct load_rule *rule);

#endif
