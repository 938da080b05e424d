/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "wire/query.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { data, size }, rest = in;
	struct query_pair p;
	struct parse_fail fail;
	size_t bytes = 0;

	if (query_check(in, &fail) != PARSE_DONE) {
		CHECK(fail.at < size);
		return 0;
	}
	while (query_take(&rest, &p)) {
		struct slice value = p.value;
		int c;

		CHECK(lies_in(p.key, in) && lies_in(p.value, in));
		CHECK(p.has_value || p.value.n == 0);
		CHECK(p.key.n + p.value.n != 0 || p.has_value);
		bytes += p.key.n + p.value.n + p.has_value;
		CHECK(query_eq(p.key, p.key));
		CHECK(!query_is_canonical(p.key) ||
		    memchr(p.key.p, '+', p.key.n) == NULL);
		while ((c = query_take_char(&value)) >= 0)
			CHECK(c > 0 && c < 256);
	}
	CHECK(bytes <= size);

	/* Any bytes as a value, written and read again. */
	struct slice some = slice_first(in, 300);
	uint8_t room[1024];
	struct wr w = wr_of(room, sizeof(room));
	query_put(&w, SLICE("k"), some);
	CHECK(!w.bad && w.n == query_put_size(SLICE("k"), some));
	rest = wr_slice(&w);
	CHECK(query_take(&rest, &p) && rest.n == 0);
	CHECK(query_is_fold(p.key, SLICE("K")) && query_is(p.value, some));
	return 0;
}
