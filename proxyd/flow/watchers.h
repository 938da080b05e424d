/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What looks at bodies while they pass, as stages of http/stage.h: secrets are
 * masked in answers and end a request that would carry one out; placeholders
 * in a request are counted.
 */
#ifndef FLOW_WATCHERS_H
#define FLOW_WATCHERS_H

#include "cred/mask.h"
#include "cred/watch.h"
#include "http/stage.h"

/* Mask in an answer; `hits` is borrowed and grows.  NULL: no memory. */
MUST_USE struct stage *watcher_mask(const struct search *forms, uint64_t *hits);

/* Cut a request that has a secret in its body: cred.leak.  NULL: no memory. */
MUST_USE struct stage *watcher_leak(const struct search *forms);

/* Count placeholders; `seen` is borrowed and set.  NULL: no memory. */
MUST_USE struct stage *watcher_placeholders(const struct search *forms,
    bool *seen);

#endif
