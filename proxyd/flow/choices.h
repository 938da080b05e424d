/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What origins chose by ALPN, as a sandbox remembers it: a client that offers
 * the same for the same name and port is given the same without a dial.
 *
 * LIMIT_CHOICES of them for LIMIT_CHOICE_MS; the oldest goes first.
 */
#ifndef FLOW_CHOICES_H
#define FLOW_CHOICES_H

#include <sys/queue.h>

#include "base/attr.h"
#include "wire/alpn.h"
#include "wire/host.h"

struct choices {
	TAILQ_HEAD(choice_list, choice) all; /* owned; the newest comes first */
	size_t n;
};

void choices_init(struct choices *c);
void choices_release(struct choices *c);

/* False: nothing is remembered. */
MUST_USE bool choices_find(struct choices *c, const struct host *host,
    uint16_t port, enum alpn_offer offer, enum alpn *chosen);

/* Remember, or remember anew; without memory nothing is. */
void choices_put(struct choices *c, const struct host *host, uint16_t port,
    enum alpn_offer offer, enum alpn chosen);

/*
 * Its SETTINGS say whether an origin of HTTP/2 takes WebSockets (RFC 8441 3):
 * remembered with what it chose.
 */
void choices_note_connect(struct choices *c, const struct host *host,
    uint16_t port, bool may_connect);
MUST_USE bool choices_may_connect(struct choices *c, const struct host *host,
    uint16_t port);

/* The origin has changed its mind: forget what it chose for whatever offer. */
void choices_forget(struct choices *c, const struct host *host, uint16_t port);

#endif
