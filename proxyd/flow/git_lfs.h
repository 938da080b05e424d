/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of LFS that a rule of git+https allows: its question goes up as it was
 * read, if the rule has that direction; its answer comes down without tokens
 * (git/lfs.h).  What moves the objects themselves are requests of their own.
 */
#ifndef FLOW_GIT_LFS_H
#define FLOW_GIT_LFS_H

#include "base/attr.h"
#include "base/parse.h"
#include "base/slice.h"

struct git_lfs;
struct request;

bool git_lfs_is_batch(const struct request *r);

/*
 * Could its body be read at all?  REASON_ALLOW, or why not, and *detail.  For
 * what is no batch there is nothing to say.
 */
enum reason git_lfs_check(struct request *r, const char **detail);

/* It is allowed: its body is read before there is an upstream.  False: no
 * memory. */
MUST_USE bool git_lfs_prepare(struct request *r);
void git_lfs_free(struct git_lfs *l);

/* Of those with r->lfs: `read` and `feed` of http/exchange_ops.h. */
void git_lfs_read(struct request *r);
enum parse git_lfs_feed(struct request *r, size_t room, struct slice *out);

/* Its answer's head: read the body on its way down.  Why not, or NULL. */
const char *git_lfs_answered(struct request *r);

#endif
