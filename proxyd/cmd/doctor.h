/* SPDX-License-Identifier: Apache-2.0 */
/* What `duenna doctor` found, one line a check; and its half for a sandbox. */
#ifndef CMD_DOCTOR_H
#define CMD_DOCTOR_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/json.h"

struct doctor {
	bool as_json;
	bool failed; /* a check was not well */
	struct buf out;
	struct json json;
};

void doctor_begin(struct doctor *d);

/* A check: its name, whether it is well, what there is to say; behind a newline
 * how to mend it. */
void doctor_say(struct doctor *d, bool ok, const char *name, const char *fmt,
    ...) PRINTF_LIKE(4, 5);

/* Print, and the exit status. */
int doctor_end(struct doctor *d);

/*
 * Outside: try what `run` needs, part by part, up to the first that is refused.
 * False: one was.
 */
bool doctor_parts(struct doctor *d);

/* Are we in a sandbox of duenna's? */
bool doctor_is_inside(void);

/* Try the ways out of it. */
void doctor_inside(struct doctor *d);

/* A name that nobody has (RFC 6761), so that a sandbox's answer is a refusal,
 * under a certificate of its CA. */
#define DOCTOR_URL "https://doctor.duenna.invalid/"

/*
 * In a sandbox: who trusts its CA?  Each program that is installed opens `url`.
 * False: it is no https URL.
 */
bool doctor_trust(struct doctor *d, const char *url);

#endif
