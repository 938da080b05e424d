/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a request one of git's smart HTTP, of which repository, for which service?
 *
 * Found in the canonical path, the method and the query, which has to be one of
 * two, byte for byte: servers that see `service` twice take the last one.
 *
 * Source: gitprotocol-http(5); the LFS API's "server discovery".
 * Pure.
 */
#ifndef WIRE_GITPATH_H
#define WIRE_GITPATH_H

#include "base/attr.h"
#include "base/parse.h"
#include "base/slice.h"

enum gitpath_service {
	GITPATH_NONE,	 /* nothing of git's */
	GITPATH_FETCH,	 /* git-upload-pack */
	GITPATH_PUSH,	 /* git-receive-pack */
	GITPATH_ARCHIVE, /* git-upload-archive */
	GITPATH_LFS,	 /* below info/lfs/, and gitlab-lfs/ of a `.git` */
	/* Below a repository, and none of those: the dumb protocol, WebDAV, a
	 * wrong method or query, another spelling of a service. */
	GITPATH_OTHER,
	GITPATH_SERVICES
};

/* What of LFS; all else there, such as locks, is none of these. */
enum gitpath_lfs {
	GITPATH_LFS_OTHER,
	GITPATH_LFS_BATCH,    /* POST objects/batch: its body says which way */
	GITPATH_LFS_DOWNLOAD, /* GET of an object */
	GITPATH_LFS_UPLOAD,   /* PUT of one */
	GITPATH_LFS_VERIFY,   /* POST: has it come? */
	GITPATH_LFS_KINDS
};

struct gitpath {
	enum gitpath_service service;
	enum gitpath_lfs lfs; /* of service LFS */
	bool discover;	      /* `info/refs` of it */
	/* As in the path, such as "/acme/app.git"; not empty but if NONE. */
	struct slice repository;
};

/*
 * Read a request's method, canonical path (wire/urlpath.h) and raw query.
 *
 * PARSE_DONE: `g` is set, its slices point into `path`.  PARSE_BAD: of git's
 * form, with an escape or a parameter in the repository, which servers decode,
 * cut off, or take as it is; reason http.path_invalid.
 */
struct gitpath_request {
	struct slice method, path;
	bool has_query;
	struct slice query; /* behind the `?` */
};
MUST_USE enum parse gitpath_read(const struct gitpath_request *r,
    struct gitpath *g, struct parse_fail *fail);

/* Is it one of the two queries that git sends, byte for byte? */
bool gitpath_is_query(struct slice query);

/*
 * The repository without a final `.git`, `/.git` or `.git/.git`, in letters of
 * either case: git's own server looks for each of them.
 */
struct slice gitpath_bare(struct slice repository);

#endif
