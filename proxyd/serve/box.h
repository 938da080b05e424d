/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox of a gateway, the program that it shares, the worker that has it:
 * serve/state.h alone includes this. */
#ifndef SERVE_BOX_H
#define SERVE_BOX_H

#include "base/ids.h"
#include "ns/capture.h"
#include "priv/control.h"
#include "proxyd/monitor_state.h"

struct serve;

/* A compiled program that sandboxes share. */
struct image {
	LIST_ENTRY(image) entry;
	char digest[7 + 64 + 1];
	int fd;			 /* owned; sealed */
	struct program *program; /* owned */
	unsigned n_refs;
};

struct serve_worker {
	struct role_process c; /* the first */
	TAILQ_ENTRY(serve_worker) next;
	char tenant[CONTROL_NAME_MAX + 1];
	unsigned n_boxes;
	uint64_t idle_ms; /* since when, by clock_ms() */
};

/* A rule that was added to a sandbox. */
struct added {
	uint32_t number; /* its name is added-NUMBER */
	uint64_t expires_s;
	char *url; /* owned */
};

/* Whom to answer.  porter 0: nobody. */
struct caller {
	uint32_t porter, id;
};

/* Who waits for the last of them to be in force. */
struct allowing {
	bool runs;
	struct caller caller;
	uint32_t uid, seconds;
};

enum box_state {
	BOX_COMPILING, /* a clerk has its policy */
	BOX_CAPTURING, /* a helper makes its namespace ready */
	BOX_RECORDING, /* its attach record is on its way */
	BOX_ATTACHED,
	BOX_GONE, /* nothing is left but what a callback still holds */
};

/* A sandbox. */
struct box {
	TAILQ_ENTRY(box) entry;
	LIST_ENTRY(box) by_name;
	struct ids_entry by_id;
	struct serve *serve; /* borrowed */
	uint32_t id;
	enum box_state state;
	char name[CONTROL_NAME_MAX + 1], tenant[CONTROL_NAME_MAX + 1];
	struct buf request;	     /* owned: its attach, without secrets */
	struct control_attach asked; /* reads `request` */
	struct caller caller;	     /* who waits for it */
	struct added *added;	     /* owned */
	size_t n_added;
	uint32_t last_added; /* number of the last one ever */
	struct allowing allowing;
	struct image
	    *next;    /* a share: of a reload under way, or of an added rule */
	bool reloads; /* ... which waits for that */
	struct image *image;	     /* a share; NULL: none yet */
	uint32_t generation;	     /* of its program */
	struct serve_worker *worker; /* borrowed; NULL: none yet */
	struct placeholder *places;  /* owned */
	size_t n_places;
	unsigned n_spools;
	int net_fd; /* owned; -1: none */
	ino_t net;  /* which one that is */
	struct capture_job job;
	struct capture capture;
	bool has_job, has_capture;
	int entry_fd;	    /* owned: of a proxy; -1: none */
	bool told;	    /* dialer and keeper know it */
	bool is_kept;	    /* a file of the state is its own */
	bool is_configured; /* by `sandboxes:`, nobody called */
	bool returns;	    /* it was there before a restart: */
	bool of_old_boot, net_is_gone;
	uint64_t kept_net;
	uint16_t tcp_port, dns_port; /* ... as they were; 0: any */
	struct buf kept_places;	     /* owned; of before, as in the file */
	struct event *news, *links;  /* owned: of the helper, of the watch */
	unsigned n_waits;	     /* callbacks that hold it */
};

#endif
