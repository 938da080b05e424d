/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML text to a tree of plain mappings, lists and scalars, each with its
 * place.
 *
 * Over libyaml's events, never its documents (those take quadratic time and
 * follow aliases).  Refused before anything is built of it: anchors, aliases,
 * tags, directives, duplicate keys, a second document, UTF-16, NUL, NEL and the
 * other line breaks that YAML 1.1 has beside CR and LF, controls in scalars,
 * depth and size over the limits.  A scalar has no type: it is what its key
 * says.
 */
#ifndef LOAD_DOC_H
#define LOAD_DOC_H

#include "load/arena.h"
#include "load/report.h"

#define DOC_NODES_MAX 4000000 /* scalars, lists and mappings of one file */

enum doc_kind {
	DOC_SCALAR,
	DOC_LIST,
	DOC_MAPPING,
};

struct doc_node {
	enum doc_kind kind;
	bool quoted;		/* scalar in quotes or block style */
	uint32_t line, column;	/* from 1 */
	uint32_t n;		/* children */
	struct slice text;	/* scalar; UTF-8 without controls */
	struct doc_node *first; /* child: list items, or keys of a mapping */
	struct doc_node *next;	/* sibling */
	struct doc_node *value; /* of a key */
};

/*
 * Parse the text of one file.  The tree lives in `a`.  NULL, with one error in
 * `r`, if it is not such a file; `file` is its name for messages.
 */
struct doc_node *doc_parse(struct slice text, struct slice file,
    struct arena *a, struct load_report *r);

#endif
