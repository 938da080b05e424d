/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of flow/inquire have in common: inquire.c (life, phases),
 * inquire_send.c (DIAL to RELEASE), inquire_answer.c (HEAD and BODY).
 *
 *  phase    waits for                                   then
 *  REST     a question to be asked                      DIAL FAILED
 *  DIAL     a connection, verified                      RECORD FAILED
 *  RECORD   that its record is written                  RELEASE FAILED
 *  RELEASE  the credentials, for that very socket       HEAD DIAL FAILED
 *  HEAD     the answer's head                           BODY WHOLE DIAL FAILED
 *  BODY     its body                                    WHOLE FAILED
 *  WHOLE    the next question                           DIAL RECORD FAILED
 *  FAILED   likewise                                    DIAL FAILED
 *
 * One timer, LIMIT_QUESTION_MS, is over all of it.  Back to DIAL goes, once a
 * question, one whose connection was used before and turns out to be gone: it
 * asks and changes nothing, so it may be sent twice.
 */
#ifndef FLOW_INQUIRE_INSIDE_H
#define FLOW_INQUIRE_INSIDE_H

#include "flow/inquire.h"
#include "flow/inquire_http.h"
#include "http/h1.h"

enum inquire_phase {
	INQUIRE_REST,
	INQUIRE_DIAL,
	INQUIRE_RECORD,
	INQUIRE_RELEASE,
	INQUIRE_HEAD,
	INQUIRE_BODY,
	INQUIRE_WHOLE,
	INQUIRE_FAILED,
	INQUIRE_PHASE_COUNT
};

struct inquire {
	struct request *request; /* borrowed; NULL: inquire_free() was called */
	struct sandbox *sandbox; /* borrowed */
	enum inquire_phase phase;
	bool running;	    /* inside its steps */
	struct timer limit; /* of a question */
	struct buf path;    /* owned: of the repository, and the service */
	size_t n_path;	    /* bytes of the first of these */
	struct buf body;    /* owned: of the question */
	bool discover;

	struct asked *asked;   /* dial or release; NULL: nothing */
	struct again retry;    /* or it is asked again */
	struct stream *stream; /* owned; NULL: none */
	uint64_t cookie;       /* of its socket */
	bool counted;	       /* among the sandbox's n_upstreams */
	bool is_used;	       /* an answer came over it already */
	bool is_again;	       /* the question had another one before */
	struct attach attach;  /* owned; wiped when sent */
	unsigned n_records;    /* confirmations still to come */
	bool record_failed;    /* of one of them */

	struct buf head; /* owned; res points into it */
	struct http_response res;
	unsigned n_informational;
	struct h1_body in;
	struct buf answer; /* owned: of its body, not taken yet */
	uint64_t n_answer; /* bytes of its body so far */
	struct parse_fail fail;
	char detail[STREAM_TEXT_SIZE];
};

/* The phases. */
void inquire_step_dial(struct inquire *q);
void inquire_step_record(struct inquire *q);
void inquire_step_release(struct inquire *q);
void inquire_step_head(struct inquire *q);
void inquire_step_body(struct inquire *q);

/* Into DIAL; into RECORD, with a connection that is up. */
void inquire_dial(struct inquire *q);
void inquire_tell(struct inquire *q);

/* Into FAILED; `detail` is copied. */
void inquire_fail(struct inquire *q, enum reason reason, struct slice detail);

/* Its connection, and whatever is asked for it, ends. */
void inquire_drop(struct inquire *q);

/* It is gone before a byte of the answer came: another one, or FAILED. */
bool inquire_is_gone(const struct inquire *q);
void inquire_lost(struct inquire *q);

/* At the end of every callback: do what can be done, and tell the owner, who may
 * free it. */
void inquire_news(struct inquire *q);

/* Its memory, once no confirmation of a record is to come. */
void inquire_delete(struct inquire *q);

#endif
