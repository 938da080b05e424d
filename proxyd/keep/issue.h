/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the other roles ask of the keeper: checked, made, recorded, answered.
 * Every body is hostile.
 *
 * Each says whose it is (priv/who.h): a sandbox, generation and digest that are
 * not those of the program in here get nothing.
 *
 * RELEASE gives a credential only if all of this holds, from the keeper's own
 * copies:
 *  - the sandbox exists, the generation is the present one (a former one is
 *    told policy.changed), the rule allows and names this credential;
 *  - the worker shows a socket, and SO_COOKIE of it is one that the dialer told
 *    of for this very sandbox and generation;
 *  - policy, asked again, lets the rule dial the host and port of that dial over
 *    TLS;
 *  - host and port are inside the credential's own ceiling, `only:`;
 *  - TCP_INFO says that the socket is ESTABLISHED;
 *  - the secret can be had; while a fresh one is under way the request waits;
 *  - the record of it is in the log.
 * So a pooled connection serves all rules of the host and port that it was
 * dialled for, and each rule gets its own credentials and no other's.
 */
#ifndef KEEP_ISSUE_H
#define KEEP_ISSUE_H

#include "base/attr.h"
#include "base/err.h"
#include "net/channel.h"
#include "record/recorder.h"

struct ca;
struct fresh;
struct issue;
struct sign_key;
struct store;

/* `store` and `recorder` are borrowed and live longer.  NULL: ERR_MEMORY. */
MUST_USE struct issue *issue_new(struct store *store, struct recorder *recorder,
    enum err *err);
void issue_free(struct issue *i);

/* They become the issue's own; NULL before they came. */
void issue_set_ca(struct issue *i, struct ca *ca);
void issue_set_audit_key(struct issue *i, struct sign_key *key);

/* Who gets secrets anew; borrowed.  NULL, as before: nobody. */
void issue_set_fresh(struct issue *i, struct fresh *fresh);

/* A secret that was under way is there, or is not to be had: those that waited
 * for it are judged again. */
void issue_settled(struct issue *i, uint32_t credential);

/* Answer one request of `from`; any operation but these is dropped. */
void issue_leaf(struct issue *i, struct channel *from, const struct msg *m);
void issue_release(struct issue *i, struct channel *from, const struct msg *m);
void issue_tell(struct issue *i, struct channel *from, const struct msg *m);
void issue_certify(struct issue *i, struct channel *from, const struct msg *m);

/* This keeper was started anew: dials may exist that it was not told of. */
void issue_set_restarted(struct issue *i);

/* The configuration is about to be another: what was asked for by the present
 * one gets nothing any more (policy.changed). */
void issue_forget_owner(struct issue *i);

/* That sandbox is gone: its row in the store, its dials, what waits for it. */
void issue_forget_sandbox(struct issue *i, uint32_t sandbox);

/* `from` is going: nothing is answered to it any more. */
void issue_forget(struct issue *i, const struct channel *from);

/*
 * Raise an alarm: somebody asked for what no honest worker asks for.  Above
 * ISSUE_ALARMS_BURST, then ISSUE_ALARMS_PER_S, they are only counted; the next
 * one that is written has the count.
 */
#define ISSUE_ALARMS_BURST 100
#define ISSUE_ALARMS_PER_S 1
void issue_alarm(struct issue *i, struct event *e);

#endif
