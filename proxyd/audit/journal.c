/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/journal.h"
#include "base/clock.h"
#include "base/log.h"

#define PENDING_MAX (4 * LINE_SIZE_MAX) /* bytes put and not yet written */

struct journal {
	int fd; /* owned */
	bool again, started, failed;
	bool broken; /* somebody else changed the file: for good */
	bool allows_gaps;
	uint64_t size;		  /* of the file: whole records */
	struct chain chain;	  /* as far as was put */
	struct chain_end written; /* as far as is in the file */
	uint64_t n_pending;	  /* records in `pending` */
	uint64_t n_lost;	  /* records since the failure */
	uint64_t n_gapped;	  /* records that a `gap` counts */
	uint64_t checkpointed;	  /* the last one's own number */
	struct resume resume;	  /* what stood in the file before */
	bool is_read;		  /* all of it */
	struct buf pending;
	struct sign_key *key; /* owned */
	struct flows *flows;  /* owned */
	struct flows *denied; /* owned: in which a request was denied */
	struct flows *unseen; /* owned: whose beginning could not be written */
	struct journal_sum sum;
};

/* By its beginning; its end takes the mark away. */
static void
mark(struct flows *flows, const struct event *e)
{
	/* Without room for the mark a denial counts twice. */
	if (!flows_put(flows, e, NULL))
		log_debug("too many flows with denied requests");
}

/*
 * The end of a flow repeats what a request in it was told already.  One that
 * was not announced has no such end.
 */
static bool
is_repeated(struct journal *j, const struct event *e)
{
	struct event begin = *e;
	bool repeated = e->kind == EVENT_FLOW_END && flows_has(j->denied, e);

	if (e->kind == EVENT_REQUEST_END && !flows_has(j->flows, e) &&
	    !flows_has(j->unseen, e))
		return false;
	if (e->kind == EVENT_REQUEST_END)
		begin.kind = EVENT_FLOW_BEGIN;
	mark(j->denied, &begin);
	return repeated;
}

/* A denial counts where the sandbox meets it.  What it gave up is none. */
static void
count(struct journal *j, const struct event *e)
{
	bool denied = event_is_denial(e);
	uint64_t n =
	    event_has(e, FIELD_COUNTED) ? event_number_of(e, FIELD_COUNTED) : 1;
	uint64_t refused = 0;

	if (e->kind == EVENT_REQUEST_END && event_is_reported(e))
		j->sum.n_reported += n;
	if (e->kind == EVENT_ALARM)
		j->sum.n_alarms++;
	if (e->kind == EVENT_DROP || (e->kind == EVENT_DNS && denied))
		refused = n;
	if ((e->kind == EVENT_REQUEST_END && denied) ||
	    e->kind == EVENT_FLOW_END)
		refused = is_repeated(j, e) || !denied ? 0 : n;
	j->sum.n_denied += refused;
	if (refused != 0)
		j->sum.by_reason[reason_find(event_text_of(e, FIELD_REASON))] +=
		    refused;
}

/* One record of the file as it was found. */
static bool
take_record(const struct line *l, void *arg)
{
	struct journal *j = arg;

	if (l->event.kind == EVENT_CHECKPOINT)
		j->checkpointed = l->seq;
	if (l->event.kind == EVENT_START &&
	    !event_has(&l->event, FIELD_REPEATED))
		j->sum = (struct journal_sum){ 0 };
	count(j, &l->event);
	return flows_put(j->flows, &l->event, NULL);
}

static void
say_broken(struct journal *j, const char *what)
{
	if (!j->broken)
		log_error("the audit log was %s while it was written: nothing "
			  "more is allowed in this run",
		    what);
	j->broken = true;
}

/*
 * Is the file what we wrote, and does it have a name?  A record that stands
 * behind what is not ours, or that nobody will find, is none.
 */
static bool
is_ours(struct journal *j)
{
	struct stat st;

	if (!j->broken && fstat(j->fd, &st) == 0) {
		if (st.st_nlink == 0)
			say_broken(j, "removed");
		else if ((uint64_t)st.st_size != j->size)
			say_broken(j, "changed");
		else
			return true;
	}
	return false;
}

/* What a write left of a record that is not whole; never to a longer file. */
static bool
cut_back(struct journal *j)
{
	struct stat st;

	if (j->broken || fstat(j->fd, &st) != 0)
		return false;
	if ((uint64_t)st.st_size < j->size) {
		say_broken(j, "changed");
		return false;
	}
	return ftruncate(j->fd, (off_t)j->size) == 0;
}

struct journal *
journal_open(int fd, bool again, const char **why, enum err *err)
{
	struct journal *j = calloc(1, sizeof(*j));

	*why = "no memory";
	*err = ERR_MEMORY;
	if (j == NULL) {
		close(fd);
		return NULL;
	}
	j->fd = fd;
	j->again = again;
	buf_init(&j->pending, PENDING_MAX);
	if (chain_init(&j->chain, err) != 0 ||
	    (j->flows = flows_new(err)) == NULL ||
	    (j->denied = flows_new(err)) == NULL ||
	    (j->unseen = flows_new(err)) == NULL)
		goto fail;
	*why = "no key for its checkpoints";
	if ((j->key = sign_key_new(err)) == NULL)
		goto fail;
	*why = "it is no regular file";
	*err = ERR_INTEGRITY;
	/* Of a run that goes on, flows are open and denials counted. */
	if (!resume_init(&j->resume, fd, &j->chain, again))
		goto fail;
	j->resume.on_record = take_record;
	j->resume.arg = j;
	return j;
fail:
	journal_free(j);
	return NULL;
}

enum resume_step
journal_read(struct journal *j, size_t budget, const char **why)
{
	enum resume_step step = resume_some(&j->resume, budget, why);

	if (step != RESUME_DONE)
		return step;
	j->size = j->resume.size;
	if (j->resume.cut_line != 0 && !cut_back(j)) {
		*why = "its last line is cut and cannot be removed";
		return RESUME_BAD;
	}
	j->is_read = true;
	j->written = j->chain.end;
	if (!j->again)
		j->sum = (struct journal_sum){ 0 };
	return RESUME_DONE;
}

bool
journal_is_read(const struct journal *j)
{
	return j->is_read;
}

struct journal *
journal_new(int fd, bool again, const char **why, enum err *err)
{
	struct journal *j = journal_open(fd, again, why, err);

	if (j != NULL && journal_read(j, SIZE_MAX, why) != RESUME_DONE) {
		*err = ERR_INTEGRITY;
		journal_free(j);
		return NULL;
	}
	return j;
}

void
journal_free(struct journal *j)
{
	if (j == NULL)
		return;
	close(j->fd);
	resume_release(&j->resume);
	buf_release(&j->pending);
	chain_release(&j->chain);
	sign_key_free(j->key);
	flows_free(j->flows);
	flows_free(j->denied);
	flows_free(j->unseen);
	free(j);
}

const uint8_t *
journal_key(const struct journal *j)
{
	return sign_key_public(j->key);
}

bool
journal_is_started(const struct journal *j)
{
	return j->started;
}

bool
journal_takes(const struct journal *j)
{
	return j->started && !j->failed;
}

void
journal_allow_gaps(struct journal *j)
{
	j->allows_gaps = true;
}

bool
journal_misses(const struct journal *j)
{
	return j->allows_gaps && j->started && j->failed && !j->broken;
}

static bool
put(struct journal *j, const struct event *e)
{
	chain_put(&j->chain, clock_wall_us(), e, &j->pending);
	if (j->pending.failed)
		return false;
	j->n_pending++;
	return true;
}

/* All that was put since the last flush is void. */
static void
lose(struct journal *j)
{
	if (!j->failed && !j->broken)
		log_error("cannot write the audit log: %s; %s until it can be "
			  "written again",
		    strerror(errno),
		    j->allows_gaps ? "records are only counted" :
				     "nothing is allowed");
	j->failed = true;
	j->n_lost += j->n_pending;
	j->n_pending = 0;
	buf_clear(&j->pending);
	j->chain.end = j->written;
	/* If this fails too, the next retry comes here again first. */
	(void)cut_back(j);
}

bool
journal_flush(struct journal *j)
{
	struct slice rest = buf_slice(&j->pending);

	if (j->pending.failed) {
		errno = ENOMEM;
		lose(j);
		return false;
	}
	/* After a failure there may be half a record: cut_back() looks. */
	if (j->is_read && !j->failed && !is_ours(j)) {
		lose(j);
		return false;
	}
	while (rest.n != 0) {
		ssize_t n = write(j->fd, rest.p, rest.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			lose(j);
			return false;
		}
		rest = slice_from(rest, (size_t)n);
	}
	j->size += j->pending.n;
	j->written = j->chain.end;
	j->n_pending = 0;
	buf_clear(&j->pending);
	return true;
}

bool
journal_put(struct journal *j, const struct event *e, const void *owner)
{
	if (!j->started)
		return false;
	if (j->failed) { /* it was blocked all the same */
		mark(j->unseen, e);
		count(j, e);
	}
	if (j->failed || !flows_put(j->flows, e, owner)) {
		j->n_lost++;
		return false;
	}
	count(j, e);
	return put(j, e);
}

void
journal_give_flows(struct journal *j, const void *owner)
{
	flows_give(j->flows, owner);
}

void
journal_end_flows(struct journal *j, const void *owner, const char *detail)
{
	struct event end;

	while (j->started &&
	    (owner != NULL ? flows_take(j->flows, owner, &end) :
			     flows_take_any(j->flows, &end))) {
		event_str(&end, FIELD_DETAIL, detail);
		mark(j->denied, &end);
		if (j->failed || !put(j, &end))
			j->n_lost++;
		/* Thousands of them: not all in one piece. */
		if (!j->failed && j->pending.n > LINE_SIZE_MAX &&
		    !journal_flush(j))
			continue;
	}
}

bool
journal_start(struct journal *j, const uint8_t machine[SIGN_PUBLIC_SIZE],
    const uint8_t signature[SIGN_SIZE])
{
	char key[2 * SIGN_PUBLIC_SIZE + 1], of[2 * SIGN_PUBLIC_SIZE + 1];
	char text[2 * SIGN_SIZE + 1], detail[192];
	const struct resume *cut = &j->resume;
	struct event e;

	/* After a failure to write it: once more. */
	if (j->failed && !cut_back(j))
		return false;
	j->failed = false;
	j->n_lost = 0;
	digest_hex(journal_key(j), SIGN_PUBLIC_SIZE, key);
	digest_hex(machine, SIGN_PUBLIC_SIZE, of);
	digest_hex(signature, SIGN_SIZE, text);
	event_init(&e, EVENT_START);
	event_str(&e, FIELD_VERSION, DUENNA_VERSION);
	event_str(&e, FIELD_KEY, key);
	event_str(&e, FIELD_KEY_SIGNATURE, text);
	event_str(&e, FIELD_MACHINE_KEY, of);
	if (j->again)
		event_bool(&e, FIELD_REPEATED, true);
	if (cut->cut_line != 0) {
		snprintf(detail, sizeof(detail),
		    "recovered: line %llu was cut; its %zu bytes (%s) are gone",
		    (unsigned long long)cut->cut_line, cut->cut_size,
		    cut->cut_digest);
		event_str(&e, FIELD_DETAIL, detail);
	}
	if (!put(j, &e) || !journal_flush(j))
		return false;
	j->started = true;
	if (!j->again)
		journal_end_flows(j, NULL, "the run before ended without it");
	return journal_flush(j);
}

bool
journal_has_flows(const struct journal *j)
{
	return !flows_is_empty(j->flows);
}

size_t
journal_waits(const struct journal *j)
{
	return j->pending.n;
}

bool
journal_checkpoint(struct journal *j)
{
	enum err err = ERR_NONE;

	if (!journal_takes(j) || !journal_flush(j))
		return false;
	if (j->chain.end.seq == j->checkpointed)
		return true;
	if (chain_put_checkpoint(&j->chain, clock_wall_us(), j->key,
		&j->pending, &err) != 0) {
		log_error("cannot sign a checkpoint");
		return false;
	}
	if (!journal_flush(j))
		return false;
	j->checkpointed = j->chain.end.seq;
	return true;
}

/* What takes the place of the records that are missing: they are, once. */
static bool
put_gap(struct journal *j, uint64_t lost)
{
	struct event gap;

	event_init(&gap, EVENT_GAP);
	event_number(&gap, FIELD_COUNTED, lost);
	event_str(&gap, FIELD_DETAIL, "the log could not be written");
	if (!put(j, &gap) || !journal_flush(j)) {
		j->n_lost = lost; /* the gap record itself is none */
		return false;
	}
	j->n_lost = 0;
	j->n_gapped += lost;
	log_warn("the audit log is written again; %llu record%s missing",
	    (unsigned long long)lost, lost == 1 ? " is" : "s are");
	return true;
}

bool
journal_retry(struct journal *j)
{
	enum err err = ERR_NONE;

	if (!j->failed || !cut_back(j))
		return !j->failed;
	if (j->n_lost != 0) {
		j->failed = !put_gap(j, j->n_lost);
		return !j->failed;
	}
	/* It was a checkpoint that failed: nothing is missing. */
	if (chain_put_checkpoint(&j->chain, clock_wall_us(), j->key,
		&j->pending, &err) != 0 ||
	    !journal_flush(j))
		return false;
	j->checkpointed = j->chain.end.seq;
	j->failed = false;
	log_warn("the audit log is written again; nothing is missing");
	return true;
}

void
journal_sync(struct journal *j)
{
	if (fdatasync(j->fd) != 0)
		log_warn("the audit log is not surely on its disk: %s",
		    strerror(errno));
}

struct journal_sum
journal_sum(const struct journal *j)
{
	struct journal_sum sum = j->sum;

	sum.n_lost = j->n_lost;
	sum.n_missing = j->n_lost + j->n_gapped;
	memcpy(sum.hash, j->written.hash, sizeof(sum.hash));
	return sum;
}
