/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What program.h and owner.h keep closed.  For policy/, and for load/, which
 * writes the images and reads the owner's.
 */
#ifndef POLICY_INSIDE_H
#define POLICY_INSIDE_H

#include "base/attr.h"
#include "base/err.h"
#include "policy/image.h"
#include "policy/program.h"

extern const struct image_form inside_program, inside_owner;

struct program {
	struct image image;
	unsigned refs;
	bool expires; /* some rule does */
	void
	    *map; /* owned mapping of image.bytes.n bytes; NULL: the caller's */
};

struct owner {
	struct image image;
	void *map;
};

/*
 * Map a sealed memfd, read-only.  NULL, with ERR_INTEGRITY if it is not sealed
 * or of no possible size, else ERR_SYSTEM.
 */
MUST_USE void *inside_map(int fd, size_t *size, enum err *err);

/* A record that begins with the words of enum credential_word. */
struct program_credential inside_credential(const struct image *m,
    unsigned table, uint32_t i);

/* Does prefix `i` of `table` hold `ip`? */
bool inside_prefix_has(const struct image *m, unsigned table, uint32_t i,
    const struct ip *ip);

#endif
