/* SPDX-License-Identifier: Apache-2.0 */
/* An ALPN list: what is read of it is in it, and nothing is read that is not. */
#include "base/rd.h"
#include "fuzz.h"
#include "wire/alpn.h"

/* Is the name in the list, before anything that is cut? */
static bool
has(struct slice list, struct slice name)
{
	struct rd r = rd_of(list);

	while (r.in.n != 0 && !r.bad) {
		struct slice at = rd_slice8(&r);
		if (!r.bad && slice_eq(at, name))
			return true;
	}
	return false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { data, size };
	enum alpn alpn;

	enum alpn_offer offer = alpn_offer_read(in);
	CHECK(offer < ALPN_OFFER_COUNT);
	CHECK(alpn_offer_has(offer, ALPN_H2) == has(in, SLICE("h2")));
	CHECK(alpn_offer_has(offer, ALPN_HTTP11) == has(in, SLICE("http/1.1")));
	CHECK(alpn_offer_read(alpn_offer_list(offer)) == offer);
	if (alpn_read(in, &alpn))
		CHECK(slice_eq(alpn_name(alpn), in));
	return 0;
}
