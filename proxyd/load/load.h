/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files to images: the whole of this room in two calls.  For the clerk, and
 * for `check` and `explain`, which are the same code.
 *
 * Nothing is opened here but through the caller's function, and nothing is
 * ever run.
 */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

#include "base/buf.h"
#include "load/report.h"
#include "policy/image.h"
#include "policy/owner.h"

struct load_file {
	struct slice name;  /* for messages */
	struct slice dir;   /* absolute; relative paths in it count from here */
	struct slice bytes; /* what is in it */
};

/* A value of the command line: `--set KEY=VALUE`. */
struct load_set {
	struct slice key, value;
};

/* A rule that `duenna allow` adds: "added-NUMBER". */
struct load_added {
	uint32_t number;
	struct slice url;
	uint64_t expires_s;
};

/* What the names of our own policies begin with. */
#define LOAD_PRESET SLICE("preset/")

/* A file that a policy includes. */
struct load_included {
	struct slice bytes; /* stay until load_policy() returns */
	uint32_t number;    /* of the file, the same whenever it is included */
};

struct load_policy_in {
	struct load_file file;
	bool preset; /* file.name is LOAD_PRESET and a name, no more is set */
	struct slice policy; /* which one; empty: the only one in the file */
	uint64_t now_s;	     /* for warnings of `expires`; 0: none */
	bool report;	     /* `run --report`: see policies/README.md */
	bool any; /* `check`: look at all of them; the image is the first's */
	/*
	 * The file lies below the owner's own configuration directory:
	 * `addresses:` and literal hosts need no `private:`.
	 */
	bool trusted;
	const struct load_set *sets; /* borrowed */
	size_t n_sets;
	const struct load_added *added; /* borrowed */
	size_t n_added;
	struct slice sandbox; /* its name; empty: of the policy and `digits` */
	struct slice digits;  /* four; empty: 0000 */
	struct slice tenant;  /* empty: "default" */
	const struct owner *owner; /* borrowed; NULL: no configuration */
	/*
	 * It could not be read, and that has been said: what a policy names of
	 * it is passed over with one warning, and there is no image.
	 */
	bool owner_failed;
	bool *
	    used; /* set for each of its credentials that a rule has; or NULL */
	uint8_t key[IMAGE_KEY_SIZE]; /* of the synthetic addresses */
	/*
	 * Open what file `from` includes (0 is the policy itself) under a
	 * hostile name.  NULL, or why not, in a few words.  May be NULL.
	 */
	const char *(*include)(void *ctx, uint32_t from, struct slice path,
	    struct load_included *out);
	void *ctx;
};

/*
 * Compile one policy.  All policies of the file are read and checked; the
 * image is that of the one asked for.
 *
 * image   initialised by the caller; the program is put into it
 *
 * True if there was no error; warnings may be there all the same.
 */
MUST_USE bool load_policy(const struct load_policy_in *in, struct buf *image,
    struct load_report *report);

struct load_owner_in {
	const struct load_file *files;
	size_t n_files;
	struct slice home;  /* absolute, for `~/`; empty: `~/` is an error */
	struct slice roots; /* the system's bundle, PEM */
	/*
	 * Read the file at an absolute path (`roots:`, `ca:`) and append it to
	 * `out`.  NULL, or why not, in a few words, which stay until the next.
	 */
	const char *(*open)(void *ctx, struct slice path, struct buf *out);
	void *ctx;
};

/*
 * Compile the owner's configuration, all its files together.  A file that has
 * `version` and `policies` only is a policy file beside them: passed over.
 */
MUST_USE bool load_owner(const struct load_owner_in *in, struct buf *image,
    struct load_report *report);

/*
 * Read an open file into `bytes`, as far as the limits allow.
 *
 * owned   it is of the owner's configuration: a regular file of the caller or
 *	   root that nobody else can read or write
 *
 * False, with an error in `report` at the beginning of the file, if it cannot
 * be read or must not be used.
 */
MUST_USE bool load_read_file(int fd, struct slice name, bool owned,
    struct buf *bytes, struct load_report *report);

/* The folder of an absolute path: what stands before its last slash. */
struct slice load_dir_of(struct slice path);

#endif
