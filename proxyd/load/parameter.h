/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of a policy: typed values that stand for whole elements of a
 * pattern, and nothing else.
 *
 * A value is checked by its type before anything is made of it.  No type has a
 * character that means something in a pattern (`*`, `%`, `?`, `#`, `{`), so a
 * value can name one thing and never widen a rule.  Patterns are divided into
 * their parts before values are put in: a value cannot end a part either.
 */
#ifndef LOAD_PARAMETER_H
#define LOAD_PARAMETER_H

#include "load/load.h"
#include "load/read.h"

enum parameter_type {
	PARAMETER_SEGMENT,    /* one segment of a path */
	PARAMETER_REPOSITORY, /* OWNER/NAME */
	PARAMETER_REF,	      /* a branch or tag */
	PARAMETER_HOST,	      /* an exact name */
	PARAMETER_NAME,	      /* built in: a sandbox's or tenant's name */
	PARAMETER_TYPES,
};

#define PARAMETER_BIT(type) (1U << (type))

struct load_parameter {
	struct load_at at; /* where it is declared; line 0: built in */
	struct slice name;
	enum parameter_type type;
	struct slice value; /* canonical */
	bool has_value;
	bool bad;  /* that it is was said: no more of it */
	bool used; /* by a rule */
};

struct load_parameters {
	struct load_parameter *list;
	uint32_t n;
};

/* The value in its canonical form; else why not, in a few words. */
MUST_USE bool parameter_value(enum parameter_type type, struct slice text,
    struct arena *a, struct slice *value, const char **expected);

/*
 * Read `parameters:` of a policy; NULL: it has none.  The built-in ones are
 * there as well: the sandbox's name is what `policy` makes of it.
 */
bool parameters_read(const struct read *r, const struct load_policy_in *in,
    const struct doc_node *node, struct slice policy,
    struct load_parameters *out);

/* Is there one of that name, built in or declared? */
bool parameters_has(const struct load_parameters *p, struct slice name);

/* Give a value, from the command line or an include.  False: a complaint. */
bool parameters_set(const struct read *r, struct load_parameters *p,
    const struct load_set *set, struct load_at at);

/*
 * Complain of each that has no value; false if there is one.
 *
 * where   a value can be given, for the complaint; empty: on the command line;
 *	   NULL: only look
 */
bool parameters_are_set(const struct read *r, const struct load_parameters *p,
    const char *where);

/* Warn of those that no rule used. */
void parameters_warn_unused(const struct read *r,
    const struct load_parameters *p);

/*
 * Put values into a URL pattern, where they may be a whole host or whole
 * segments of the path; into a path alone; or into a value that is one
 * parameter as a whole.
 * `text` becomes what it stands for.  False: a complaint at `node`.
 */
bool parameter_pattern(const struct read *r, const struct doc_node *node,
    struct slice *text);
bool parameter_path(const struct read *r, const struct doc_node *node,
    struct slice *text);
bool parameter_whole(const struct read *r, const struct doc_node *node,
    struct slice *text);

#endif
