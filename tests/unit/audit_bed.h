/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of `duenna audit` have in common: a state directory with a
 * program, a machine's key and logs, and the command itself.
 */
#ifndef TESTS_AUDIT_BED_H
#define TESTS_AUDIT_BED_H

#include "audit/facts_event.h"
#include "audit/journal.h"
#include "crypto/digest.h"
#include "policy_bed.h"

extern struct bed bed;		      /* the policy of audit_bed_init() */
extern char home[32];		      /* XDG_STATE_HOME */
extern char digest[DIGEST_NAME_SIZE]; /* of the program */
extern char key_text[2 * SIGN_PUBLIC_SIZE + 1]; /* the machine's, public */
extern char out[65536]; /* what the last command printed */

void audit_bed_init(const char *policy);
void audit_bed_release(void);

void write_file(const char *path, struct slice bytes);
void make_folder(const char *name, char path[256]);

/* A log is begun; each of these puts one record. */
struct journal *log_begin(const char *path);
void log_event(struct journal *j, const struct event *e);
void log_flow(struct journal *j, enum event_kind kind);
void log_request(struct journal *j, const char *method, const char *url);
void log_question(struct journal *j, const char *host, uint16_t qtype);
/* Its last hash is kept, and it is closed. */
void log_end(struct journal *j, bool stops, char hash[LINE_HASH_HEX + 1]);

/* Run `duenna audit ARG...`; the list ends with NULL. */
int audit(const char *arg, ...);
bool says(const char *text);
size_t count_lines(void);

#endif
