/* SPDX-License-Identifier: Apache-2.0 */
/* Mended once, a configuration has the keys of before and stays as it is. */
#include "fuzz.h"

#include "ns/gitkeys.h"
#include "ns/startfile.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct slice before = {
		(const uint8_t *)"[core]\n\tpager = x\n", 18
	};
	struct slice in = { data, size };
	struct buf once, twice, name;

	struct slice s = startfile_scripts(in);
	if (s.n != 0 && (s.p < in.p || s.p + s.n > in.p + in.n))
		abort();
	buf_init(&once, 1048576);
	buf_init(&twice, 1048576);
	buf_init(&name, 1048576);
	if (gitkeys_mend(before, in, &once, &name) == GITKEYS_MENDED &&
	    gitkeys_mend(before, buf_slice(&once), &twice, &name) !=
		GITKEYS_SAME)
		abort();
	buf_release(&once);
	buf_release(&twice);
	buf_release(&name);
	return 0;
}
