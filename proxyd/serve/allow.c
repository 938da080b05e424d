/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One more rule for a sandbox that runs: its policy is compiled anew with the
 * rule behind all others, that is recorded with the user who asked, and only
 * then the new program is in force.  Reloads keep the rule; it ends by itself.
 */
#include <stdlib.h>

#include "audit/event.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/rd.h"
#include "serve/state.h"

static uint64_t
now_s(void)
{
	return clock_wall_us() / 1000000;
}

/* The last of them is not in force unless it was done. */
static void
end(struct box *b, enum control_code code, const char *why)
{
	struct caller caller = b->allowing.caller;

	b->allowing = (struct allowing){ 0 };
	if (code != CONTROL_DONE)
		free(b->added[--b->n_added].url);
	image_drop(b->next);
	b->next = NULL;
	answer(b->serve, caller, code, why, NULL);
}

void
allow_lost(struct box *b)
{
	if (b->allowing.runs)
		end(b, CONTROL_NAME_UNKNOWN, "it has just been detached");
}

void
allow_release(struct box *b)
{
	for (size_t i = 0; i < b->n_added; i++)
		free(b->added[i].url);
	free(b->added);
}

static void
apply(struct box *b)
{
	struct image *old = b->image;

	b->image = b->next;
	b->next = NULL;
	b->generation++;
	box_send_program(b);
	image_drop(old);
}

static void
on_recorded(struct msg *msg, void *arg)
{
	struct box *b = arg;
	struct rd r = rd_of(msg == NULL ? (struct slice){ 0 } : msg->body);
	bool written = rd_u8(&r) == 1 && !r.bad;

	if (b->allowing.runs && written) {
		apply(b);
		end(b, CONTROL_DONE, "");
	} else if (b->allowing.runs)
		end(b, CONTROL_LOG_AWAY, "its record could not be written");
	box_let_go(b);
}

/* What is not recorded is not allowed. */
static void
record(struct box *b)
{
	const struct added *a = &b->added[b->n_added - 1];
	struct event e;
	char text[EVENT_TEXT_MAX];

	snprintf(text, sizeof(text), "user %u allows, as added-%u, for %us: %s",
	    b->allowing.uid, a->number, b->allowing.seconds, a->url);
	serve_fill(b, &e, EVENT_PROGRAM);
	event_str(&e, FIELD_PROGRAM, b->next->digest);
	event_number(&e, FIELD_GENERATION, b->generation + 1);
	event_str(&e, FIELD_DETAIL, text);
	b->n_waits++;
	if (monitor_record(&b->serve->m, &e, on_recorded, b))
		return;
	b->n_waits--;
	end(b, CONTROL_ROLE_AWAY, "the scribe is away");
}

static void
on_compiled(struct box *b, int fd, struct slice text)
{
	char why[CONTROL_DETAIL_MAX];
	enum err err = ERR_NONE;

	if (fd < 0) {
		snprintf(why, sizeof(why), "%.*s", SLICE_ARG(text));
		end(b, CONTROL_RULE_WRONG, why);
		return;
	}
	b->next = image_take(b->serve, fd, &err);
	if (b->next == NULL)
		end(b, CONTROL_FAULT, "the program cannot be used");
	else
		record(b);
}

static void
drop_expired(struct box *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n_added; i++)
		if (b->added[i].expires_s > now_s())
			b->added[n++] = b->added[i];
		else
			free(b->added[i].url);
	b->n_added = n;
}

static bool
put(struct box *b, const struct control_request *req)
{
	struct added *more =
	    realloc(b->added, (b->n_added + 1) * sizeof(*more));

	if (more == NULL)
		return false;
	b->added = more;
	more += b->n_added;
	more->url = strndup((const char *)req->url.p, req->url.n);
	if (more->url == NULL)
		return false;
	more->number = ++b->last_added;
	more->expires_s = now_s() + req->seconds;
	b->n_added++;
	return true;
}

void
allow_begin(struct serve *s, const struct control_request *req,
    struct caller caller)
{
	struct box *b = box_find(s, req->name);
	enum control_code code = CONTROL_DONE;
	const char *why = "";

	if (b == NULL)
		code = CONTROL_NAME_UNKNOWN;
	else if (b->state != BOX_ATTACHED || b->allowing.runs)
		code = CONTROL_NAME_BUSY;
	else if (s->reload.runs)
		code = CONTROL_BUSY;
	if (code != CONTROL_DONE) {
		answer(s, caller, code, "", NULL);
		return;
	}
	drop_expired(b);
	if (b->n_added == LIMIT_SERVE_ADDED) {
		answer(s, caller, CONTROL_RULE_WRONG,
		    "it has as many added rules as can be", NULL);
		return;
	}
	if (!put(b, req)) {
		answer(s, caller, CONTROL_FAULT, "out of memory", NULL);
		return;
	}
	b->allowing = (struct allowing){ true, caller, req->uid, req->seconds };
	if (job_add(&s->files, b, on_compiled, &code, &why) != 0)
		end(b, code, why);
}
