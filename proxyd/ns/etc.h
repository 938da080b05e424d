/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /etc of the sandbox: a read-only overlay of our files over the host's, with
 * no upper layer, so that it needs no root (Linux 5.11 and later); where the
 * kernel takes the host's for no layer, a folder of ours with the host's
 * entries bound into it (ns/merge.h).
 */
#ifndef NS_ETC_H
#define NS_ETC_H

#include "ns/view.h"

/*
 * Make it of `stage`, an empty file system of our own mounted at that path,
 * and `host`, the host's /etc as it can be reached now; both absolute and
 * short.  Fills `stage`; it may be taken away afterwards.
 *
 * The mount's descriptor, or -1 with `fail` set.
 */
MUST_USE int etc_make(const struct view *view, const char *stage,
    const char *host, struct fail *fail);

#endif
