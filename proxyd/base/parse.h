/* SPDX-License-Identifier: Apache-2.0 */
/* What a parser of peer bytes answers.  See docs/style for the contract. */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stddef.h>

#include "base/reason.h"

enum parse {
	PARSE_MORE, /* well-formed so far, ends too early: call again */
	PARSE_DONE, /* one element taken */
	PARSE_BAD,  /* can never become valid: see struct parse_fail */
};

struct parse_fail {
	enum reason reason; /* for the verdict and the audit record */
	const char *detail; /* for people and tests; a literal, a few words */
	size_t at;	    /* offset of the offending byte in the input */
};

#endif
