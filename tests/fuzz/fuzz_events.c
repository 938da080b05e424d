/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a role that was taken over sends to the scribe, EVENTS of any bytes: the
 * log is one whole chain afterwards, goes on, and nobody waits for an answer.
 *
 * The first byte is the role.
 */
#include <event2/event.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/wr.h"
#include "fuzz.h"
#include "net/loop.h"
#include "proxyd/scribe_state.h"

static const enum role roles[] = { ROLE_MONITOR, ROLE_WORKER, ROLE_DIALER,
	ROLE_KEEPER };

static struct scribe scribe;
static int log_fd = -1; /* what the journal writes, kept over inputs */

static void
on_nothing(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* It has a name as long as it is written: else nothing is allowed.  In memory,
 * since each log is put on its disk at its end. */
static char log_path[] = "/dev/shm/duenna-fuzz-XXXXXX";

static void
remove_log(void)
{
	unlink(log_path);
}

static void
begin(void)
{
	uint8_t machine[SIGN_PUBLIC_SIZE] = { 1 }, signature[SIGN_SIZE] = { 2 };
	struct scribe *s = &scribe;
	enum err err;
	const char *why;

	if (s->loop == NULL) {
		log_init("fuzz", LOG_LEVEL_ERROR);
		CHECK(digest_setup(&err) == 0);
		s->loop = loop_new(&err);
		CHECK(s->loop != NULL);
		s->owners = owners_new(&err);
		CHECK(s->owners != NULL);
		s->flush = event_new(loop_base(s->loop), -1, 0, on_nothing, s);
		log_fd = mkostemp(log_path, O_APPEND | O_CLOEXEC);
		atexit(remove_log);
		CHECK(s->flush != NULL && log_fd >= 0);
	}
	STAILQ_INIT(&s->early);
	for (int r = 0; r < ROLE_COUNT; r++)
		s->peers[r] =
		    (struct peer){ .scribe = s, .role = (enum role)r };
	for (uint32_t i = 0; i < SCRIBE_WORKERS_MAX; i++)
		s->workers[i] = (struct peer){ .scribe = s,
			.role = ROLE_WORKER,
			.number = i };
	s->n_waiting = 0;
	s->stopping = s->stopped = false;
	CHECK(ftruncate(log_fd, 0) == 0);
	s->journal = journal_new(dup(log_fd), false, &why, &err);
	CHECK(s->journal != NULL);
	CHECK(journal_start(s->journal, machine, signature));
}

static void
end(void)
{
	struct scribe *s = &scribe;
	const char *why;
	enum err err;

	scribe_flush(s);
	scribe_tick(s);
	CHECK(s->n_waiting == 0);
	CHECK(s->stopping || journal_takes(s->journal));
	scribe_end(s);
	journal_free(s->journal);
	/* One whole chain, which another run could go on with. */
	s->journal = journal_new(dup(log_fd), true, &why, &err);
	CHECK(s->journal != NULL);
	journal_free(s->journal);
	s->journal = NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct peer *p = &scribe.peers[roles[data[0] % COUNT_OF(roles)]];
	begin();
	scribe_take_events(p, slice_of(data + 1, size - 1), 7);
	/* One event is a message of its own, too. */
	scribe_take_event(p, slice_of(data + 1, size - 1), 8);
	scribe_forget_peer(p);
	end();
	return 0;
}

/* What a worker says of a connection and of a request on it. */
static struct slice
seed_events(void)
{
	static const enum event_kind kinds[] = { EVENT_FLOW_BEGIN,
		EVENT_REQUEST_END, EVENT_FLOW_END, EVENT_ALARM };
	static uint8_t body[2048];
	uint8_t one[1024];
	struct wr w = wr_of(body, sizeof(body));
	struct event e;

	wr_u8(&w, 1);
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		event_init(&e, kinds[i]);
		event_str(&e, FIELD_SANDBOX, "s");
		event_str(&e, FIELD_FLOW, "w0-1");
		event_str(&e, FIELD_VERDICT, "deny");
		event_reason(&e, REASON_DST_PORT);
		event_str(&e, FIELD_FACTS_KIND, "request");
		event_str(&e, FIELD_PROGRAM, "sha256:0");
		event_number(&e, FIELD_EXCHANGE, 1);
		event_str(&e, FIELD_DETAIL, "x");
		wr_slice16(&w,
		    slice_of(one, event_encode(&e, one, sizeof(one))));
	}
	CHECK(!w.bad);
	return wr_slice(&w);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	if (size < 8 || seed % 512 == 0)
		return fuzz_begin_with(seed_events(), data, max);
	return LLVMFuzzerMutate(data, size, max);
}
