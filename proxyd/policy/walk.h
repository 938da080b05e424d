/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules that could speak about a name, in the order of the file, and how
 * far each gets.  Inside policy/ only.
 * Pure.
 */
#ifndef POLICY_WALK_H
#define POLICY_WALK_H

#include "policy/facts.h"
#include "policy/gitapi.h"
#include "policy/hostset.h"
#include "wire/gitpath.h"

/* How far a rule came: what it stumbled over is the next one. */
enum progress {
	PROGRESS_NONE, /* no rule for the host */
	PROGRESS_HOST,
	PROGRESS_PORT,
	PROGRESS_SCHEME,
	PROGRESS_PATH,
	PROGRESS_METHOD,
	PROGRESS_QUERY, /* all of it fits, and is a side door of a repository */
	PROGRESS_ALL,
};

/* The routes of several patterns, merged. */
struct walk {
	const struct image *m;
	const struct facts *f; /* borrowed; NULL: nothing can have expired */
	uint32_t n;
	bool plain; /* one list, of which all counts: as of most names */
	struct {
		uint32_t at, end; /* in TABLE_LISTS */
		bool deny_only;
	} lists[HOSTSET_MATCHES_MAX];
};

/*
 * All routes.  Without those that have expired at the time of `f`; NULL: with
 * them.  For people's questions: the number of rules has no limit that is
 * small.
 */
void walk_init(struct walk *w, const struct image *m,
    const struct host_matches *found, const struct facts *f);

/* The heads of them (policy/heads.h): enough for what no path decides. */
void walk_init_heads(struct walk *w, const struct image *m,
    const struct host_matches *found, const struct facts *f);

/* Those of one rule. */
void walk_init_rule(struct walk *w, const struct image *m,
    const struct host_matches *found, const struct facts *f, uint32_t rule);

/* The next route, or IMAGE_NONE.  Those that cannot count are left out. */
uint32_t walk_next_of_several(struct walk *w);

static inline uint32_t
walk_next(struct walk *w)
{
	if (!w->plain)
		return walk_next_of_several(w);
	return w->lists[0].at == w->lists[0].end ?
	    IMAGE_NONE :
	    image_word(w->m, TABLE_LISTS, w->lists[0].at++, 0);
}

/* Does rule `rule` not exist any more? */
bool walk_has_expired(const struct image *m, uint32_t rule, uint64_t now_s);

bool walk_is_deny(const struct image *m, uint32_t route);

/* A rule that is recorded, not enforced: all others stand before it. */
bool walk_is_report(const struct image *m, uint32_t route);

/* A deny rule for the whole of a host, port and scheme. */
bool walk_is_total(const struct image *m, uint32_t route);

/* A request of git's form, to a name and port with rules of git+https. */
struct walk_git {
	struct gitpath is;    /* service NONE: it is none */
	struct slice bare;    /* the repository without `.git` */
	struct slice lowered; /* that in lower case, for hosts that fold it */
	bool folds; /* the host is known for it, whatever a rule says */
	/* A rule of git+https names the repository: such rules, and what
	 * denies, speak about it alone, else the branch rule would be void. */
	bool named;
};

struct walk_request {
	const struct facts *facts;
	struct slice path;  /* folded */
	bool encoded_slash; /* %2F stands in the path */
	bool encoded_dots;  /* dots beside it: no allow rule matches */
	uint32_t method;    /* its bit, 0 for one that no rule can name */
	struct walk_git git;
	struct gitapi door; /* if `is_door`: policy/gitapi.h */
	bool is_door;
};

/*
 * The kind (policy/scheme.h) of all connections to that port of the name whose
 * patterns are `found`: that of the first rule, allow or deny, that fits host
 * and port, expired or not.  Rules of another kind do not speak about them.
 */
enum scheme walk_kind(const struct image *m, const struct host_matches *found,
    uint16_t port);

/*
 * How far a route comes with port and scheme alone; PROGRESS_SCHEME: with both.
 * One of ws or wss comes as far as one of the scheme below it.
 */
enum progress walk_connect(const struct image *m, uint32_t route,
    const struct facts *f);

/* How far it comes with the whole request. */
enum progress walk_request(const struct image *m, uint32_t route,
    const struct walk_request *r);

/*
 * `path` of the facts, made ready.  `folded` has room for LIMIT_PATH_SIZE; NULL
 * if there is no escape in the path.
 */
void walk_prepare(struct walk_request *r, const struct facts *f,
    uint8_t *folded);

/*
 * Likewise what `r->facts` is of git's, if the program has such rules.
 *
 * found     the patterns of its name
 * lowered   room for LIMIT_PATH_SIZE
 *
 * REASON_ALLOW, or the fault that it has.
 */
enum reason walk_prepare_git(struct walk_request *r, const struct image *m,
    const struct host_matches *found, uint8_t *lowered);

/*
 * Likewise whether it is a side door of a repository that a rule of git+https
 * names.
 *
 * found	 the patterns of its name
 * room	 LIMIT_PATH_SIZE bytes, until `r` is done with
 */
void walk_prepare_door(struct walk_request *r, const struct image *m,
    const struct host_matches *found, uint8_t *room);

#endif
