/* SPDX-License-Identifier: Apache-2.0 */
/* Four bytes decide, and no fewer than are needed; any text makes a packet. */
#include "fuzz.h"
#include "wire/ssh.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { data, size };
	uint8_t out[SSH_GOODBYE_MAX];
	struct wr w = wr_of(out, sizeof(out));

	for (size_t n = 0; n <= size && n <= 8; n++) {
		struct slice part = slice_first(in, n);
		bool could = slice_has_prefix(SLICE("SSH-"), part);
		bool is = slice_has_prefix(in, SLICE("SSH-")) && n >= 4;
		CHECK(ssh_look(part) ==
		    (is		  ? PARSE_DONE :
			    could ? PARSE_MORE :
				    PARSE_BAD));
	}
	ssh_put_goodbye(&w, in);
	CHECK(!w.bad);
	return 0;
}
