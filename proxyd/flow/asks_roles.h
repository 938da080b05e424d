/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow/asks.h over channels: dials of the dialer, leaves and credentials of the
 * keeper, records to the scribe.  Every answer is read as hostile input.
 *
 * While one of the three is away nothing is admitted: may_admit() says
 * `shutdown`, or `audit.full` where the scribe is there and cannot write.
 */
#ifndef FLOW_ASKS_ROLES_H
#define FLOW_ASKS_ROLES_H

#include "flow/asks.h"
#include "net/channel.h"
#include "policy/owner.h"
#include "record/recorder.h"
#include "tls/ctx.h"
#include "tls/leaf.h"

struct asks_roles {
	struct loop *loop;	   /* borrowed, as all of these */
	struct channel *dialer;	   /* NULL: away */
	struct channel *keeper;	   /* NULL: away */
	struct channel *monitor;   /* as long as the process */
	struct recorder *recorder; /* NULL until there is one */
	struct ctx_server *server;
	struct ctx_client *client; /* NULL until the roots are known */
	const struct owner *owner; /* NULL until it is known */
};

extern const struct asks asks_roles; /* `arg` is a struct asks_roles */

#endif
