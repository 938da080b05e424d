/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/close_range.h>
#include <signal.h>
#include <unistd.h>

#include "ns/fds.h"

#define NONE (~0U)

/* The lowest one in `keep` that is at least `from`, or NONE. */
static unsigned
next_kept(const int *keep, size_t n, unsigned from)
{
	unsigned next = NONE;

	for (size_t i = 0; i < n; i++)
		if (keep[i] >= 0 && (unsigned)keep[i] >= from &&
		    (unsigned)keep[i] < next)
			next = (unsigned)keep[i];
	return next;
}

int
fds_keep(const int *keep, size_t n, bool at_exec)
{
	int flags = at_exec ? CLOSE_RANGE_CLOEXEC : 0;

	for (unsigned from = 3;;) {
		unsigned next = next_kept(keep, n, from);
		unsigned last = next == NONE ? NONE : next - 1;
		if (from <= last && close_range(from, last, flags) == -1)
			return -1;
		if (next == NONE)
			return 0;
		from = next + 1;
	}
}

void
fds_reset_signals(void)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };

	for (int n = 1; n < NSIG; n++)
		(void)sigaction(n, &standard, NULL);
}
