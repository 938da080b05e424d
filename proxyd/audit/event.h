/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened: the closed list of events, the closed list of fields, and an
 * event as a value that travels from any role to the scribe.
 *
 * An event is a kind and a few fields; all fields are optional for the type,
 * which of them an event must have is in the table of event.c.  The scribe
 * reads what the roles send as hostile input.
 */
#ifndef AUDIT_EVENT_H
#define AUDIT_EVENT_H

#include "base/attr.h"
#include "base/reason.h"
#include "base/slice.h"

/* clang-format off */
#define EVENT_LIST(X)                                                          \
	X(START, "start")                                                      \
	X(STOP, "stop")                                                        \
	X(PROGRAM, "program")                                                  \
	X(ATTACH, "attach")                                                    \
	X(DETACH, "detach")                                                    \
	X(FLOW_BEGIN, "flow.begin")                                            \
	X(FLOW_END, "flow.end")                                                \
	X(REQUEST_BEGIN, "request.begin")                                      \
	X(REQUEST_END, "request.end")                                          \
	X(DIAL, "dial")                                                        \
	X(RELEASE, "release")                                                  \
	X(DNS, "dns")                                                          \
	X(DROP, "drop")                                                        \
	X(CHECKPOINT, "checkpoint")                                            \
	X(GAP, "gap")                                                          \
	X(ALARM, "alarm")

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
	X(DST_ADDRESS, "network.local.address", TEXT)                          \
	X(DST_PORT, "network.local.port", NUMBER)                              \
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
	X(BODY_PLACEHOLDER, "duenna.body.placeholder", BOOL)                   \
	X(QTYPE, "dns.question.type", NUMBER)                                  \
	X(CREDENTIAL, "duenna.credential", TEXT)                               \
	X(STATUS, "http.response.status_code", NUMBER)                         \
	X(PEER_ADDRESS, "network.peer.address", TEXT)                          \
	X(PEER_PORT, "network.peer.port", NUMBER)                              \
	X(FLOW, "duenna.flow", TEXT)                                           \
	X(EXCHANGE, "duenna.exchange", NUMBER)                                 \
	X(COOKIE_SOCKET, "duenna.socket", NUMBER)                              \
	X(BYTES_UP, "duenna.bytes.up", NUMBER)                                 \
	X(BYTES_DOWN, "duenna.bytes.down", NUMBER)                             \
	X(QUESTIONS, "duenna.questions", NUMBER)                               \
	X(MASKED, "duenna.masked", NUMBER)                                     \
	X(DURATION_US, "duenna.duration_us", NUMBER)                           \
	X(COUNT, "duenna.count", NUMBER)                                       \
	X(ROLE, "duenna.role", TEXT)                                           \
	X(VERSION, "service.version", TEXT)                                    \
	X(KEY, "duenna.key", TEXT)                                             \
	X(KEY_SIGNATURE, "duenna.key.signature", TEXT)                         \
	X(MACHINE_KEY, "duenna.machine_key", TEXT)                             \
	X(SIGNATURE, "duenna.signature", TEXT)                                 \
	X(COMMAND, "process.executable.name", TEXT)                            \
	X(EXIT, "process.exit.code", NUMBER)
/* clang-format on */

enum event_kind {
#define X(id, name) EVENT_##id,
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

#define EVENT_TEXT_MAX 8192  /* bytes of one text field; longer ones are cut */
#define EVENT_SIZE_MAX 49152 /* bytes of an encoded event */

struct event {
	enum event_kind kind;
	uint64_t set;			/* bit 1 << field: it is there */
	struct slice text[FIELD_COUNT]; /* TEXT; borrowed */
	uint64_t number[FIELD_COUNT];	/* NUMBER; BOOL as 0 or 1 */
};
_Static_assert(FIELD_COUNT <= 64, "struct event has one bit a field");

const char *event_name(enum event_kind kind);
const char *field_key(enum event_field field);
bool field_is_text(enum event_field field);
bool field_is_bool(enum event_field field);

void event_init(struct event *e, enum event_kind kind);
void event_text(struct event *e, enum event_field field, struct slice value);
void event_str(struct event *e, enum event_field field, const char *value);
void event_number(struct event *e, enum event_field field, uint64_t value);
void event_bool(struct event *e, enum event_field field, bool value);

/*
 * For the way to the scribe.  event_encode returns the bytes written to `out`,
 * 0 if they do not fit in `max`.  event_decode reads hostile bytes; the texts
 * point into `in`.  False: not an encoded event.
 */
size_t event_encode(const struct event *e, uint8_t *out, size_t max);
MUST_USE bool event_decode(struct slice in, struct event *e);

#endif
