/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the control socket answers: a closed list of codes, each with the status
 * that HTTP has for it.  docs/openapi.yaml has the same list; a test compares.
 */
#ifndef PRIV_CONTROL_ANSWER_H
#define PRIV_CONTROL_ANSWER_H

#include "base/attr.h"
#include "base/rd.h"
#include "base/wr.h"

/* clang-format off */
#define CONTROL_CODE_LIST(X)                                                   \
	X(DONE, 200, "done", "it is so")                                       \
	X(ATTACHED, 201, "attached", "the sandbox is attached")                \
	X(REQUEST_MALFORMED, 400, "request.malformed", "no request that can be read") \
	X(REQUEST_WRONG, 400, "request.wrong", "a key, type or value that is not expected") \
	X(RIGHT_MISSING, 403, "right.missing", "the caller's groups do not give this right") \
	X(PATH_UNKNOWN, 404, "path.unknown", "no such path")                   \
	X(NAME_UNKNOWN, 404, "name.unknown", "no sandbox has this name")       \
	X(METHOD_UNKNOWN, 405, "method.unknown", "this path has other methods") \
	X(NAME_TAKEN, 409, "name.taken", "a sandbox of this name has another request") \
	X(NAME_BUSY, 409, "name.busy", "it is being attached or detached")     \
	X(CAPTURE_TAKEN, 409, "capture.taken", "another sandbox has this namespace, port or address") \
	X(REQUEST_LARGE, 413, "request.large", "the request is too large")     \
	X(REQUEST_TYPE, 415, "request.type", "the body has another type")      \
	X(POLICY_UNKNOWN, 422, "policy.unknown", "no such policy")             \
	X(POLICY_WRONG, 422, "policy.wrong", "the policy has errors")          \
	X(CREDENTIAL_UNKNOWN, 422, "credential.unknown", "no credential has this name") \
	X(CAPTURE_FAILED, 422, "capture.failed", "the capture cannot be made safe") \
	X(RULE_WRONG, 422, "rule.wrong", "no rule can be made of this URL")    \
	X(CONFIGURATION_WRONG, 422, "configuration.wrong", "the configuration has errors; the old one is in force") \
	X(FAULT, 500, "fault", "a fault of duenna's own")                      \
	X(ROLE_AWAY, 503, "role.away", "a role is being started anew")         \
	X(SANDBOXES_FULL, 503, "sandboxes.full", "there are as many sandboxes as can be") \
	X(BUSY, 503, "busy", "too many requests at once")                      \
	X(LOG_AWAY, 503, "log.away", "the audit log takes no records")         \
	X(STOPPING, 503, "stopping", "duenna is ending")
/* clang-format on */

enum control_code {
#define X(id, status, name, what) CONTROL_##id,
	CONTROL_CODE_LIST(X)
#undef X
	CONTROL_CODES
};

/* The body of ANSWER; its descriptor, if any, is a memfd with the content. */
struct control_answer {
	enum control_code code;
	struct slice detail; /* for people, UTF-8; empty: what the code says */
};

const char *control_code_name(enum control_code code);
const char *control_code_what(enum control_code code);
unsigned control_code_status(enum control_code code);

#define CONTROL_DETAIL_MAX 32768 /* bytes: all errors of a policy, say */

/* A longer detail is cut. */
void control_answer_write(struct wr *w, const struct control_answer *a);
MUST_USE bool control_answer_read(struct slice bytes,
    struct control_answer *out);

#endif
