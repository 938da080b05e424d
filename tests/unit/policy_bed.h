/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of policy/ and load/ have in common: YAML to a program. */
#ifndef TESTS_POLICY_BED_H
#define TESTS_POLICY_BED_H

#include "load/load.h"
#include "policy/policy.h"

struct bed {
	struct buf owner_image, image, text; /* text: of errors and warnings */
	struct owner *owner;		     /* NULL: none, or errors */
	struct program *program;	     /* NULL: errors */
};

struct bed_want {
	const char *config; /* owner.yaml, or NULL */
	const char *policy; /* policy.yaml; or `preset/NAME` */
	bool preset;
	const char *name; /* which of its policies; NULL: all are looked at */
	const char *repo; /* the value of the parameter `repo`, or NULL */
	uint64_t now_s;	  /* for warnings of `expires` */
	bool trusted;	  /* as if it lay in the owner's directory; advice */
	const struct bed_file {
		const char *name, *text;
	} * files; /* what can be included */
	uint32_t n_files;
};

void bed_load_want(struct bed *b, const struct bed_want *want);

/* Compile; `config` may be NULL.  The names are owner.yaml and policy.yaml. */
void bed_load(struct bed *b, const char *config, const char *policy);

/* As bed_load, as if the policy lay in the owner's directory, with advice. */
void bed_load_trusted(struct bed *b, const char *config, const char *policy);

/* As bed_load, of several policies the one of this name. */
void bed_load_named(struct bed *b, const char *config, const char *policies,
    const char *name);

/* As bed_load, with a value for the parameter `repo`. */
void bed_load_repo(struct bed *b, const char *config, const char *policy,
    const char *repo);

void bed_release(struct bed *b);

/* Facts of a request: "GET https://a.test/x?y", as over a real connection. */
struct facts bed_request(const struct program *p, const char *method,
    const char *url);

#endif
