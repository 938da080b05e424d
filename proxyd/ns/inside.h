/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner half of ns/pid1.h: what the sandbox's first process does.
 *
 * The command may have its uid, so it must not be able to look into it or to
 * steer it: not dumpable, no capability once the command runs, deaf to every
 * signal, nothing read but the monitor's requests.  When the command has ended
 * it kills what is left, and only then looks at the files it left behind; what
 * it reads there is hostile, and a process that fell to it would be where the
 * command was.
 */
#ifndef NS_INSIDE_H
#define NS_INSIDE_H

#include <stdint.h>

#include "ns/pid1.h"

/* What it tells: the kind, and what belongs to it. */
struct inside_packet {
	enum pid1_kind kind;
	int32_t number;
	struct fail fail;
};

/* What it is told. */
enum inside_op {
	INSIDE_GO,	   /* begin; the first one */
	INSIDE_SIGNAL,	   /* `number` to the command's group, or KILL to all */
	INSIDE_FOREGROUND, /* the terminal to the command's group, and CONT */
};

struct inside_request {
	enum inside_op op;
	int32_t number;
};

struct inside_config {
	const struct pid1_config *pid1;
	struct view_given given; /* for the view */
	const char *host_path;	 /* the command's, or NULL */
	int channel;
};

/* Its whole life; it is process 1 already, and in all its namespaces. */
NORETURN void inside_run(const struct inside_config *config);

#endif
