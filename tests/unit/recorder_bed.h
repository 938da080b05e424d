/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of recorder have in common. */
#ifndef RECORDER_BED_H
#define RECORDER_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/rd.h"
#include "priv/ops.h"
#include "priv/spawn.h"
#include "record/recorder.h"

/* A recorder, and the other end of its channel: the test is the scribe. */
struct bed {
	struct loop *loop;
	struct recorder *r;
	struct channel *ours, *scribe;
	struct {
		enum event_kind kind;
		uint32_t id;
		bool repeated, empty;
		uint64_t count;
	} got[4096];
	size_t n_got, n_messages;
	size_t until; /* n_got that a busy loop stops at */
	bool answers; /* confirm at once what wants it */
	int yes, no;  /* callbacks */
	int ready, unready;
};

void confirm(struct bed *b, uint32_t id, bool written);
void on_written(bool written, void *arg);
void run(struct bed *b);
void connect_scribe(struct bed *b, bool takes);
/* The scribe dies. */
void lose_scribe(struct bed *b);
int set_up(void **state);
int tear_down(void **state);
int send_kind(struct bed *b, enum event_kind kind, recorder_on_written *cb);

#endif
