/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policies that this tree has in policies/, which are part of the program:
 * there is no folder that they could be missing from, or that somebody else
 * could write.
 */
#ifndef LOAD_PRESET_H
#define LOAD_PRESET_H

#include "base/buf.h"

/* The text of a preset. */
MUST_USE bool preset_find(struct slice name, struct slice *text);

/* Say that there is none of that name, and which there are. */
void preset_put_unknown(struct slice name, struct buf *out);

/* The `i`th name, or NULL. */
const char *preset_name(size_t i);

#endif
