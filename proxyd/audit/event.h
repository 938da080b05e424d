/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened: the closed list of events, the closed list of fields, and an
 * event as a value that travels from any role to the scribe.
 *
 * An event is a kind and a few fields; which of them it must have is in the
 * table of event.c.  The scribe reads what the roles send as hostile input.
 */
#ifndef AUDIT_EVENT_H
#define AUDIT_EVENT_H

#include "base/attr.h"
#include "base/limits.h"
#include "base/reason.h"
#include "base/slice.h"

/* clang-format off */
#define EVENT_LIST(X) \
	X(START, "start", "a log begins, or its scribe was started anew; has the key of its checkpoints") \
	X(STOP, "stop", "the run has ended in good order") \
	X(PROGRAM, "program", "a policy is in force for a sandbox") \
	X(ATTACH, "attach", "a sandbox is there") \
	X(DETACH, "detach", "a sandbox is gone") \
	X(FLOW_BEGIN, "flow.begin", "a connection on which something was allowed, before its first dial") \
	X(FLOW_END, "flow.end", "a connection is over that was announced, or that has no other record") \
	X(REQUEST_BEGIN, "request.begin", "a request that carries a credential, or is a push, before it is sent or tried again") \
	X(REQUEST_END, "request.end", "a request: refused, or done with") \
	X(PUSH_BEGIN, "push.begin", "one command of a push that is allowed, before anything of it is sent") \
	X(PUSH_END, "push.end", "one command of a push: refused, or what the server said of it") \
	X(GIT_PROBE, "git.probe", "git asked whether a large request is let in, and was told so") \
	X(DIAL, "dial", "an outward connection, made or refused; written by the dialer") \
	X(RELEASE, "release", "a credential given for one request, or refused; written by the keeper") \
	X(QUESTION, "question", "what duenna itself asks the origin of a push, before it is sent") \
	X(DNS, "dns", "a question that was refused") \
	X(DROP, "drop", "packets that the kernel dropped, counted") \
	X(CHECKPOINT, "checkpoint", "a signature over all that stands before") \
	X(GAP, "gap", "records that could not be written, counted") \
	X(ALARM, "alarm", "something that a person should look at")

/*
 * Fields: member, key of the JSON line, type (TEXT, NUMBER, BOOL).  The order
 * here is the order in the line.  `seq time event` come first and `hash` last,
 * always, written by the scribe itself.
 */
#define FIELD_LIST(X)                                                          \
	X(SANDBOX, "sandbox", TEXT)                                            \
	X(POLICY, "policy", TEXT)                                              \
	X(PROGRAM, "duenna.program", TEXT)                                     \
	X(GENERATION, "duenna.generation", NUMBER)                             \
	X(VERDICT, "verdict", TEXT)                                            \
	X(REASON, "reason", TEXT)                                              \
	X(RULE, "rule", TEXT)                                                  \
	X(RULE_INDEX, "duenna.rule.index", NUMBER)                             \
	X(FAULT, "duenna.fault", TEXT)                                         \
	X(DETAIL, "duenna.detail", TEXT)                                       \
	X(FACTS_KIND, "duenna.facts", TEXT)                                    \
	X(FACTS_RULE, "duenna.facts.rule", NUMBER)                             \
	X(NOW, "duenna.facts.now", NUMBER)                                     \
	X(DST_ADDRESS, "network.local.address", TEXT)                          \
	X(DST_PORT, "network.local.port", NUMBER)                              \
	X(DST_NAME, "duenna.destination", TEXT)                                \
	X(SNI, "tls.client.server_name", TEXT)                                 \
	X(TLS_ECH, "duenna.tls.ech", BOOL)                                     \
	X(SCHEME, "url.scheme", TEXT)                                          \
	X(HOST, "server.address", TEXT)                                        \
	X(PORT, "server.port", NUMBER)                                         \
	X(METHOD, "http.request.method", TEXT)                                 \
	X(PATH, "url.path", TEXT)                                              \
	X(QUERY, "duenna.query", TEXT)                                         \
	X(HAS_QUERY, "duenna.query.present", BOOL)                             \
	X(UPGRADE, "duenna.upgrade", BOOL)                                     \
	X(FOREIGN, "duenna.foreign", NUMBER)                                   \
	X(SIGNED_URL, "duenna.signed_url", BOOL)                               \
	X(COOKIE, "duenna.cookie", BOOL)                                       \
	X(RANGE, "duenna.range", BOOL)                                         \
	X(PLACEHOLDER, "duenna.placeholder", NUMBER)                           \
	X(PLACEHOLDER_OF, "duenna.placeholder.of", NUMBER)                     \
	X(PLACEHOLDER_ALSO, "duenna.placeholder.also", NUMBER)                 \
	X(BODY_PLACEHOLDER, "duenna.body.placeholder", BOOL)                   \
	X(GIT_COMMAND, "duenna.git.command", TEXT)                             \
	X(GIT_RESULT, "duenna.git.result", TEXT)                               \
	X(QTYPE, "dns.question.type", NUMBER)                                  \
	X(CREDENTIAL, "duenna.credential", TEXT)                               \
	X(STATUS, "http.response.status_code", NUMBER)                         \
	X(GRPC_STATUS, "rpc.grpc.status_code", NUMBER)                         \
	X(PEER_ADDRESS, "network.peer.address", TEXT)                          \
	X(PEER_PORT, "network.peer.port", NUMBER)                              \
	X(PROXY, "duenna.proxy", TEXT)                                         \
	X(FLOW, "duenna.flow", TEXT)                                           \
	X(EXCHANGE, "duenna.exchange", NUMBER)                                 \
	X(COOKIE_SOCKET, "duenna.socket", NUMBER)                              \
	X(BYTES_UP, "duenna.bytes.up", NUMBER)                                 \
	X(BYTES_DOWN, "duenna.bytes.down", NUMBER)                             \
	X(QUESTIONS, "duenna.questions", NUMBER)                               \
	X(MASKED, "duenna.masked", NUMBER)                                     \
	X(DURATION_US, "duenna.duration_us", NUMBER)                           \
	X(COUNTED, "duenna.count", NUMBER)                                     \
	X(REPEATED, "duenna.repeated", BOOL)                                   \
	X(ROLE, "duenna.role", TEXT)                                           \
	X(VERSION, "service.version", TEXT)                                    \
	X(KEY, "duenna.key", TEXT)                                             \
	X(KEY_SIGNATURE, "duenna.key.signature", TEXT)                         \
	X(MACHINE_KEY, "duenna.machine_key", TEXT)                             \
	X(COVERED, "duenna.covered", TEXT)                                     \
	X(SIGNATURE, "duenna.signature", TEXT)                                 \
	X(COMMAND, "process.executable.name", TEXT)                            \
	X(PARAMETERS, "duenna.parameters", TEXT)                               \
	X(EXIT, "process.exit.code", NUMBER)
/* clang-format on */

enum event_kind {
#define X(id, name, meaning) EVENT_##id,
	EVENT_LIST(X)
#undef X
	EVENT_COUNT
};

enum event_field {
#define X(id, key, type) FIELD_##id,
	FIELD_LIST(X)
#undef X
	FIELD_COUNT
};

/*
 * Bytes of one text field.  A longer one is cut when it is encoded and ends in
 * "...(N bytes, sha256:DIGITS)" of the whole; so whatever a peer chose, an
 * event can be encoded.
 */
#define EVENT_TEXT_MAX 768
#define EVENT_PATH_MAX LIMIT_PATH_SIZE	  /* of PATH */
#define EVENT_QUERY_MAX LIMIT_TARGET_SIZE /* of QUERY */
#define EVENT_SIZE_MAX 49152		  /* bytes of an encoded event */

struct event {
	enum event_kind kind;
	uint64_t set;			/* bit 1 << field: it is there */
	struct slice text[FIELD_COUNT]; /* TEXT; borrowed */
	uint64_t number[FIELD_COUNT];	/* NUMBER; BOOL as 0 or 1 */
};
_Static_assert(FIELD_COUNT <= 64, "struct event has one bit a field");

const char *event_name(enum event_kind kind);
const char *event_meaning(enum event_kind kind); /* one sentence */

/* The kind of that name, or EVENT_COUNT. */
enum event_kind event_find(struct slice name);

const char *event_field_key(enum event_field field);
bool event_field_is_text(enum event_field field);
bool event_field_is_bool(enum event_field field);

/* Bytes that a text field may have. */
size_t event_field_max(enum event_field field);

/* The field of that key, or FIELD_COUNT. */
enum event_field event_field_find(struct slice key);

/* Must an event of this kind have that field? */
bool event_needs(enum event_kind kind, enum event_field field);

void event_init(struct event *e, enum event_kind kind);
void event_text(struct event *e, enum event_field field, struct slice value);
void event_str(struct event *e, enum event_field field, const char *value);
void event_number(struct event *e, enum event_field field, uint64_t value);
void event_bool(struct event *e, enum event_field field, bool value);
void event_reason(struct event *e, enum reason reason);

bool event_has(const struct event *e, enum event_field field);

/*
 * Was something refused?  What the sandbox itself gave up was not, nor was a
 * question of type HTTPS for an allowed name.
 */
bool event_is_denial(const struct event *e);

/* Was it let through only since that is not enforced (`report:`)? */
bool event_is_reported(const struct event *e);

/* The text of a field, empty if it is not there; the number, 0 likewise. */
struct slice event_text_of(const struct event *e, enum event_field field);
uint64_t event_number_of(const struct event *e, enum event_field field);

/*
 * What is wrong with it, or NULL: a field that its kind must have is missing
 * (`field` is that one), a reason or verdict is not of the list, or facts stand
 * there without verdict or (but for policy.none) without program.
 */
const char *event_check(const struct event *e, enum event_field *field);

/*
 * For the way to the scribe.  event_encode returns the bytes written to `out`,
 * or 0 if they do not fit in `max`: they always fit in EVENT_SIZE_MAX.
 * event_decode reads hostile bytes; the texts point into `in`.  False: not an
 * encoded event.
 */
size_t event_encode(const struct event *e, uint8_t *out, size_t max);
MUST_USE bool event_decode(struct slice in, struct event *e);

#endif
