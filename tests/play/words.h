/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a script's line, off its front. */
#ifndef PLAY_WORDS_H
#define PLAY_WORDS_H

#include "base/buf.h"

/* Blanks off the front. */
void words_skip(struct slice *s);

struct slice words_take(struct slice *s);

/* The next word if it is this one. */
bool words_is(struct slice *s, const char *word);

uint64_t words_number(struct slice *s);

/* "text" with \r \n \t \xHH; or NUMBER `bytes of` CHARACTER. */
void words_text(struct slice *s, struct buf *out);

#endif
