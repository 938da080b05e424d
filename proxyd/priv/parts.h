/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small texts of a request, as people write them: in JSON, on the command line
 * and in the configuration alike.
 * Pure.
 */
#ifndef PRIV_PARTS_H
#define PRIV_PARTS_H

#include "priv/control.h"

/* "192.0.2.1/24", "2001:db8::1"; without bits, one address alone. */
MUST_USE bool parts_address(struct slice text, struct control_address *out);

/* "02:00:00:00:00:01" */
MUST_USE bool parts_mac(struct slice text, uint8_t mac[6]);

/* "90", "90s", "15m", "2h", "7d"; 1 to CONTROL_ALLOW_S_MAX. */
MUST_USE bool parts_seconds(struct slice text, uint32_t *seconds);

#endif
