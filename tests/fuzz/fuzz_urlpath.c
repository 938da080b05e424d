/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "wire/urlpath.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { data, size };
	uint8_t *out = malloc(size + 1), *second = malloc(size + 1);
	struct parse_fail fail;
	struct urlpath p, again;

	CHECK(out != NULL && second != NULL);
	if (urlpath_canon(in, 8192, out, &p, &fail) == PARSE_DONE) {
		CHECK(p.text.n >= 1 && p.text.n <= size && out[0] == '/');
		/* PT-28: the canonical form is its own. */
		CHECK(urlpath_canon(p.text, 8192, second, &again, &fail) ==
		    PARSE_DONE);
		CHECK(slice_eq(p.text, again.text));
		CHECK(p.has_encoded_slash == again.has_encoded_slash);
		CHECK(p.has_encoded_slash || !p.has_encoded_dots);

		/* Nothing that an origin could resolve or cut. */
		struct slice rest = p.text;
		int before = 0, dots = 0, c;
		do {
			c = urlpath_take_char(&rest);
			CHECK(c < 0 || (c >= ' ' && c != 0x7f && c != '\\'));
			CHECK(c != '/' || before != '/');
			if ((c == '/' || c < 0) && before != 0)
				CHECK(dots != 1 && dots != 2);
			dots = c == '/'		  ? 0 :
			    c == '.' && dots >= 0 ? dots + 1 :
						    -1;
			before = c;
		} while (c >= 0);
	} else {
		CHECK(fail.at <= size);
	}
	free(second);
	free(out);
	return 0;
}
