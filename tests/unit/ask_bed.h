/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of ask have in common. */
#ifndef ASK_BED_H
#define ASK_BED_H

#include <arpa/inet.h>
#include <sys/socket.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "audit/facts_event.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/rd.h"
#include "base/wr.h"
#include "dial/ask.h"
#include "net/timer.h"
#include "policy_bed.h"
#include "priv/ops.h"
#include "priv/spawn.h"
#include "priv/who.h"

#define SANDBOX 7
#define GENERATION 3
#define DIGEST "sha256:00"
#define EVENTS_MAX 128

enum rule {
	EXACT,
	WILD,
	LITERAL,
	PLAIN,
	CUT,
	PRIVATE,
	ASKED,
	FAR,
	FEW,
	SEEN,
};

/* What the other roles saw, and what they do. */
struct roles {
	struct channel *worker, *keeper, *scribe; /* our ends, theirs below */
	struct channel *dialer_worker, *dialer_keeper, *dialer_scribe;
	enum reason keeper_says;
	bool no_memory; /* for the dialer to keep a request */
	bool keeper_is_silent, scribe_is_silent, scribe_is_full;
	unsigned n_told;
	struct {
		uint64_t cookie;
		uint32_t sandbox, generation;
		uint16_t port;
		char host[256], digest[80], flow[80];
	} told; /* the last */
	size_t n_events;
	struct event events[EVENTS_MAX];
	uint8_t bytes[EVENTS_MAX][2048];
};

/* What a worker was answered. */
struct dialed {
	unsigned n;
	bool lost;
	enum reason reason;
	char detail[256], peer[64];
	uint64_t cookie;
	int fd;
};

extern struct loop *loop;
extern struct bed bed;
extern struct buf image;
extern struct resolver *resolver;
extern struct recorder *recorder;
extern struct asks *asks;
extern struct roles roles;
extern int listener;
extern uint16_t port;

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

void turn(void);
void on_keeper(struct channel *c, struct msg *m, void *arg);
void on_nobody(struct channel *c, struct msg *m, void *arg);
void link_up(struct channel **ours, channel_on_msg *on_ours,
    struct channel **theirs, channel_on_msg *on_theirs);
void set_status(bool takes);
struct program *own_program(void);
int start(void **state);
int stop(void **state);
void on_dialed(struct msg *m, void *arg);
/* Send a request; `d` is filled when it is answered. */
void ask_as(const struct who *who, uint32_t rule, const char *host,
    struct dialed *d);
void ask(uint32_t sandbox, uint32_t generation, uint32_t rule, const char *host,
    struct dialed *d);
const struct event *last_event(void);
void expect_text(const struct event *e, enum event_field field,
    const char *want);
/* The record decides again as it says. */
void expect_same_again(const struct event *e);
int set_up(void **state);
int tear_down(void **state);

#endif
