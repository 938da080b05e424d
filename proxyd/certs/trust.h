/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trust kit: the files below /etc and the variables by which the programs
 * of a sandbox trust its CA beside the public roots.  Files for what reads the
 * system's store (wget, git, Go, curl, browsers), variables for what brings
 * its own (Node, Deno, requests, pip, Java); docs/tls.md has the table.
 */
#ifndef CERTS_TRUST_H
#define CERTS_TRUST_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define TRUST_BUNDLE "/etc/ssl/certs/ca-certificates.crt" /* roots and ours */
#define TRUST_CA "/etc/duenna/ca.pem"			  /* ours alone */
#define TRUST_JKS "/etc/duenna/cacerts.jks"		  /* as the bundle */

#define TRUST_FILES_MAX 12
#define TRUST_CAS_MAX 2
#define TRUST_PATH_MAX 64

struct trust_file {
	char path[TRUST_PATH_MAX]; /* absolute, inside the sandbox */
	struct buf bytes;	   /* owned */
};

struct trust {
	struct trust_file files[TRUST_FILES_MAX];
	size_t n_files;
};

/*
 * Make the files.  The managed policies of this host's browsers are read, and
 * are a part of them.
 *
 * cas	   what signs, and what will sign after it: 1 to TRUST_CAS_MAX, DER
 * roots   the public roots, DER
 *
 * 0, or -1 with ERR_INTEGRITY (one of `cas` is no certificate) or ERR_MEMORY.
 */
MUST_USE int trust_init(struct trust *t, const struct slice *cas, size_t n_cas,
    const struct slice *roots, size_t n_roots, enum err *err);
void trust_release(struct trust *t);

/*
 * The variables, for the environment of the sandbox's first process.  One that
 * the owner's `environment:` or `--env` sets keeps its value.
 */
struct trust_variable {
	const char *name, *value;
	const char *joins; /* or NULL.  A list of options: ours is put behind
			      the owner's, unless this stands in it */
};

const struct trust_variable *trust_variables(size_t *n);

#endif
