/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compiled policy: one flat, position-independent, read-only image of
 * offsets, no pointers.  The clerk builds it (load/compile.h), seals it in a
 * memfd, and every role maps the same one.  Each role checks every offset and
 * length when it maps it, so that later look-ups need not.
 *
 * Strings returned are borrowed and live as long as the program.
 */
#ifndef POLICY_PROGRAM_H
#define POLICY_PROGRAM_H

#include "base/attr.h"
#include "base/err.h"
#include "base/ip.h"
#include "base/slice.h"
#include "policy/facts.h"
#include "policy/verdict.h"

struct program; /* immutable */

/*
 * Map the image in `fd` (a sealed memfd; the descriptor stays the caller's)
 * and check it.  NULL with ERR_INTEGRITY if it is not a whole and valid image
 * or not sealed against writing and shrinking, else ERR_MEMORY, ERR_SYSTEM.
 */
MUST_USE struct program *program_map(int fd, enum err *err);

/* The same over bytes that the caller keeps for as long (tests, `check`). */
MUST_USE struct program *program_open(struct slice image, enum err *err);

/* One more share of it; each is ended by program_free(). */
struct program *program_ref(struct program *p);
void program_free(struct program *p);

/* Has anybody another share? */
bool program_is_shared(const struct program *p);

/* The whole image, for its digest ("duenna.program" of the records). */
struct slice program_image(const struct program *p);

struct slice program_policy_name(const struct program *p);

/* `refusals: code`: nothing but the reason's code is for the sandbox to see. */
bool program_shows_code_alone(const struct program *p);

#define PROGRAM_SANDBOX_SIZE 41 /* bytes of a sandbox's name, and a NUL */

/*
 * The name of a sandbox that was given none: the policy's, cut, and four
 * digits.
 */
void program_sandbox_name(struct slice policy, struct slice digits,
    char out[PROGRAM_SANDBOX_SIZE]);

enum credential_kind {
	CREDENTIAL_TOKEN,  /* Authorization: Bearer */
	CREDENTIAL_HEADER, /* a header of its own, with an optional prefix */
	CREDENTIAL_BASIC,  /* Authorization: Basic */
	CREDENTIAL_QUERY,  /* a parameter of the query */
	CREDENTIAL_KINDS
};

struct program_credential {
	struct slice name;
	enum credential_kind kind;
	struct slice slot;   /* the header's name, or the parameter's */
	struct slice prefix; /* "Bearer ", or as configured; may be empty */
	struct slice user;   /* of Basic, if the secret is the password */
	bool secret_is_user; /* of Basic; the password is empty */
	bool response_filter, ranges; /* keys of the credential (DESIGN 8) */
	bool echo_mask; /* `echo: mask`: no route is closed after hits */
};

struct program_rule {
	struct slice name; /* as written, or made: "rule-3" */
	struct slice text; /* its first URL pattern as written */
	struct slice file; /* where it stands */
	uint32_t line;
	bool deny;
	bool report; /* recorded, not enforced */
	uint32_t n_credentials;
	uint32_t credentials[VERDICT_CREDENTIALS_MAX];
};

uint32_t program_n_rules(const struct program *p);
struct program_rule program_rule(const struct program *p, uint32_t rule);

/* A host of it has `*` or `**`: a dial names the host.  Looks at each pattern. */
bool program_rule_is_wild(const struct program *p, uint32_t rule);

/*
 * The host of a rule that has one only, an exact name or a literal address:
 * then a dial need not name it.  False: it has several, or a wildcard.
 */
bool program_rule_host(const struct program *p, uint32_t rule,
    struct slice *host);

/* `expires:` of a rule, seconds since 1970; 0: it does not. */
uint64_t program_expires(const struct program *p, uint32_t rule);

/* Does any rule? */
bool program_may_expire(const struct program *p);

/* `limits:` of a rule; 0 where it says nothing. */
struct program_limits {
	uint32_t index; /* one a rule that has some; or VERDICT_NONE */
	uint64_t body, upload_per_hour; /* bytes */
	uint32_t requests_per_minute, connections, names, idle_ms;
};

uint32_t program_n_limits(const struct program *p);
struct program_limits program_limits(const struct program *p, uint32_t rule);

uint32_t program_n_credentials(const struct program *p);
struct program_credential program_credential(const struct program *p,
    uint32_t credential);

/*
 * Do two credentials have one slot?  Case does not matter, and in a header's
 * name `_` is read as `-`, since origins take them for the same.  Pure.
 */
bool program_same_slot(const struct program_credential *a,
    const struct program_credential *b);

/*
 * The synthetic address of a name: that of its exact pattern, else of the
 * longest that matches, else (false) the refusal address.
 */
bool program_address(const struct program *p, struct slice host, struct ip *ip);

/* The address that all refused names share. */
struct ip program_refusal_address(const struct program *p);

/* Refused names do not exist (NXDOMAIN), instead of having that address. */
bool program_denies_names(const struct program *p);

/*
 * Does any rule of this name and port open `ip` by `addresses:`, or name it as
 * a literal host, and has not expired?  (policy/address.h asks; never true for
 * metadata.)
 */
bool program_opens(const struct program *p, struct slice host, uint16_t port,
    const struct ip *ip, uint64_t now_s);

#endif
