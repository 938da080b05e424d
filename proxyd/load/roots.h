/* SPDX-License-Identifier: Apache-2.0 */
/* A bundle of certificates: PEM (RFC 7468) to DER. */
#ifndef LOAD_ROOTS_H
#define LOAD_ROOTS_H

#include "load/arena.h"

/*
 * Take the next certificate off the front of `pem`; blocks of other labels and
 * text between blocks are passed over.
 *
 * der	 in the arena
 * bad	 set to a literal if a block is no certificate: it was passed over
 *
 * False at the end.
 */
bool roots_take(struct arena *a, struct slice *pem, struct slice *der,
    const char **bad);

#endif
