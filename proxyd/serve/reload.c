/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another generation of files: all are read again, each sandbox's policy is
 * compiled from them, and when all are good each gets its new program, in one
 * step.  If anything is wrong nothing changes, and it is said what.
 */
#include <errno.h>
#include <unistd.h>

#include "audit/event.h"
#include "base/log.h"
#include "serve/restore.h"

#define TEXT_MAX (1 << 20) /* bytes of what is wrong */

static void
end(struct serve *s, enum control_code code)
{
	struct reload *r = &s->reload;

	if (code == CONTROL_DONE)
		s->counts.reloads++;
	else
		s->counts.reload_faults++;
	if (code != CONTROL_DONE)
		log_error("nothing is reloaded: %s", buf_text(&r->wrong));
	answer(s, r->caller, code, buf_text(&r->wrong), NULL);
	files_release(&r->files);
	buf_release(&r->wrong);
	*r = (struct reload){ 0 };
}

/* The same bytes?  Both are sealed. */
static bool
is_same_file(const struct files *a, const struct files *b, size_t i)
{
	uint8_t one[4096], two[4096];
	ssize_t n = 0, k = 0;
	off_t at = 0;

	if (strcmp(a->at[i].path, b->at[i].path) != 0)
		return false;
	do {
		n = pread(a->at[i].fd, one, sizeof(one), at);
		k = pread(b->at[i].fd, two, sizeof(two), at);
		at += n;
	} while (n > 0 && n == k && memcmp(one, two, (size_t)n) == 0);
	return n == 0 && k == 0;
}

static bool
is_same_configuration(const struct files *a, const struct files *b)
{
	if (a->n_config != b->n_config)
		return false;
	for (size_t i = 0; i < a->n_config; i++)
		if (!is_same_file(a, b, i))
			return false;
	return true;
}

/* Its new program, to those that know of it: who judges by it comes last. */
static void
change(struct box *b)
{
	struct monitor *m = &b->serve->m;
	struct image *old = b->image;
	struct event e;

	b->image = b->next;
	b->next = NULL;
	if (b->image == old) { /* one share was for each */
		image_drop(old);
		return;
	}
	b->generation++;
	box_send_program(b);
	box_send_secrets(b);
	serve_fill(b, &e, EVENT_PROGRAM);
	(void)monitor_record(m, &e, NULL, NULL);
	image_drop(old);
}

static void
finish(struct serve *s)
{
	struct reload *r = &s->reload;
	struct files old = s->files;
	struct box *b;

	if (r->n_left != 0)
		return;
	if (r->wrong.n != 0) {
		TAILQ_FOREACH(b, &s->boxes, entry) {
			image_drop(b->next);
			b->next = NULL;
		}
		end(s, CONTROL_CONFIGURATION_WRONG);
		return;
	}
	TAILQ_FOREACH(b, &s->boxes, entry)
		if (b->next != NULL)
			change(b);
	s->files = r->files;
	r->files = old;
	end(s, CONTROL_DONE);
	restore_configured(s);
}

static void
on_compiled(struct box *b, int fd, struct slice text)
{
	struct serve *s = b->serve;
	enum err err = ERR_NONE;

	b->reloads = false;
	s->reload.n_left--;
	if (fd >= 0)
		b->next = image_take(s, fd, &err);
	if (b->next == NULL)
		buf_putf(&s->reload.wrong, "sandbox `%s`: %.*s\n", b->name,
		    SLICE_ARG(fd < 0 ? text : slice_of_str(err_text(err))));
	finish(s);
}

void
reload_lost(struct box *b)
{
	if (!b->reloads)
		return;
	b->reloads = false;
	b->serve->reload.n_left--;
	finish(b->serve);
}

/* Nobody is on its way: what comes is compiled from one generation. */
static bool
is_quiet(const struct serve *s)
{
	const struct box *b;

	TAILQ_FOREACH(b, &s->boxes, entry)
		if (b->state != BOX_ATTACHED || b->allowing.runs)
			return false;
	return true;
}

static void
compile_all(struct serve *s)
{
	struct reload *r = &s->reload;
	enum control_code code;
	const char *why;
	struct box *b;

	/* None of the answers may end it before all are asked for. */
	r->n_left = 1;
	TAILQ_FOREACH(b, &s->boxes, entry) {
		if (b->asked.policy_text.n != 0)
			continue; /* no file of ours is in it */
		r->n_left++;
		b->reloads = true;
		if (job_add(&r->files, b, on_compiled, &code, &why) == 0)
			continue;
		b->reloads = false;
		r->n_left--;
		buf_putf(&r->wrong, "sandbox `%s`: %s\n", b->name, why);
	}
	r->n_left--;
	finish(s);
}

void
reload_begin(struct serve *s, struct caller caller)
{
	struct reload *r = &s->reload;

	if (r->runs || !is_quiet(s)) {
		/* A signal has nobody to tell: once more in a moment. */
		s->reload_wanted = s->reload_wanted || caller.porter == 0;
		answer(s, caller, CONTROL_BUSY,
		    "sandboxes are being attached, or files reloaded", NULL);
		return;
	}
	*r = (struct reload){ .runs = true, .caller = caller };
	buf_init(&r->wrong, TEXT_MAX);
	if (files_read(&r->files, s->cfg->dir, &r->wrong) == 0 &&
	    !is_same_configuration(&s->files, &r->files))
		buf_put_str(&r->wrong,
		    "the configuration itself has changed, which takes a "
		    "restart of the gateway");
	if (r->wrong.n != 0)
		end(s, CONTROL_CONFIGURATION_WRONG);
	else
		compile_all(s);
}

void
reload_look(struct serve *s)
{
	if (!s->reload_wanted || s->reload.runs)
		return;
	s->reload_wanted = false;
	reload_begin(s, (struct caller){ 0 });
}

void
reload_end(struct serve *s)
{
	files_release(&s->reload.files);
	buf_release(&s->reload.wrong);
}
