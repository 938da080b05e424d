/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command list of a push: what stands before the pack in the body of a POST
 * to git-receive-pack.  It is read whole, more strictly than any server does,
 * judged elsewhere, and written anew from what was read.
 *
 *	body	 = "0000" | *shallow commands flush [ options flush ] [ pack ]
 *	shallow	 = PKT("shallow" SP id [LF])
 *	commands = PKT(old SP new SP ref NUL caps [LF]) *PKT(old SP new SP ref [LF])
 *	options	 = *PKT(option [LF])	only if the capabilities name push-options
 *
 * A push certificate is refused wherever it stands: servers obey one that they
 * never offered, and the commands in it are not the ones that we read.
 *
 * Source: gitprotocol-pack(5), "Reference Update Request"; where that is looser
 * than what servers agree on, this is stricter.
 * No I/O.  The list is kept, up to LIMIT_PUSH_LIST_SIZE bytes.
 */
#ifndef GIT_PUSH_H
#define GIT_PUSH_H

#include "base/buf.h"
#include "base/parse.h"
#include "policy/git_command.h"

/* Capabilities that we know; others are dropped. */
enum push_cap {
	PUSH_REPORT_STATUS = 1,
	PUSH_REPORT_STATUS_V2 = 2,
	PUSH_SIDE_BAND_64K = 4,
	PUSH_QUIET = 8,
	PUSH_ATOMIC = 16,
	PUSH_OPTIONS = 32,
	PUSH_OBJECT_FORMAT = 64,
	PUSH_AGENT = 128,
};

enum push_state {
	PUSH_FIRST,   /* shallow lines, or the first command */
	PUSH_MORE,    /* further commands, or the flush */
	PUSH_OPTION,  /* push options, or their flush */
	PUSH_PROBED,  /* "0000": nothing may follow */
	PUSH_WHOLE,   /* read; what follows is the pack, or nothing */
	PUSH_REFUSED, /* a fault was found */
};

/* Where something stands in the list. */
struct push_span {
	uint32_t at, n;
};

struct push {
	struct buf list; /* owned: the lines so far, ids in lower case */
	size_t at;	 /* bytes of it that were read */
	enum push_state state;
	unsigned caps;		/* bits of enum push_cap */
	struct push_span agent; /* its value, if PUSH_AGENT */
	size_t n_id;		/* digits of an id: 40, 64; 0: none seen */
	bool wants_pack;	/* some command does not delete */
	bool has_shallow;
	struct push_line {
		struct push_span old_id, new_id, ref;
	} * commands; /* owned */
	size_t n_commands, room;
	struct push_span *options; /* owned */
	size_t n_options;
};

void push_init(struct push *p);
void push_release(struct push *p);

/*
 * Read on.
 *
 * in	what has arrived since; borrowed
 * used	set: bytes of it that are of the list, all of them unless PARSE_DONE
 * fail	set on PARSE_BAD: git.malformed, limit.bytes, or internal if there is no
 *	memory; `at` counts from the start of the body
 *
 * PARSE_MORE: it may become a list, or is a probe so far.  PARSE_DONE: whole.
 * After PARSE_BAD do not call again.
 */
MUST_USE enum parse push_take(struct push *p, struct slice in, size_t *used,
    struct parse_fail *fail);

/*
 * The body has ended behind what was taken.  PARSE_DONE: it is a probe, which
 * asks for nothing; or the list is whole and wants no pack.  Else PARSE_BAD.
 */
MUST_USE enum parse push_end(struct push *p, struct parse_fail *fail);

/* Is it a probe?  After push_end(). */
bool push_is_probe(const struct push *p);

/* The `i`th command; valid as long as `p`, once the list is whole. */
struct git_command push_command(const struct push *p, size_t i);

/* The `i`th push option, likewise. */
struct slice push_option(const struct push *p, size_t i);

/*
 * Can a refusal be told?  Without a report capability git shows a success
 * whatever is answered, so that only an HTTP error is honest.
 */
bool push_can_report(const struct push *p);

/*
 * Write the list anew: shallow lines, commands in the same order, capabilities
 * of our list in its order, the flush, options and theirs.  False if `out` could
 * not take it.
 */
MUST_USE bool push_write(const struct push *p, struct buf *out);

#endif
