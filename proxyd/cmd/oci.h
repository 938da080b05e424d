/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an OCI runtime tells its hooks of a container (runtime-spec 1.0,
 * runtime.md, State), as far as an attach needs it.  Who starts the container
 * wrote the annotations:
 *
 *	duenna.policy		which of the owner's policies
 *	duenna.tenant
 *	duenna.name		else the container's own
 *	duenna.set.KEY		a parameter of the policy
 *	duenna.label.KEY
 *
 * What is not ours is passed over; another annotation `duenna.` is an error: it
 * would be meant, and do nothing.
 */
#ifndef CMD_OCI_H
#define CMD_OCI_H

#include "base/attr.h"
#include "priv/control.h"

struct oci {
	struct json_t *root; /* owned */
	char name[CONTROL_NAME_MAX + 1];
	char pid[12];		     /* digits */
	const char *policy, *tenant; /* of `root`; NULL: not said */
	size_t n_sets, n_labels;
	char *sets[CONTROL_SETS_MAX];	  /* owned; "KEY=VALUE" */
	char *labels[CONTROL_LABELS_MAX]; /* owned; the same */
	char why[256];			  /* what is wrong, for people */
};

/* -1: `why` says what was expected.  oci_release() in any case. */
MUST_USE int oci_read(struct slice text, struct oci *out);
void oci_release(struct oci *o);

#endif
