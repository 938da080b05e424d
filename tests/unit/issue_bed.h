/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of issue have in common. */
#ifndef ISSUE_BED_H
#define ISSUE_BED_H

#include <sys/socket.h>

#include <netinet/in.h>

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "audit/event.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/rd.h"
#include "base/wr.h"
#include "certs/ca.h"
#include "crypto/sign.h"
#include "keep/fresh.h"
#include "keep/issue.h"
#include "keep/store.h"
#include "policy_bed.h"
#include "priv/ops.h"
#include "priv/who.h"

#define SANDBOX 7
#define GENERATION 3
#define DIGEST "sha256:00"
#define SECRET "real-s3cret"

#define CONFIG                                   \
	"version: 1\n"                           \
	"credentials:\n"                         \
	"  one:\n"                               \
	"    kind: token\n"                      \
	"    secret: {file: /run/secrets/one}\n" \
	"    only: [\"https://api.test/**\"]\n"  \
	"  two:\n"                               \
	"    kind: header\n"                     \
	"    header: X-Two\n"                    \
	"    secret: {env: TWO}\n"               \
	"    only: [\"https://two.test/**\"]\n"  \
	"  asked:\n"                             \
	"    kind: token\n"                      \
	"    secret: {command: [/bin/x]}\n"      \
	"    only: [\"https://asked.test/**\"]\n"
#define POLICY                                                                   \
	"version: 1\n"                                                           \
	"policies:\n"                                                            \
	"  agent:\n"                                                             \
	"    rules:\n"                                                           \
	"      - {name: no, deny: \"https://api.test/private/**\"}\n"            \
	"      - {name: more, allow: \"https://api.test/more/**\", credential: " \
	"one}\n"                                                                 \
	"      - {name: api, allow: \"https://api.test/**\", credential: one}\n" \
	"      - {name: two, allow: \"https://two.test/**\", credential: two}\n" \
	"      - {name: open, allow: \"https://open.test/**\"}\n"                \
	"      - {name: asked, allow: \"https://asked.test/**\", credential: "   \
	"asked}\n"

enum rule {
	RULE_NO,
	RULE_MORE,
	RULE_API,
	RULE_TWO,
	RULE_OPEN,
	RULE_ASKED,
};

/* All that stands around an issue, and what came out of it. */
struct fixture {
	struct bed policy;
	struct loop *loop;
	struct store *store;
	struct recorder *recorder;
	struct issue *issue;
	struct fresh *fresh;
	unsigned n_asked;			/* of the monitor */
	struct channel *keeper, *worker;	/* two ends */
	struct channel *scribe, *to_scribe;	/* two ends */
	bool writes;				/* the scribe's mood */
	void (*on_recorded)(struct fixture *f); /* before it says so */
	unsigned n_events, n_alarms, n_allowed;
	char detail[128], credential[32], flow[32];
	unsigned n_answers;
	uint16_t op, reason;
	uint8_t body[65536];
	size_t body_n;
	int listener, client, server; /* a TCP connection over loopback */
};

struct dial {
	uint32_t sandbox, generation;
	uint16_t port;
	const char *host;
};

struct want {
	uint32_t sandbox, generation, rule, credential;
	const char *digest; /* NULL: the right one */
};

static const struct dial good_dial = { SANDBOX, GENERATION, 443, "api.test" };
static const struct want good = { SANDBOX, GENERATION, RULE_API, 0 };

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

void turn(struct fixture *f);
void scribe_is(struct fixture *f, uint8_t ready);
int setup(void **state);
int teardown(void **state);
/* Ask as the worker does and wait for what comes. */
void ask(struct fixture *f, uint16_t op, struct slice body, int fd);
void tell_as(struct fixture *f, const struct who *who, int fd,
    const struct dial *d);
/* What a TOLD says. */
enum reason told(struct fixture *f);
void tell(struct fixture *f, int fd, const struct dial *d);
void release(struct fixture *f, const struct want *want, int fd);
/* What a RELEASED says; the value points into the fixture. */
struct slice released(struct fixture *f, enum reason *reason);

#endif
