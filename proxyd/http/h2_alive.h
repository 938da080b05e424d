/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is an upstream still there?  A connection whose peer is gone without a word
 * (a NAT that forgot it, a machine that fell) would hold its requests until
 * their idle limit, and each new one that shares it.  So while streams are open
 * and no byte moves either way, it is asked by a PING; any byte is an answer.
 */
#ifndef HTTP_H2_ALIVE_H
#define HTTP_H2_ALIVE_H

#include "http/h2.h"

/* A stream is to be opened: watch.  False: no memory. */
MUST_USE bool h2_alive_watch(struct h2_conn *c);
void h2_alive_stop(struct h2_conn *c);
void h2_alive_release(struct h2_conn *c);

#endif
