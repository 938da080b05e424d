/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parse.h"
#include "fuzz.h"
#include "wire/host.h"

/* What holds of every host, whoever made it. */
static void
check(const struct host *h, bool is_suffix)
{
	struct slice t = host_slice(h);

	CHECK(t.n >= 1 && t.n <= HOST_MAX && h->text[t.n] == '\0');
	if (h->is_ip)
		return;
	CHECK(h->n_labels >= (is_suffix ? 1 : 2));
	CHECK(!host_ends_in_number(t));
	unsigned labels = 1;
	for (size_t i = 0; i < t.n; i++) {
		uint8_t c = t.p[i];
		CHECK((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
		    c == '-' || c == '.' || (c == '_' && h->has_underscore));
		labels += c == '.';
		CHECK(c != '.' || (i > 0 && t.p[i - 1] != '.'));
	}
	CHECK(labels == h->n_labels && t.p[t.n - 1] != '.');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { data, size };
	struct parse_fail fail;
	struct host h, again;
	uint8_t text[HOST_PUT_MAX];

	if (host_from_http(in, &h, &fail) == PARSE_DONE) {
		check(&h, false);
		struct slice put = { text, host_put(&h, text) };
		CHECK(host_from_http(put, &again, &fail) == PARSE_DONE);
		CHECK(host_eq(&h, &again));
		CHECK(host_from_policy(put, &again, &fail) == PARSE_DONE);
		CHECK(host_eq(&h, &again));
	} else {
		CHECK(fail.at <= size);
	}
	if (host_from_sni(in, &h, &fail) == PARSE_DONE) {
		check(&h, false);
		CHECK(!h.is_ip);
		CHECK(host_from_http(in, &again, &fail) == PARSE_DONE);
		CHECK(host_eq(&h, &again));
	}
	if (host_from_dns(in, &h, &fail) == PARSE_DONE) {
		check(&h, false);
		CHECK(h.n + 2u == size);
	}
	if (host_from_policy(in, &h, &fail) == PARSE_DONE)
		check(&h, false);
	if (host_from_suffix(in, &h, &fail) == PARSE_DONE)
		check(&h, true);
	return 0;
}
