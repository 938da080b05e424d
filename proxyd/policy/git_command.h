/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command of a push, as policy judges it and a record holds it.  Nothing on
 * the wire says "force": whether an update is one is shown by the pack.
 */
#ifndef POLICY_GIT_COMMAND_H
#define POLICY_GIT_COMMAND_H

#include "base/slice.h"

enum git_command_kind {
	GIT_COMMAND_CREATE, /* the old id is zero */
	GIT_COMMAND_UPDATE, /* neither is */
	GIT_COMMAND_DELETE, /* the new id is zero, whatever the old one is */
	GIT_COMMAND_KINDS
};

struct git_command {
	enum git_command_kind kind;
	struct slice ref;	     /* as sent, without the LF; not empty */
	struct slice old_id, new_id; /* 40 or 64 hex digits in lower case */
};

#endif
