/* SPDX-License-Identifier: Apache-2.0 */
/*
 * THE table of the control socket's paths.  docs/openapi.yaml has the same
 * rows; a test compares.
 * Pure.
 */
#ifndef CONTROL_ROUTE_H
#define CONTROL_ROUTE_H

#include "priv/control.h"
#include "priv/control_answer.h"

struct route {
	const char *method;
	const char *path; /* `{name}` stands for a sandbox's */
	enum control_verb verb;
	bool has_body;	  /* JSON is expected */
	const char *type; /* of the content of an answer that is no problem */
};

/* Row `i`, or NULL behind the last. */
const struct route *route_at(size_t i);

/*
 * The row for a request; NULL, and in *code why not.
 *
 * name	 set where the path has one; lies in `path`
 */
const struct route *route_find(struct slice method, struct slice path,
    struct slice *name, enum control_code *code);

#define ROUTE_ALLOW_SIZE 64

/* The methods of a path, "GET, PUT": the field Allow (RFC 9110 10.2.1). */
void route_allow(struct slice path, char allow[ROUTE_ALLOW_SIZE]);

#endif
