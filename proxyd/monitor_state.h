/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the monitor share: proxyd/monitor*.c alone include this.
 *
 * For `run` and `serve`:
 *
 * monitor_base.c	failing, records of our own, what is put away at the end
 * monitor_roles.c	children: start, channels, heartbeat, death
 * monitor_secret.c	secrets from file or variable to the keeper
 * monitor_command.c	commands that print one
 * monitor_ca.c		the CA that the owner gives, to the keeper
 * monitor_state.c	files that stay: log, programs, keys
 * monitor_spool.c	files for what waits in the worker
 * monitor_host.c	the host's resolvers, for the dialer
 *
 * For `run` alone (serve/ has what the other does at those moments):
 *
 * monitor.c		the order of a run, from its start to its exit status
 * monitor_feed.c	what each of its roles works with; roles that die
 * monitor_load.c	steward and clerk: configuration, then policy
 * monitor_sandbox.c	namespaces, placeholders, command
 * monitor_view.c	what the sandbox is shown
 * monitor_report.c	what is said at the end
 * monitor_reach.c	what of the owner's it may not write
 */
#ifndef PROXYD_MONITOR_STATE_H
#define PROXYD_MONITOR_STATE_H

#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/reason.h"
#include "net/channel.h"
#include "policy/owner.h"
#include "policy/program.h"
#include "priv/ops.h"
#include "priv/role.h"
#include "proxyd/monitor.h"
#include "proxyd/monitor_roles.h"
#include "proxyd/policy_file.h"

#define MONITOR_START_MS 20000 /* from start to the command's own start */
#define MONITOR_END_MS 3000    /* for the last records to be written */
#define MONITOR_LOG_MS 1000    /* the same, when the run could not begin */
#define MONITOR_SANDBOX 1      /* the id of the one sandbox of `run` */
#define MONITOR_WORKER 1       /* the number of its worker */
#define MONITOR_GENERATION 1   /* `run` never reloads */

struct event;

/* Where the run is. */
enum stage {
	STAGE_LOADING,	/* steward and clerk at work */
	STAGE_READYING, /* roles and namespaces get what they need */
	STAGE_RUNNING,	/* the command runs */
	STAGE_ENDING,	/* last records */
	STAGE_DONE,
};

struct sandbox;

/* monitor_report.c: for people, as soon as it is known; with --json as the very
 * last line. */
void report_end(struct monitor *m);
void report_json(struct monitor *m);

/* monitor_sandbox.c */

struct monitor {
	const struct monitor_ops *ops;	  /* borrowed */
	const struct monitor_config *cfg; /* borrowed */
	struct loop *loop;		  /* owned */
	enum stage stage;
	int status;  /* exit status to give back */
	int dies_by; /* signal by which we end then, as the command; 0: none */

	struct role_process
	    children[ROLE_COUNT]; /* by role; monitor's is unused */
	TAILQ_HEAD(, role_process) running;
	struct role_process clerk; /* or steward: the one at work */
	struct event *heartbeat;   /* owned */
	struct event *deadline;	   /* owned: of the stage */

	struct policy_files files; /* the policy and its includes */
	unsigned n_bundles;	  /* files that the steward had opened for it */
	int owner_fd, program_fd; /* owned: sealed images; -1: not yet */
	struct owner *owner;	  /* owned */
	struct program *program;  /* owned */
	char digest[7 + 64 + 1];  /* "sha256:…" of the program */
	char name[48];		  /* of the sandbox */
	char digits[5];		  /* of its name, if none was given */
	int log_fd, state_fd, key_fd; /* owned; -1: none */
	struct buf log_path, state_dir;
	struct buf trust;   /* certificate of the keeper's CA, DER */
	bool ca_waits;	    /* the owner's own is not taken yet */
	uid_t secret_owner; /* may own files of secrets, beside us and root */
	bool attached;	    /* the attach record is written */
	bool log_ended;	    /* the stop record is */
	struct stat resolvers_seen; /* resolv.conf, when it was sent */
	bool ran;		    /* the command was started */
	uint64_t n_denied, n_reported, n_alarms, n_missing; /* the scribe's */
	uint64_t n_refused[REASON_COUNT]; /* those denied, by reason */
	struct buf last_hash;
	unsigned n_spools; /* files that the worker got to keep packs in */
	enum reason why;   /* of the alarm that ends the run; ALLOW: none */
	struct sandbox *sandbox;       /* owned */
	LIST_HEAD(, command) commands; /* owned: those that run */
};

/* monitor_base.c */
void monitor_init(struct monitor *m, const struct monitor_ops *ops,
    const struct monitor_config *cfg);
MUST_USE int monitor_begin(struct monitor *m); /* loop; has said why not */
void monitor_release(struct monitor *m);

/* Look whether the stage can go on; every callback ends here. */
void monitor_step(struct monitor *m);

/* Leave the loop. */
void monitor_stop(struct monitor *m);

/* In `ms`, the end of the stage; 0: it has none. */
void monitor_deadline(struct monitor *m, uint64_t ms);

/*
 * It is duenna's own fault.  The text goes to standard error as "duenna: TEXT";
 * it says what to do next.
 */
void monitor_fail(struct monitor *m, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Write a record of our own.  `on_written` NULL: no answer wanted.  False: there
 * is no scribe to write it. */
bool monitor_record(struct monitor *m, const struct event *e,
    channel_on_answer *on_written, void *arg);

/* monitor.c: to the scribe, what closes the log. */
void monitor_record_end(struct monitor *m);

/* monitor.c: the command ended; `status` is what we give back. */
void monitor_command_ended(struct monitor *m, int status);

/* monitor_load.c */
MUST_USE int load_start(struct monitor *m);

/* monitor_secret.c: those in use, to the keeper.  Fails the run if a file of
 * one is somebody else's; one that is not there is only said. */
MUST_USE int secrets_send(struct monitor *m);

/* One whose time is over, once more. */
void secret_send_again(struct monitor *m, struct slice body);

/* Does any rule of it name that credential? */
bool secret_is_named(const struct program *p, uint32_t credential);

/* It cannot be had: one line for its owner. */
void secret_say(const struct owner_credential *c, const char *why);

/* monitor_command.c: run it, if it does not run.  False: it cannot be, which has
 * been said. */
MUST_USE bool command_start(struct monitor *m, uint32_t credential);
void commands_end(struct monitor *m);

struct env;

/* No variable that is a secret goes to the command, whoever asks for it. */
void secrets_keep_from(const struct monitor *m, struct env *env);

/* monitor_spool.c: answer a worker that wants one */
void spool_send(struct role_process *worker, const struct msg *asked);

/* monitor_host.c: send it, send it if it has changed */
void host_send(struct monitor *m);
void host_look(struct monitor *m);
void host_tell_proxy(const struct monitor *m); /* proxies go, say so */

/* monitor_state.c */
MUST_USE int state_open(struct monitor *m);	/* directory, audit key */
MUST_USE int state_open_log(struct monitor *m); /* needs the name */
void state_drop_empty_log(struct monitor *m);	/* of a run that never began */
MUST_USE int state_keep_program(struct monitor *m, const struct program *p,
    const char *digest); /* for `audit replay`; -1 with errno */
void state_sha256(struct slice bytes, char text[7 + 64 + 1]);

/* monitor_sandbox.c */
MUST_USE int sandbox_start(struct monitor *m);
MUST_USE int sandbox_take_name(struct monitor *m); /* one run at a time */
MUST_USE int sandbox_prepare(struct monitor *m); /* once the images are here */
bool sandbox_is_ready(const struct monitor *m);
/* Packets dropped in there, by protocol: for the records of the end. */
struct netns_counters;
MUST_USE int sandbox_counters(const struct monitor *m,
    struct netns_counters *out);
void sandbox_feed(struct monitor *m, struct role_process *worker);
void sandbox_go(struct monitor *m); /* fails the run if it cannot */
void sandbox_end(struct monitor *m);

#endif
