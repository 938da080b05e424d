/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side doors of a repository: requests to a forge's REST or GraphQL API that
 * move a branch or a tag, merge, change contents, or make another way to do so.
 * A rule for branches would be void if they went by a rule of https.
 *
 * A repository may be named there in other spellings: by a number, which nobody
 * can compare, and so stands for every repository of that forge.
 *
 * Source: the forges' own documentation of their APIs.
 * Pure.
 */
#ifndef POLICY_GITAPI_H
#define POLICY_GITAPI_H

#include "policy/facts.h"
#include "policy/image.h"

struct gitapi {
	struct slice repository; /* "/OWNER/NAME", perhaps with `%2F` for the
				    slash; empty: any of the forge */
	struct slice segment; /* of the path: a rule with it, literally, opens
				 the route; empty: one without stars does */
	struct slice behind;  /* the repository, and a slash */
	enum git_forge forge;
};

/*
 * Is it such a request?
 *
 * host  of the git rule, such as "github.com"
 * api   of the request; with github.com that is "api.github.com"
 */
bool gitapi_read(enum git_forge forge, struct slice host, struct slice api,
    struct slice method, struct slice path, struct gitapi *g);

/*
 * Does such a request delete one ref, which stands in its path?  Then its full
 * name is in `ref`, and in `room`, which has LIMIT_PATH_SIZE bytes.  All else
 * that writes says in a body what it does.
 */
bool gitapi_deletes(const struct gitapi *g, const struct facts *f,
    uint8_t *room, struct slice *ref);

/* A method that changes nothing: no door, whatever the path. */
bool gitapi_only_reads(struct slice method);

/* The host of the repositories of an API's host: itself, or another. */
struct slice gitapi_host(struct slice api);

/* Does a compiled pattern of a path have the segment, or no star at all? */
bool gitapi_is_opened(struct slice pattern, struct slice segment);

/* Does a compiled pattern open any route of any forge?  For load/. */
bool gitapi_is_door(struct slice pattern);

#endif
