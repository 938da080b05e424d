/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose a message is: the head that DIAL, TELL, LEAF and RELEASE begin with.
 * Whoever is asked compares it with the program that it holds itself, so that
 * nobody decides by one policy what another one asked for.
 * Pure.
 */
#ifndef PRIV_WHO_H
#define PRIV_WHO_H

#include "base/attr.h"
#include "base/rd.h"
#include "base/wr.h"

#define WHO_DIGEST_MAX 80 /* bytes of "sha256:" and its digits */
#define WHO_FLOW_MAX 64	  /* bytes of a flow's id */
#define WHO_SIZE_MAX (4 + 4 + 1 + WHO_DIGEST_MAX + 1 + WHO_FLOW_MAX)

struct who {
	uint32_t sandbox, generation;
	struct slice digest; /* of the program, "sha256:…" */
	struct slice flow;   /* printable, without blanks */
};

void who_write(struct wr *w, const struct who *who);

/* False: nobody of ours wrote it.  The slices point into what `r` reads. */
MUST_USE bool who_read(struct rd *r, struct who *who);

enum who_match {
	WHO_SAME,
	WHO_OTHER_GENERATION, /* it happens when a policy changes */
	WHO_OTHER_DIGEST,     /* never: one generation has one program */
};

/* Against the program in force, of the same sandbox. */
enum who_match who_compare(const struct who *who, uint32_t generation,
    struct slice digest);

#endif
