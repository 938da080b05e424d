/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes of before and of the configuration come, then the control socket is
 * opened. */
#ifndef SERVE_RESTORE_H
#define SERVE_RESTORE_H

#include "serve/state.h"

void restore_begin(struct serve *s);

/* Attach those of `sandboxes:` that are not there. */
void restore_configured(struct serve *s);

/* It is back, or going: no matter for those that never were away. */
void restore_lost(struct box *b);

/* It cannot come back, which is said here. */
void restore_failed(struct box *b, const char *why);

/* Is the open namespace that of before?  True for a sandbox that is new. */
MUST_USE bool restore_is_there(struct box *b, struct fail *why);

#endif
