/* SPDX-License-Identifier: Apache-2.0 */
/* Which capabilities of a server go on.  For git/advert alone. */
#ifndef GIT_ADVERT_CAPS_H
#define GIT_ADVERT_CAPS_H

#include "git/advert.h"

/* Those of `text`, words with blanks between, that our lists have. */
void advert_put_caps(const struct advert *a, struct slice text,
    struct buf *out);

/* A line of version 2, `key` or `key=value`; nothing if it does not go on. */
void advert_put_v2(struct slice text, struct buf *out);

#endif
