/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/must_wait.h"

void
flow_must_wait(const struct flow *f UNUSED)
{
}
