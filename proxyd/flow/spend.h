/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the `limits:` of a rule leave to a sandbox.  They are counted where its
 * flows are, in plain variables: one record for each rule of a program that has
 * some, full when the rule comes.
 *
 * What is spent counts for one request, or for one connection that passes
 * unread.  Uploaded are the bytes that are sent to the origin, heads too.
 */
#ifndef FLOW_SPEND_H
#define FLOW_SPEND_H

#include "base/attr.h"
#include "base/budget.h"
#include "http/stage.h"
#include "policy/program.h"

struct spend_rule {
	unsigned refs;
	struct budget requests, upload;
	size_t n_connections;
};

/* Those of a program. */
struct spend_rules {
	struct spend_rule **at; /* owned: a share of each */
	size_t n;
};

/* False: no memory; to be released all the same. */
MUST_USE bool spend_rules_init(struct spend_rules *rules,
    const struct program *p, uint64_t now_ms);
void spend_rules_release(struct spend_rules *rules);

/*
 * `rules`, of `p`, go on with what is left in `former`, of `was`: a rule with
 * the same URLs is the same one (policy/same.h).  A number that has changed
 * counts at once, and gives nothing back.
 */
void spend_rules_carry(struct spend_rules *rules, const struct program *p,
    const struct spend_rules *former, const struct program *was);

#define SPEND_TEXT_SIZE 128 /* of the text of a refusal, with its NUL */

/* What one request, or one connection, has of its rule. */
struct spend {
	struct program_limits limits;
	struct spend_rule *rule; /* shared; NULL: nothing is limited */
	bool counted;		 /* among its connections */
	uint64_t taken;		 /* bytes of upload */
	uint32_t retry_after_s;	 /* of a refusal: then it may be tried again */
	char text[SPEND_TEXT_SIZE]; /* of a refusal, for people */
};

/* All zero before the first call, which sets up what `rule` is limited by. */
void spend_init(struct spend *s, const struct program *p, uint32_t rule,
    const struct spend_rules *rules);

/*
 * One more request, whose head has `head` bytes and whose body `length`.  ALLOW:
 * it is counted; else why not, and nothing is.
 */
enum reason spend_request(struct spend *s, uint64_t head, uint64_t length,
    uint64_t now_ms);

/* It did not happen after all: nothing of it counts. */
void spend_undo(struct spend *s, uint64_t now_ms);

/* One more connection that passes unread, likewise. */
enum reason spend_connection(struct spend *s, uint64_t now_ms);

/* `n` bytes more are to be sent.  False: they are too many, `text` says so. */
bool spend_upload(struct spend *s, uint64_t n, uint64_t now_ms);

/* `n` bytes more passed.  False: they were too many, and what is owed now is
 * taken from those that come. */
bool spend_passed(struct spend *s, uint64_t n, uint64_t now_ms);

/* Is a body to be counted whose length nobody knows? */
bool spend_wants_body(const struct spend *s);

/* Of what goes to the origin `upload_per_hour` is taken, too. */
enum spend_way {
	SPEND_UP,
	SPEND_DOWN,
};

/* A stage that does; it fails with limit.bytes.  `s` lives longer.  NULL: no
 * memory. */
MUST_USE struct stage *spend_stage(struct spend *s, enum spend_way way);

/* It is over, and so many bytes were sent: of what was taken the rest is put
 * back.  Once more does nothing. */
void spend_end(struct spend *s, uint64_t sent, uint64_t now_ms);

#endif
