/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions of our own to the origin of a push: what git/prove.h wants to know
 * beyond the pack (git/question.h).  HTTP/1.1 over a dial of its own, by the rule
 * that allowed the push: verified like any other, with the rule's credentials,
 * which the keeper releases for that very socket, once a question.
 *
 * Before a question is sent its record, a `question`, is in the log.  Nothing of
 * an answer reaches the client but what was made of it.
 */
#ifndef FLOW_INQUIRE_H
#define FLOW_INQUIRE_H

#include "base/attr.h"
#include "base/parse.h"
#include "base/slice.h"

struct inquire;
struct request;

/*
 * For all questions of one push; they share a connection as long as the origin
 * keeps it.  `r`, which a rule of git+https allows, is borrowed and told of news
 * by request_wake(); what is called here is called from inside its exchange.
 * NULL: no memory, or `r` is no request for a repository.
 */
MUST_USE struct inquire *inquire_new(struct request *r);
/* Cancels what is pending. */
void inquire_free(struct inquire *q);

/*
 * Ask: GET `info/refs` of git-upload-pack (`discover`; no body), or POST
 * git-upload-pack with `body`, which is copied; by protocol 2.  What is left of
 * an earlier answer is dropped.  False: no memory, or it is too long.
 */
MUST_USE bool inquire_ask(struct inquire *q, bool discover, struct slice body);

/*
 * What of the answer's body has come and was not taken, at most
 * LIMIT_QUESTION_HEAD_SIZE bytes of it; who takes none of so many gets no other.
 *
 * PARSE_MORE: in->n may be 0.  PARSE_DONE: the rest of the body.  PARSE_BAD:
 * there is no answer: not sent, not 200, of a wrong type, encoded, cut, too
 * large or too slow; in->n is 0, and *fail->detail lives as long as `q`.
 */
MUST_USE enum parse inquire_peek(struct inquire *q, struct slice *in,
    struct parse_fail *fail);
void inquire_take(struct inquire *q, size_t n);

/* Something of it will happen by itself; for flow/must_wait.h. */
bool inquire_is_pending(const struct inquire *q);

#endif
