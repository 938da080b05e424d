/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a call, for the answer to it. */
#ifndef CONTROL_PROBLEM_H
#define CONTROL_PROBLEM_H

#include "priv/control_answer.h"

struct problem {
	enum control_code code;
	char where[160];  /* "$.secrets.github", or empty */
	char detail[320]; /* what was expected, or empty */
};

#endif
