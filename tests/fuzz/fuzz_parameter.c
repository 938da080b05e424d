/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the value of a parameter: refused, or a rule with it matches one
 * path and no other.
 */
#include "fuzz.h"
#include "load/load.h"
#include "policy/policy.h"

static const char *const types[] = { "segment", "repository", "ref" };

static bool
is_allowed(const struct program *p, struct slice path)
{
	struct facts f = { .kind = FACTS_REQUEST,
		.scheme = SCHEME_HTTPS,
		.port = 443,
		.method = SLICE("GET"),
		.has_sni = true,
		.sni = SLICE("a.test"),
		.host = SLICE("a.test"),
		.path = path };

	CHECK(program_address(p, f.host, &f.dst));
	return policy_decide(p, &f).allow;
}

/* "/x/VALUE/y" as it is, and one byte of it changed or taken out. */
static void
probe(const struct program *p, struct slice value)
{
	uint8_t path[512];
	size_t n = 0;

	path[n++] = '/';
	path[n++] = 'x';
	path[n++] = '/';
	memcpy(path + n, value.p, value.n);
	n += value.n;
	path[n++] = '/';
	path[n++] = 'y';
	CHECK(is_allowed(p, slice_of(path, n)));
	for (size_t i = 3; i < 3 + value.n; i++) {
		uint8_t was = path[i];
		path[i] = was == 'q' ? 'r' : 'q';
		CHECK(!is_allowed(p, slice_of(path, n)));
		path[i] = was;
	}
	path[n++] = 'z';
	CHECK(!is_allowed(p, slice_of(path, n)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct load_report report = { 0 };
	struct buf image;
	char policy[256];
	enum err err;

	if (size == 0)
		return 0;
	struct load_set set = { SLICE("v"), { data + 1, size - 1 } };
	int n = snprintf(policy, sizeof(policy),
	    "version: 1\npolicies: {p: {parameters: {v: %s}, rules: "
	    "[{allow: \"https://a.test/x/${v}/y\"}]}}\n",
	    types[data[0] % 3]);
	struct load_policy_in in = { .file = { SLICE("f.yaml"), SLICE("/w"),
					 slice_of(policy, (size_t)n) },
		.sets = &set,
		.n_sets = 1 };
	buf_init(&image, IMAGE_SIZE_MAX);
	if (load_policy(&in, &image, &report)) {
		struct program *p = program_open(buf_slice(&image), &err);
		CHECK(p != NULL);
		probe(p, set.value);
		program_free(p);
	}
	load_report_release(&report);
	buf_release(&image);
	return 0;
}
