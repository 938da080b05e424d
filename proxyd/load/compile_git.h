/* SPDX-License-Identifier: Apache-2.0 */
/* What a rule of git+https is in the image.  For load/compile alone. */
#ifndef LOAD_COMPILE_GIT_H
#define LOAD_COMPILE_GIT_H

#include "load/build.h"
#include "load/rule.h"

/* The record that it is in; NULL: IMAGE_NONE. */
uint32_t compile_git(struct build *b, const struct load_git *git);

#endif
