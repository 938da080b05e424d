/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities behind a push's first command.  For git/push alone. */
#ifndef GIT_PUSH_CAPS_H
#define GIT_PUSH_CAPS_H

#include "git/push.h"

/*
 * Read them into `p`: words with blanks between, in any order, each of those
 * that we know at most once.
 *
 * at	where `text` stands in the list
 */
MUST_USE enum parse push_caps_read(struct push *p, struct slice text, size_t at,
    struct parse_fail *fail);

/* Write those of our list, a blank before each. */
void push_caps_write(const struct push *p, struct buf *out);

#endif
