/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the keeper keeps beyond its own life.
 *
 * The CA of the run: in a memfd that the monitor holds for it, so that a keeper
 * that was started anew signs with the same key.  "DUENNAK1", then certificate
 * and key (DER), each behind its length in two bytes.
 *
 * The machine's audit key: in a file, mode 0600, that the monitor opened; the
 * 32 raw bytes of an Ed25519 private key.  An empty file gets a new key, under
 * a lock, since two runs may begin at once.  One that is neither is an error:
 * a key is never made anew in silence over an old one.
 */
#ifndef KEEP_VAULT_H
#define KEEP_VAULT_H

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

struct ca;
struct sign_key;

#define VAULT_CA_DAYS 365 /* a sandbox may run that long */
#define VAULT_CERTS_MAX 8 /* of an operator's CA */

/*
 * The CA in `fd`, made and written if it is empty.
 *
 * host	 for the subject of a new one
 * found  set: it was there, so a keeper before us made it
 *
 * NULL with ERR_INTEGRITY (something else is in there), ERR_SYSTEM, ERR_CRYPTO,
 * ERR_MEMORY.
 */
MUST_USE struct ca *vault_ca(int fd, struct slice host, bool *found,
    enum err *err);

/*
 * An operator's CA (certs/given.h), put into `fd` in place of what is there.
 * NULL: `why` is set to a literal.
 */
MUST_USE struct ca *vault_given_ca(int fd, const struct slice *certs, size_t n,
    struct slice key, const char **why);

/* Its certificate, DER; lives as long as the CA. */
struct slice vault_ca_cert(const struct ca *ca);

/* The key in `fd`, made and written if it is empty.  As above. */
MUST_USE struct sign_key *vault_audit_key(int fd, enum err *err);

#endif
