/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the host still where it was?  The kernel says when an address comes or
 * goes (rtnetlink(7)); of what it says only that counts, and the addresses are
 * read anew.  Link-local ones come and go with each virtual link, and no name is
 * resolved over them: they do not count.
 *
 * What may be dialled does not rest on this: dial/own.h is read for each dial.
 */
#ifndef DIAL_NETWORK_H
#define DIAL_NETWORK_H

#include "base/attr.h"
#include "base/err.h"
#include "net/loop.h"

struct network;

typedef void network_on_change(void *arg);

/* NULL with ERR_SYSTEM or ERR_MEMORY. */
MUST_USE struct network *network_new(struct loop *l,
    network_on_change *on_change, void *arg, enum err *err);
void network_free(struct network *n);

#endif
