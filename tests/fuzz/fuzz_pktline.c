/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever is taken is written again as it was, but for the case of digits. */
#include "base/ascii.h"
#include "fuzz.h"
#include "wire/pktline.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { data, size };
	uint8_t head[PKTLINE_HEAD];
	struct parse_fail fail;
	struct pktline line;
	size_t used;

	while (pktline_take(in, &line, &used, &fail) == PARSE_DONE) {
		CHECK(used >= PKTLINE_HEAD && used <= in.n &&
		    used <= PKTLINE_MAX);
		CHECK(lies_in(line.data, in));
		CHECK(line.kind == PKTLINE_DATA || line.data.n == 0);
		if (line.kind == PKTLINE_DATA) {
			CHECK(line.data.n == used - PKTLINE_HEAD);
			pktline_head(line.data.n, head);
			CHECK(ascii_eq_fold(slice_of(head, PKTLINE_HEAD),
			    slice_first(in, PKTLINE_HEAD)));
		}
		in = slice_from(in, used);
	}
	return 0;
}
