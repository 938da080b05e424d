/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The managed policies of browsers, the only place that they take a root from:
 * those of the host with ours added, so that what its administrator set still
 * holds in a sandbox.  A file that is no JSON (RFC 8259), or is over 1 MiB, is
 * passed over; so does the browser.
 */
#ifndef CERTS_MANAGED_H
#define CERTS_MANAGED_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/slice.h"

/*
 * Append Chromium's policy CACertificates with `cas` (DER), and with what the
 * files of `folder` set it to: it is taken from one file alone, the last by
 * name.  False: it does not fit.
 */
MUST_USE bool managed_chromium(struct buf *out, const char *folder,
    const struct slice *cas, size_t n_cas);

/*
 * Append Firefox's policies as they stand in the file `path`, with the
 * certificate file `ca_path` to install.  False: it does not fit.
 */
MUST_USE bool managed_firefox(struct buf *out, const char *path,
    const char *ca_path);

#endif
