/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/hostile.h"

enum hostile
hostile_obey(struct flow *f)
{
	(void)f;
	return HOSTILE_NO;
}
