/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command of a push, as policy judges it and a record holds it.  Nothing on
 * the wire says "force": whether an update is one is shown by the pack.
 */
#ifndef POLICY_COMMAND_H
#define POLICY_COMMAND_H

#include "base/slice.h"

enum command_kind {
	COMMAND_CREATE, /* the old id is zero */
	COMMAND_UPDATE, /* neither is */
	COMMAND_DELETE, /* the new id is zero, whatever the old one is */
	COMMAND_KINDS
};

struct command {
	enum command_kind kind;
	struct slice ref;	     /* as sent, without the LF; not empty */
	struct slice old_id, new_id; /* 40 or 64 hex digits in lower case */
};

#endif
