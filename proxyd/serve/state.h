/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this room share; they alone include this.
 *
 * serve.c	start, stages, signals, end
 * files.c	a generation of files
 * clerk.c	steward and clerk: configuration, policies
 * images.c	compiled programs, by digest
 * workers.c	workers by tenant; what each role works with; their deaths
 * box.c	the table of sandboxes
 * attach.c	attach and detach, step by step; none of them waits
 * allow.c	one more rule for a sandbox that runs
 * reload.c	another generation of files, while all goes on
 * control.c	the control socket: who calls, porters, requests
 * say.c	what is answered, as JSON
 * metrics.c	what is answered, as OpenMetrics
 * keep.c	files of sandboxes, over a restart
 * restore.c	sandboxes of before come back
 * notify.c	what the init system is told
 */
#ifndef SERVE_STATE_H
#define SERVE_STATE_H

#include "base/ids.h"
#include "priv/control.h"
#include "priv/control_answer.h"
#include "priv/rights.h"
#include "proxyd/monitor_state.h"
#include "serve/box.h"
#include "serve/files.h"
#include "serve/serve.h"

#define SERVE_BUCKETS 1024   /* sandboxes by name; a power of two */
#define SERVE_WORKERS_MAX 64 /* as dialer, keeper and scribe have room for */
#define SERVE_BOXES_FIRST 16 /* sandboxes of a tenant, before another worker */
#define SERVE_PORTERS_MAX 8  /* users who call at once */
#define SERVE_IDLE_MS 60000  /* a worker, a porter without work ends */
#define SERVE_NUMBER_FIRST 2 /* of workers; 1 is that of `run` */

TAILQ_HEAD(box_list, box);
struct job;
struct porter_process;
struct kept;

/* Other files, on their way into force. */
struct reload {
	bool runs;
	struct caller caller;
	struct files files;
	size_t n_left;	  /* sandboxes whose policy is not compiled yet */
	struct buf wrong; /* for people; empty: nothing */
};

/* What has happened since the start, for metrics.c. */
struct serve_counts {
	uint64_t attached, detached, cut_off, reloads, reload_faults;
	uint64_t calls[CONTROL_VERBS], answers[CONTROL_CODES];
	uint64_t ended[ROLE_COUNT]; /* that nobody wanted to end */
};

struct serve {
	struct monitor m; /* the first */
	const struct serve_config *cfg;
	struct monitor_config run; /* what the shared parts look at */
	struct files files;
	struct reload reload;
	bool reload_wanted; /* by a signal, when it could not be */
	bool *sent; /* owned; by credential: the keeper has its secret */
	struct role_process steward, clerk;
	uint64_t clerk_ms;	 /* since when it has no job */
	STAILQ_HEAD(, job) jobs; /* owned; the first is at work */
	LIST_HEAD(, image) images;
	struct ids by_id;
	LIST_HEAD(, box) by_name[SERVE_BUCKETS];
	struct box_list boxes;
	size_t n_boxes;
	size_t n_returning; /* sandboxes of before, on their way; and 1 */
	uint32_t next_box, next_worker, next_porter;
	TAILQ_HEAD(, serve_worker) workers;
	size_t n_workers, n_cores;
	TAILQ_HEAD(, porter_process) porters;
	size_t n_porters;
	int socket; /* owned: the control socket; -1: none */
	struct event *accepts;
	struct rights rights;	  /* of groups over it */
	struct event *signals[4]; /* owned */
	int lock;		  /* owned: of the state's folder */
	struct serve_counts counts;
	bool notified;
};

static inline struct serve *
serve_of(struct monitor *m)
{
	return (struct serve *)m;
}

/* files as they are, to the steward; then monitor_step().  -1: it was said. */
MUST_USE int steward_start(struct serve *s);

/*
 * Have the policy of a sandbox compiled from these files, which stay as long.  `done` is called once, with the image
 * or, fd -1, with what is wrong; not if the job was dropped.
 */
typedef void job_done(struct box *b, int fd, struct slice text);
MUST_USE int job_add(const struct files *f, struct box *b, job_done *done,
    enum control_code *code, const char **why);
void job_drop(struct box *b);
void jobs_next(struct serve *s); /* the next one, if none is at work */
void jobs_look(struct serve *s); /* each second */
void jobs_end(struct serve *s);

/* The image in `fd`, which is taken; NULL: it is none. */
MUST_USE struct image *image_take(struct serve *s, int fd, enum err *err);
void image_drop(struct image *i);

/* workers.c */
MUST_USE struct serve_worker *worker_pick(struct serve *s, const char *tenant,
    enum err *err);
void worker_leave(struct serve_worker *w); /* a sandbox left it */
void workers_look(struct serve *s);	   /* each second */
void workers_end(struct serve *s);
void serve_feed(struct serve *s, struct role_process *c);
void serve_ended(struct monitor *m, struct role_process *c, const char *how);
void box_tell(struct box *b); /* its name and program, to all but its worker */
void box_feed(struct box *b); /* ... and what its worker needs */
void box_send_program(struct box *b); /* another: keeper, dialer, worker */
void box_forget(struct box *b);	      /* all forget it */

/* box.c */
/* kept  what is known of it from before; then its token is a digest already.
 * NULL: nothing */
MUST_USE struct box *box_new(struct serve *s,
    const struct control_attach *asked, const struct kept *kept, enum err *err);
struct box *box_find(struct serve *s, struct slice name);
/* A request in one form, without what may not stay.  False: no memory.
 * is_digest  its token is one already */
MUST_USE bool box_encode(const struct control_attach *asked, bool is_digest,
    struct buf *out);
bool box_is_same(const struct box *b, const struct control_attach *asked);
void box_end(struct box *b); /* out of the tables; freed when none holds it */
void box_let_go(struct box *b);

/* attach.c */
void attach_begin(struct serve *s, const struct control_attach *asked,
    struct caller caller);
/* One of before or, NULL in `kept`, one of `sandboxes:` that was not there. */
void attach_unasked(struct serve *s, const struct control_attach *asked,
    const struct kept *kept);
void detach_begin(struct serve *s, struct slice name, struct caller caller);
/* why  of a cut-off, for people, and its reason; NULL: somebody asked for it */
void detach_now(struct box *b, enum reason reason, const char *why);
void box_send_secrets(struct box *b); /* those that no other had a rule for */
void serve_fill(struct box *b, struct event *e, unsigned kind);

/* allow.c */
void allow_begin(struct serve *s, const struct control_request *req,
    struct caller caller);
void allow_lost(struct box *b); /* it is going */
void allow_release(struct box *b);

/* reload.c */
void reload_begin(struct serve *s, struct caller caller);
void reload_lost(struct box *b);   /* it is going */
void reload_look(struct serve *s); /* each second */
void reload_end(struct serve *s);

/* control.c */
/* The rights that `control:` of the configuration gives.  -1: *why. */
MUST_USE int control_rights(struct serve *s, struct rights *r,
    const char **why);
MUST_USE int control_open(struct serve *s);
void control_look(struct serve *s); /* each second */
void control_end(struct serve *s);
void control_request(struct role_process *c, struct msg *msg);
void control_porter_ended(struct role_process *c, const char *how);
/* clerk.c */
void control_heard(struct monitor *m, struct role_process *c, struct msg *msg);
/* `content` is sent beside it, if it has any. */
void answer(struct serve *s, struct caller to, enum control_code code,
    const char *detail, const struct buf *content);

/* say.c */
void say_list(struct serve *s, struct buf *out);
void say_box(const struct box *b, struct buf *out);
void say_status(struct serve *s, struct buf *out);

/* metrics.c */
void say_metrics(struct serve *s, struct buf *out);

/* notify.c: a line of sd_notify(3), where the init system wants them. */
void notify(const char *line);

#endif
