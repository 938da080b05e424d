/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rule of git+https says, for those who serve a request that it allows.
 * Pure.
 */
#ifndef POLICY_GIT_H
#define POLICY_GIT_H

#include "base/wr.h"
#include "policy/git_command.h"
#include "policy/image.h"
#include "policy/program.h"

struct git_rule {
	bool fetch, push, archive;
	bool hide_refs; /* `hide_other_refs: true` */
	/* Of pushes. */
	bool create, update, delete, force;
	bool is_signed; /* commits and tags have to be */
	bool lfs_read, lfs_write;
	bool follow; /* `api: follow`: the API may delete what a push may */
	enum git_forge forge;
	uint32_t max_commands;
	uint64_t max_pack, max_file; /* bytes; 0: any */
};

/* False: the rule is none of git+https, or denies. */
bool git_rule(const struct program *p, uint32_t rule, struct git_rule *git);

/* How many patterns of a list it has; the `i`th, compiled and as written. */
uint32_t git_rule_n(const struct program *p, uint32_t rule, enum git_list list);
struct slice git_rule_glob(const struct program *p, uint32_t rule,
    enum git_list list, uint32_t i);
struct slice git_rule_text(const struct program *p, uint32_t rule,
    enum git_list list, uint32_t i);

/* Is it a ref of the rule, whatever may be done with it? */
bool git_rule_has_ref(const struct program *p, uint32_t rule, struct slice ref);

/* May rule `rule` have this command?  REASON_ALLOW, or why not. */
enum reason git_rule_command(const struct program *p, uint32_t rule,
    const struct git_command *c);

/* Why not, for people: the rule, and what it allows.  At most a line. */
struct buf;
void git_rule_put_refusal(const struct program *p, uint32_t rule,
    const struct git_command *c, struct buf *out);

/* The refs that it allows, as written, with commas between. */
void git_rule_put_refs(const struct program *p, uint32_t rule, struct buf *out);

/*
 * The path of the repository as the rule spells it, which is what goes
 * upstream: without a final slash, with `.git` where the forge knows it so.
 *
 * repository  as in the request (wire/gitpath.h), which the rule allows
 *
 * False if it does not fit into `out`, or the rule does not name it.
 */
MUST_USE bool git_rule_path(const struct program *p, uint32_t rule,
    struct slice host, struct slice repository, struct wr *out);

/*
 * The next host that rules of git+https allow something on, by its exact name.
 *
 * next	 0 at first; goes on with each call
 *
 * False: there is none left.  A host may come several times.
 */
bool git_next_host(const struct program *p, uint32_t *next, struct slice *host,
    uint16_t *port);

/* The forge of a host that says what it is, or FORGES. */
enum git_forge git_forge_of_host(struct slice host);

/* The `i`th of those hosts, or NULL. */
const char *git_forge_host(unsigned i);

/* Its name in a policy; the forge of that name, or FORGES. */
const char *git_forge_name(enum git_forge forge);
enum git_forge git_forge_find(struct slice name);

/* The user's name that the forge wants beside a token, in Basic. */
const char *git_forge_user(enum git_forge forge);

/*
 * Credential `i` of the program as rule `rule` attaches it: a token of a rule of
 * git+https is the password of Basic, with the user's name that the forge
 * wants, since git's own servers take nothing else.
 */
struct program_credential git_credential(const struct program *p, uint32_t rule,
    uint32_t i);

#endif
