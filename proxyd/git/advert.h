/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server answers to `info/refs`, as it passes: its refs and what it can
 * do.  Capabilities that we could not judge are taken out, so that git itself
 * says that the server lacks them; of the refs none is, unless the rule says so.
 * `delete-refs` stays: without it git gives a deletion up and does not say why.
 *
 *	v0, v1 = PKT("# service=git-X-pack" LF) flush [ PKT("version 1" LF) ] refs
 *	refs   = PKT(id SP name NUL caps LF) *PKT(id SP name LF)
 *		 *PKT("shallow" SP id LF) flush
 *	v2     = [ PKT("# service=git-upload-pack" LF) flush ]
 *		 PKT("version 2" LF) *PKT(key [ "=" value ] LF) flush
 *
 * A push has no version 2.  Instead of either an `ERR` packet may come, which
 * is passed on as text for people.
 *
 * Source: gitprotocol-http(5), gitprotocol-pack(5), gitprotocol-v2(5).
 * No I/O.  One line is kept, at most PKTLINE_MAX bytes.
 */
#ifndef GIT_ADVERT_H
#define GIT_ADVERT_H

#include "git/lines.h"
#include "policy/git.h"

enum advert_state {
	ADVERT_SERVICE, /* its first line */
	ADVERT_GAP,	/* the flush behind the service */
	ADVERT_FIRST,	/* the version, or the first ref with capabilities */
	ADVERT_REFS,	/* further refs */
	ADVERT_SHALLOW, /* ids that it has without their parents */
	ADVERT_V2,	/* capabilities of version 2 */
	ADVERT_ERROR,	/* it said what is wrong: a flush may follow */
	ADVERT_WHOLE,	/* nothing may follow */
};

struct advert {
	struct lines lines;
	enum advert_state state;
	bool push;		 /* of git-receive-pack */
	const struct program *p; /* borrowed, as long as this */
	uint32_t rule;		 /* that allowed the request */
	struct git_rule says;	 /* what that has */
	uint64_t n;		 /* bytes that came */
	size_t n_id;		 /* digits of an id; 0: none seen */
	bool is_v1;
};

/* `rule` is one of git+https; `push`: git-receive-pack was asked for. */
void advert_init(struct advert *a, const struct program *p, uint32_t rule,
    bool push);
void advert_release(struct advert *a);

/*
 * Take all of `in`, and put what goes on into `out`: hardly more than came.
 *
 * PARSE_MORE until the last flush, then PARSE_DONE.  PARSE_BAD: up.response for
 * what no server of git's says, limit.bytes, internal.
 */
MUST_USE enum parse advert_take(struct advert *a, struct slice in,
    struct buf *out, struct parse_fail *fail);

/* Bytes that it holds: of a line that is not whole. */
size_t advert_held(const struct advert *a);

/* The answer has ended: PARSE_DONE if it is whole. */
MUST_USE enum parse advert_end(const struct advert *a, struct parse_fail *fail);

#endif
