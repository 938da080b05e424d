/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "audit/chain.h"
#include "audit/tally.h"
#include "audit/verify.h"

#define TEXT_MAX 8192 /* bytes of one message */

struct verify {
	const struct verify_want *want; /* borrowed */
	verify_on_problem *on_problem;
	void *arg;
	struct chain chain;
	struct tally *tally; /* owned */
	struct buf store;    /* the texts of the line at hand */
	struct buf text;     /* the message at hand */
	uint64_t line;
	bool has_key, seen_hash, broken;
	uint8_t key[SIGN_PUBLIC_SIZE]; /* of the last `start` */
	struct verify_sum sum;
};

static void
problem_at(struct verify *v, uint64_t seq, const char *text)
{
	v->sum.n_problems++;
	v->on_problem(v->line, seq, text, v->arg);
}

static void PRINTF_LIKE(3, 4)
    problem(struct verify *v, uint64_t seq, const char *fmt, ...)
{
	va_list ap;

	buf_clear(&v->text);
	va_start(ap, fmt);
	buf_vputf(&v->text, fmt, ap);
	va_end(ap);
	problem_at(v, seq, buf_text(&v->text));
}

static void
on_tally(uint64_t seq, const char *text, void *arg)
{
	struct verify *v = arg;

	/* Of a record that may stand far behind the line at hand. */
	v->sum.n_problems++;
	v->on_problem(0, seq, text, v->arg);
}

struct verify *
verify_new(const struct verify_want *want, verify_on_problem *on_problem,
    void *arg, enum err *err)
{
	struct verify *v = calloc(1, sizeof(*v));

	if (v == NULL) {
		*err = ERR_MEMORY;
		return NULL;
	}
	v->want = want;
	v->on_problem = on_problem;
	v->arg = arg;
	buf_init(&v->store, LINE_SIZE_MAX + 1);
	buf_init(&v->text, TEXT_MAX);
	v->tally = tally_new(on_tally, v, err);
	if (v->tally == NULL || chain_init(&v->chain, err) != 0) {
		verify_free(v);
		return NULL;
	}
	return v;
}

static void
check_place(struct verify *v, const struct line *l)
{
	uint64_t last = v->chain.end.seq;

	if (l->seq == last + 1) {
		if (!chain_fits(&v->chain, l))
			problem(v, l->seq,
			    "the hash does not fit: this record, or the one "
			    "before it, is not what was written");
	} else if (l->seq == last + 2) {
		problem(v, l->seq, "record %" PRIu64 " is missing before it",
		    last + 1);
	} else if (l->seq > last + 1) {
		problem(v, l->seq,
		    "records %" PRIu64 " to %" PRIu64 " are missing before it",
		    last + 1, l->seq - 1);
	} else {
		problem(v, l->seq,
		    "stands behind record %" PRIu64 ": moved, or added", last);
	}
}

/* Another run goes on with the log: did the one before end in good order? */
static void
check_run_before(struct verify *v, const struct line *l)
{
	v->sum.n_runs++;
	if (v->sum.n_records <= 1 || v->sum.has_ended)
		return;
	v->sum.n_open++;
	if (!v->want->open)
		problem(v, l->seq,
		    "the run before it does not end in `stop`: duenna was "
		    "killed, or records are cut off there");
}

/* The key before signs nothing any more: only that of this start will. */
static void
note_late(struct verify *v)
{
	uint64_t last = v->chain.end.seq, from = v->sum.covered + 1;

	/* The checkpoint that covers them stands itself behind them. */
	if (v->sum.covered != 0)
		from++;
	if (from > last || v->broken)
		return;
	if (v->sum.n_late++ == 0) {
		v->sum.late_from = from;
		v->sum.late_to = last;
	}
}

static void
check_start(struct verify *v, const struct line *l)
{
	if (event_number_of(&l->event, FIELD_REPEATED) == 0)
		check_run_before(v, l);
	note_late(v);
	if (!chain_start_key(&l->event, v->key, v->sum.machine))
		problem(v, l->seq,
		    "the key of the log is not signed by the machine's key");
	v->has_key = true;
	v->sum.has_machine = true;
	if (v->want->machine != NULL &&
	    !digest_eq(v->want->machine, v->sum.machine, SIGN_PUBLIC_SIZE))
		problem(v, l->seq, "written by another machine's key");
}

static void
check_checkpoint(struct verify *v, const struct line *l)
{
	const struct chain_end *end = &v->chain.end;

	if (event_number_of(&l->event, FIELD_COUNTED) != end->seq ||
	    !slice_eq_str(event_text_of(&l->event, FIELD_COVERED), end->hash))
		problem(v, l->seq,
		    "the checkpoint is of other records than stand before it");
	else if (!v->has_key || !chain_checkpoint_is_signed(&l->event, v->key))
		problem(v, l->seq,
		    "the checkpoint is not signed by the key of this log");
	else if (!v->broken)
		v->sum.covered = end->seq;
}

static void
check_record(struct verify *v, const struct line *l)
{
	enum event_field field;
	const char *wrong = event_check(&l->event, &field);
	uint64_t before = v->sum.n_problems;

	if (v->sum.n_records == 0 && l->event.kind != EVENT_START)
		problem(v, l->seq, "the first record is not `start`");
	v->sum.n_records++;
	check_place(v, l);
	v->broken = v->broken || v->sum.n_problems != before;
	if (wrong != NULL)
		problem(v, l->seq, "%s: %s", event_field_key(field), wrong);
	if (l->event.kind == EVENT_START)
		check_start(v, l);
	if (l->event.kind == EVENT_CHECKPOINT)
		check_checkpoint(v, l);
	if (l->event.kind == EVENT_GAP)
		v->sum.n_lost += event_number_of(&l->event, FIELD_COUNTED);
	if (l->event.kind != EVENT_CHECKPOINT)
		v->sum.has_ended = l->event.kind == EVENT_STOP;
	chain_follow(&v->chain, l);
	if (v->want->hash != NULL && slice_eq_str(l->hash, v->want->hash))
		v->seen_hash = true;
	if (!tally_put(v->tally, l->seq, &l->event))
		problem(v, l->seq, "no memory to compare it with others");
}

void
verify_put(struct verify *v, enum reader_got got, struct slice line)
{
	const char *detail;
	struct line l;

	v->line++;
	if (got == READER_CUT)
		problem(v, 0, "the last line is cut");
	else if (got == READER_LONG)
		problem(v, 0, "longer than any record");
	else if (!line_read(line, &v->store, &l, &detail))
		problem(v, 0, "no record: %s", detail);
	else
		check_record(v, &l);
}

struct verify_sum
verify_end(struct verify *v)
{
	tally_end(v->tally);
	v->line = 0;
	if (v->sum.n_records == 0)
		problem_at(v, 0, "there is no record");
	if (v->want->hash != NULL && !v->seen_hash)
		problem_at(v, 0,
		    "no record has the wanted hash: records are missing at "
		    "the end, or it is another log");
	memcpy(v->sum.hash, v->chain.end.hash, sizeof(v->sum.hash));
	return v->sum;
}

void
verify_free(struct verify *v)
{
	if (v == NULL)
		return;
	tally_free(v->tally);
	chain_release(&v->chain);
	buf_release(&v->store);
	buf_release(&v->text);
	free(v);
}
