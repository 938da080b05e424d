/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox that comes by a proxy: its listener takes the place of a namespace.
 * What is kept of its token is the digest alone.
 */
#ifndef SERVE_ENTRY_H
#define SERVE_ENTRY_H

#include "serve/state.h"

/* What is wrong with its way in by a proxy; NULL: nothing. */
const char *entry_check(const struct control_attach *asked);
/* Its listener: made, handed to the worker, taken back. */
MUST_USE bool entry_open(struct box *b, struct fail *why);
void entry_feed(struct box *b);
void entry_close(struct box *b);

#endif
